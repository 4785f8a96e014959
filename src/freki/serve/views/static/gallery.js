// The gallery as one long list, of which the page holds only what is looked at: tiles stand at
// their places, parts come from the server as they are scrolled to. Keys: arrows move, Enter
// opens, Space picks for a comparison. What came from the web is set as text.

const grid = document.getElementById("gallery");
const WIDTH = 200; // at least, of a tile, in CSS pixels
const HEIGHT = 232;
const GAP = 16;
const OVER = 2; // rows beyond what is seen
const KEPT = 24; // parts
const REST = 60; // milliseconds after which scrolling counts as over
const HINT = "Pick two pictures. Arrow keys move, Enter opens, Space picks.";

const starts = grid ? grid.dataset.starts.split(" ") : [];
const total = Number(grid?.dataset.total);
const size = Number(grid?.dataset.size);
const shown = new Map(); // element by place
const parts = new Map(); // tiles by number of the part, those used last at the end
const asked = new Map(); // requests under way, by number of the part
const picked = new Map(); // title by digest
let columns = 1;
let current = 0;
let waiting = false;
let resting = 0;

function element(name, properties, ...inside) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...inside);
  return made;
}

function fill(item, tile) {
  const link = element("a", { href: tile.link });
  if (tile.small) link.append(element("img", { alt: "", decoding: "async", src: tile.small }));
  else link.append(element("span", { className: "nothing", textContent: tile.reason }));
  link.append(element("span", { className: "title", textContent: tile.name }));
  const under = element("div", { className: "under" });
  if (tile.digest) {
    const box = element("input", { type: "checkbox", value: tile.digest, ariaLabel: `compare ${tile.name}` });
    box.checked = picked.has(tile.digest);
    under.append(element("label", {}, box, " compare"));
  }
  if (tile.is_blank) under.append(element("b", { className: "badge refused", textContent: "blank" }));
  if (tile.alike > 1) {
    const text = `${tile.alike.toLocaleString("en")} alike`;
    under.append(element("a", { className: "badge stacked", href: tile.stack, textContent: text }));
  }
  const hadFocus = item.contains(document.activeElement);
  item.replaceChildren(link, under);
  reach(item);
  if (hadFocus) link.focus({ preventScroll: true });
}

// One stop of the Tab key; arrows reach the others.
function reach(item) {
  const isCurrent = Number(item.dataset.place) === current;
  for (const each of item.querySelectorAll("a, input")) each.tabIndex = isCurrent ? 0 : -1;
}

function stand(item, place) {
  const width = (grid.clientWidth - GAP * (columns - 1)) / columns;
  const [row, column] = [Math.floor(place / columns), place % columns];
  item.style.width = `${width}px`;
  item.style.transform = `translate(${column * (width + GAP)}px, ${row * (HEIGHT + GAP)}px)`;
}

function place(item, at) {
  item.dataset.place = at;
  item.ariaSetSize = total;
  item.ariaPosInSet = at + 1;
  stand(item, at);
  shown.set(at, item);
}

function tile(at) {
  const number = Math.floor(at / size);
  const part = parts.get(number);
  if (!part) return null;
  parts.delete(number);
  parts.set(number, part);
  return part[at % size];
}

function put(at) {
  const item = element("li", {});
  place(item, at);
  const known = tile(at);
  if (known) fill(item, known);
  else item.append(element("a", { tabIndex: at === current ? 0 : -1, className: "coming" }));
  grid.insertBefore(item, shown.get(at + 1) ?? null);
}

function range() {
  const above = -grid.getBoundingClientRect().top;
  const first = Math.floor(above / (HEIGHT + GAP)) - OVER;
  const last = Math.ceil((above + window.innerHeight) / (HEIGHT + GAP)) + OVER;
  return [Math.max(0, first * columns), Math.min(total, last * columns)];
}

function draw() {
  waiting = false;
  const [from, to] = range();
  for (const [at, item] of shown) {
    if ((at >= from && at < to) || item.contains(document.activeElement)) continue;
    item.remove();
    shown.delete(at);
  }
  for (let at = to - 1; at >= from; at--) if (!shown.has(at)) put(at);
  clearTimeout(resting);
  resting = setTimeout(ask, REST);
}

function drawSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(draw);
}

// Whoever scrolls past a part does not want it: only what is seen at rest is asked for.
function ask() {
  const [from, to] = range();
  const wanted = new Set();
  for (let at = from; at < to; at++) wanted.add(Math.floor(at / size));
  for (const [number, request] of asked) if (!wanted.has(number)) request.abort();
  for (const number of wanted) if (!parts.has(number) && !asked.has(number)) fetchPart(number);
}

async function fetchPart(number) {
  const request = new AbortController();
  asked.set(number, request);
  try {
    const address = `${grid.dataset.base}&start=${starts[number]}`;
    const answer = await fetch(address, { signal: request.signal });
    if (!answer.ok) throw new Error(answer.statusText);
    keep(number, await answer.json());
  } catch (error) {
    if (error.name !== "AbortError") setTimeout(drawSoon, 2000);
  } finally {
    asked.delete(number);
  }
}

function keep(number, tiles) {
  parts.set(number, tiles);
  if (parts.size > KEPT) parts.delete(parts.keys().next().value);
  for (const [at, item] of shown) {
    const known = Math.floor(at / size) === number && tiles[at % size];
    if (known && item.querySelector(".coming")) fill(item, known);
  }
}

function arrange() {
  columns = Math.max(1, Math.floor((grid.clientWidth + GAP) / (WIDTH + GAP)));
  grid.style.height = `${Math.ceil(total / columns) * (HEIGHT + GAP)}px`;
  for (const [at, item] of shown) stand(item, at);
  draw();
}

function move(to) {
  const before = shown.get(current);
  current = Math.max(0, Math.min(total - 1, to));
  if (before) reach(before);
  const top = grid.getBoundingClientRect().top + Math.floor(current / columns) * (HEIGHT + GAP);
  if (top < 0) window.scrollBy(0, top - GAP);
  else if (top + HEIGHT > window.innerHeight) window.scrollBy(0, top + HEIGHT + GAP - window.innerHeight);
  draw();
  const item = shown.get(current);
  reach(item);
  item.querySelector("a").focus({ preventScroll: true });
}

function target(key) {
  const page = columns * Math.max(1, Math.floor(window.innerHeight / (HEIGHT + GAP)));
  const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, PageDown: page, PageUp: -page };
  if (key === "Home") return 0;
  if (key === "End") return total - 1;
  return key in steps ? current + steps[key] : undefined;
}

function press(event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const item = event.target.closest("li");
  if (event.key === " " && event.target.tagName === "A") {
    event.preventDefault();
    item.querySelector("input")?.click();
    return;
  }
  const to = target(event.key);
  if (to === undefined) return;
  event.preventDefault();
  move(to);
}

function pick(event) {
  const box = event.target;
  const title = box.ariaLabel.replace("compare ", "");
  if (box.checked) picked.set(box.value, title);
  else picked.delete(box.value);
  for (const digest of [...picked.keys()].slice(0, -2)) picked.delete(digest); // the last two count
  for (const each of grid.querySelectorAll("input")) each.checked = picked.has(each.value);
  const hidden = [...picked.keys()].map((value) => element("input", { type: "hidden", name: "capture", value }));
  const told = picked.size ? `Picked: ${[...picked.values()].join(" and ")}` : HINT;
  document.getElementById("picked").replaceChildren(told, ...hidden);
}

function begin() {
  const first = Number(grid.dataset.part) * size;
  grid.classList.add("windowed");
  [...grid.children].forEach((item, at) => place(item, first + at));
  for (const item of shown.values()) {
    item.querySelector("input")?.removeAttribute("name"); // what is picked is kept apart
    reach(item);
  }
  document.getElementById("parts")?.remove();
  grid.addEventListener("keydown", press);
  grid.addEventListener("change", pick);
  grid.addEventListener("focusin", (event) => {
    const before = shown.get(current);
    current = Number(event.target.closest("li").dataset.place);
    if (before) reach(before);
    reach(shown.get(current));
  });
  window.addEventListener("scroll", drawSoon, { passive: true });
  window.addEventListener("resize", arrange);
  window.addEventListener("pagehide", () => history.replaceState({ top: window.scrollY }, ""));
  arrange();
  if (history.state?.top !== undefined) window.scrollTo(0, history.state.top);
  else if (first) move(first);
}

if (grid) begin();
