// The first page as it is now: its numbers and crawls come anew while somebody looks at it.

const LOOK_EVERY = 5000; // milliseconds

async function look() {
  setTimeout(look, LOOK_EVERY);
  if (document.hidden) return;
  const answer = await fetch("/app/").catch(() => null);
  if (!answer?.ok) return;
  const now = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const name of ["health", "crawls"]) {
    const place = document.getElementById(name);
    const latest = now.getElementById(name);
    if (place && latest && !place.contains(document.activeElement)) place.replaceWith(latest);
  }
}

setTimeout(look, LOOK_EVERY);
