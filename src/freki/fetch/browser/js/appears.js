// Resolves once an element that matches is there; false if not within `most` milliseconds.
async (selector, most) => {
  const start = performance.now();
  while (performance.now() - start < most) {
    if (document.querySelector(selector)) return true;
    await new Promise((done) => setTimeout(done, 30));
  }
  return false;
}
