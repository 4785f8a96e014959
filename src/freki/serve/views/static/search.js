// While pages are still being read, the list is asked for again until all of them were searched.
const PAUSE = 1500;
if (document.querySelector("[data-unread]")) setTimeout(() => location.reload(), PAUSE);
