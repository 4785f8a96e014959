// The gallery by keyboard: arrows move, Enter opens, Space picks for a comparison.

const tiles = [...document.querySelectorAll(".gallery a")];

function columns() {
  const top = tiles[0].getBoundingClientRect().top;
  const next = tiles.findIndex((tile) => tile.getBoundingClientRect().top > top + 1);
  return next < 0 ? tiles.length : next;
}

function target(key, at) {
  const steps = { ArrowRight: () => 1, ArrowLeft: () => -1, ArrowDown: columns, ArrowUp: () => -columns() };
  if (key === "Home") return 0;
  if (key === "End") return tiles.length - 1;
  return key in steps ? at + steps[key]() : undefined;
}

document.querySelector(".gallery")?.addEventListener("keydown", (event) => {
  const at = tiles.indexOf(document.activeElement);
  if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === " ") {
    event.preventDefault();
    tiles[at].parentElement.querySelector("input")?.click();
    return;
  }
  const to = target(event.key, at);
  if (to === undefined) return;
  event.preventDefault();
  tiles[to]?.focus();
});
