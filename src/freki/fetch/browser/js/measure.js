// How large the page is, or an element of it, in CSS pixels from the top left of the page.
(selector) => {
  const root = document.documentElement, body = document.body;
  if (!selector) {
    const height = Math.max(root.scrollHeight, body ? body.scrollHeight : 0, innerHeight);
    return [{ x: 0, y: 0, width: innerWidth, height }];
  }
  const found = document.querySelector(selector);
  if (!found) return [];
  found.scrollIntoView({ behavior: "instant", block: "center" });
  const box = found.getBoundingClientRect();
  if (box.width < 1 || box.height < 1) return [];
  return [{ x: box.left + scrollX, y: box.top + scrollY, width: box.width, height: box.height }];
}
