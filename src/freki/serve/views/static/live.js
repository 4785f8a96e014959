// A crawl as it goes on, from one stream of events. Whatever came from the web is set as text.

const live = document.getElementById("live");
const part = (name) => document.querySelector(`[data-live="${name}"]`);
const counted = new Intl.NumberFormat("en");
const COLOURS = { done: "good", failed: "bad", refused: "warn", waiting: "info" };
const SVG = "http://www.w3.org/2000/svg";
const SAMPLES = 150;
const TAIL = 60;
const LOOK_EVERY = 3000; // milliseconds between two looks at what no event tells
const words = JSON.parse(live?.dataset.words ?? "{}");
const speeds = [];
let last = null;
let isOver = false;
let events = null;
let heard = live?.dataset.from;

function show(name, text) {
  const place = part(name);
  if (place && place.textContent !== text) place.textContent = text;
}

function sums(progress) {
  const open = (progress.waiting ?? 0) + (progress.leased ?? 0);
  for (const name of ["pages", "done", "refused", "failed"]) {
    if (progress[name] !== undefined) show(name, counted.format(progress[name]));
  }
  show("waiting", counted.format(open));
  show("discovered", counted.format(progress.discovered ?? 0));
  const shares = Object.keys(COLOURS).map((name) => {
    const count = name === "waiting" ? open : (progress[name] ?? 0);
    return `${name} ${Math.round((100 * count) / Math.max(1, progress.discovered ?? 1))} %`;
  });
  show("shares", shares.join(" · "));
  bar({ ...progress, waiting: open });
  reasons(progress.reasons ?? {});
}

function element(name, properties, ...inside) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...inside);
  return made;
}

function cell(className, ...inside) {
  return element("td", { className }, ...inside);
}

function reasons(outcomes) {
  const rows = Object.entries(outcomes).flatMap(([outcome, counts]) =>
    Object.entries(counts).map(([reason, count]) => {
      const colour = reason === "http_error" ? "failed" : outcome;
      const link = element("a", {
        href: `${live.dataset.crawl}/urls?reason=${encodeURIComponent(reason)}`,
        textContent: words[reason] ?? reason,
      });
      const badge = element("span", { className: `badge ${colour}`, textContent: outcome });
      return element("tr", {}, cell("", badge), cell("", link), cell("n", counted.format(count)));
    }),
  );
  if (rows.length) part("reasons")?.replaceChildren(...rows);
}

function hosts(lines) {
  const rows = lines.map((host) =>
    element(
      "tr", {},
      cell("break", host.name), cell("n", counted.format(host.waiting)), cell("n", host.pause),
      cell("", host.state),
    ),
  );
  if (rows.length) part("hosts")?.replaceChildren(...rows);
}

function classes(counts) {
  const shown = Object.entries(counts).flatMap(([name, count]) => {
    const badge = element("span", { className: `badge s${name[0]}`, textContent: name });
    const link = element("a", { href: `${live.dataset.crawl}/urls?status=${name}` }, badge);
    return [link, ` ${counted.format(count)} `];
  });
  if (shown.length) part("classes")?.replaceChildren(...shown);
}

async function look() {
  if (isOver) return;
  setTimeout(look, LOOK_EVERY);
  if (document.hidden) return;
  const answer = await fetch(`${live.dataset.crawl}/now`).catch(() => null);
  if (!answer?.ok) return;
  const told = await answer.json();
  hosts(told.hosts);
  classes(told.classes);
}

function bar(progress) {
  const total = Math.max(1, progress.discovered ?? 1);
  let at = 0;
  const rects = Object.entries(COLOURS).map(([name, colour]) => {
    const rect = document.createElementNS(SVG, "rect");
    const width = (1000 * (progress[name] ?? 0)) / total;
    rect.setAttribute("class", `fill-${colour}`);
    rect.setAttribute("x", at);
    rect.setAttribute("width", width);
    rect.setAttribute("height", 10);
    at += width;
    return rect;
  });
  part("bar")?.replaceChildren(...rects);
}

function speed(at, progress) {
  if (last && at > last.at) {
    const now = Math.max(0, (progress.pages - last.pages) / (at - last.at));
    speeds.push(now);
    if (speeds.length > SAMPLES) speeds.shift();
    show("pages_per_second", now.toFixed(1));
    const open = (progress.waiting ?? 0) + (progress.leased ?? 0);
    const recent = speeds.slice(-10).reduce((sum, each) => sum + each, 0) / Math.min(10, speeds.length);
    show("eta", recent > 0 ? duration(open / recent) : "–");
    chart();
  }
  last = { at, pages: progress.pages ?? 0 };
}

function duration(seconds) {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5400) return `${Math.ceil(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

function chart() {
  const most = Math.max(1, ...speeds);
  const points = speeds.map((each, place) => {
    const x = (300 * place) / Math.max(1, speeds.length - 1);
    return `${x.toFixed(1)},${(86 - (80 * each) / most).toFixed(1)}`;
  });
  const area = document.createElementNS(SVG, "polygon");
  area.setAttribute("class", "area");
  area.setAttribute("points", `0,90 ${points.join(" ")} 300,90`);
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("class", "stroke");
  line.setAttribute("vector-effect", "non-scaling-stroke");
  line.setAttribute("points", points.join(" "));
  part("chart")?.replaceChildren(area, line);
  show("peak", `At most ${most.toFixed(1)}, now ${speeds.at(-1).toFixed(1)}`);
}

function tail(pages) {
  const place = part("tail");
  if (!place || !pages?.length) return;
  if (place.firstElementChild?.classList.contains("soft")) place.replaceChildren();
  for (const page of pages) {
    const line = document.createElement("li");
    const badge = document.createElement("span");
    const status = String(page.status ?? page.reason ?? "");
    badge.className = `badge s${status[0] ?? ""}`;
    badge.textContent = status;
    line.append(badge, ` ${page.title || page.url}`);
    line.title = page.url;
    place.prepend(line);
  }
  while (place.childElementCount > TAIL) place.lastElementChild.remove();
}

// A browser has six connections to a host, for all its tabs together: one that nobody sees keeps none.
function follow() {
  events = new EventSource(`${live.dataset.events}?after=${heard}`);
  events.addEventListener("progress", (event) => {
    heard = event.lastEventId;
    const told = JSON.parse(event.data);
    const progress = told.progress ?? told;
    sums(progress);
    speed(told.at, progress);
    tail(told.pages_latest ?? told.latest);
  });
  events.addEventListener("state", (event) => {
    heard = event.lastEventId;
    const told = JSON.parse(event.data);
    show("state", told.state ?? told.status ?? "");
    if (Number(event.lastEventId) > Number(live.dataset.after)) location.reload();
  });
  events.addEventListener("end", () => {
    isOver = true;
    events.close();
  });
}

function turn() {
  if (isOver) return;
  events?.close();
  if (!document.hidden) follow();
}

if (live) {
  turn();
  document.addEventListener("visibilitychange", turn);
  if (live.dataset.state === "running" || live.dataset.state === "queued") setTimeout(look, LOOK_EVERY);
}
