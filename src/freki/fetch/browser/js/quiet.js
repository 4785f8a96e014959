// Resolves once the page stands still: fonts are there, and for `quiet` milliseconds neither the tree
// nor the layout changed. True if it did before `most` milliseconds were over.
async (quiet, most) => {
  const start = performance.now();
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
  const frame = () => Promise.race([new Promise(requestAnimationFrame), sleep(50)]);
  let last = start;
  const touch = () => { last = performance.now(); };
  const seen = new MutationObserver(touch);
  // Of attributes only those that bring something else to see: a spinner turns for ever.
  seen.observe(document, {
    subtree: true, childList: true, characterData: true,
    attributes: true, attributeFilter: ["class", "src", "srcset", "hidden"],
  });
  const shifts = new PerformanceObserver(touch);
  try { shifts.observe({ type: "layout-shift" }); } catch { /* not in this browser */ }
  await Promise.race([document.fonts.ready, sleep(Math.min(1000, most))]);
  await frame();
  const still = document.scripts.length === 0 && document.readyState === "complete";
  const wanted = still ? 0 : quiet;
  while (performance.now() - last < wanted && performance.now() - start < most) {
    await sleep(Math.max(10, wanted - (performance.now() - last)));
  }
  seen.disconnect();
  shifts.disconnect();
  return performance.now() - last >= wanted;
}
