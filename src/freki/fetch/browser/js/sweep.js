// Scrolls through the page, so that everything that waits to be seen loads, and back to its top.
async (lowest, most) => {
  const start = performance.now();
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
  const frame = () => Promise.race([new Promise(requestAnimationFrame), sleep(50)]);
  const late = () => performance.now() - start > most;
  const root = document.scrollingElement ?? document.documentElement;
  for (const image of document.querySelectorAll("img[loading=lazy], iframe[loading=lazy]")) {
    image.loading = "eager";
  }
  for (let y = 0; y < Math.min(root.scrollHeight, lowest) && !late(); y += innerHeight) {
    window.scrollTo({ top: y, behavior: "instant" });
    await frame();
    await sleep(20);
  }
  window.scrollTo({ top: 0, behavior: "instant" });
  const images = [...document.images].filter((image) => !image.complete).slice(0, 500);
  const loaded = images.map((image) => new Promise((done) => {
    image.addEventListener("load", done, { once: true });
    image.addEventListener("error", done, { once: true });
  }));
  await Promise.race([Promise.all(loaded), sleep(Math.max(0, most - (performance.now() - start)))]);
  await frame();
  return !late();
}
