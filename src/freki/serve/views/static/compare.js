// Two pictures, one over the other: an edge that moves, or a shine-through.

const stage = document.getElementById("stage");
const ways = document.getElementById("ways");
const part = (name) => document.getElementById(name);
const width = stage.querySelector("svg").viewBox.baseVal.width;

function draw() {
  const share = Number(ways.elements.share.value) / 100;
  const slides = ways.elements.way.value === "slider";
  const edge = slides ? width * (1 - share) : 0;
  part("window").setAttribute("x", edge);
  part("later").setAttribute("opacity", slides ? 1 : share);
  part("edge").setAttribute("x1", edge);
  part("edge").setAttribute("x2", edge);
  part("edge").setAttribute("visibility", slides ? "visible" : "hidden");
  part("frames")?.setAttribute("visibility", ways.elements.framed.checked ? "visible" : "hidden");
}

ways.addEventListener("input", draw);
ways.addEventListener("submit", (event) => event.preventDefault());
stage.hidden = false;
draw();
