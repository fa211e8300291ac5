// Replaces the parts of the page that change, as the server sends them.
const page = document.body.dataset;
const note = document.getElementById("connection");
const first = 1000, longest = 15000; // milliseconds between two attempts
let source, timer, wait = first, last = page.after;

function say(text) {
  if (note.textContent !== text) note.textContent = text;
}

function close() {
  clearTimeout(timer);
  source?.close();
  source = undefined;
}

function open() {
  close();
  if (document.hidden) return say("Paused while this page is hidden.");
  const address = new URL(page.stream, location.href);
  address.searchParams.set("after", last);
  source = new EventSource(address);
  source.addEventListener("open", () => {
    wait = first;
    say("Updated every second.");
  });
  source.addEventListener("parts", replace);
  source.addEventListener("end", end);
  source.addEventListener("error", lost);
}

// A browser reconnects by itself, except where the server answers with an error or is gone for long.
function lost() {
  say("No connection to the server. Trying again.");
  if (source?.readyState !== EventSource.CLOSED) return;
  close();
  timer = setTimeout(open, wait);
  wait = Math.min(2 * wait, longest);
}

function replace(event) {
  last = event.lastEventId;
  for (const [id, text] of Object.entries(JSON.parse(event.data))) {
    const part = document.getElementById(id);
    if (part) part.innerHTML = text;
  }
}

function end() {
  close();
  say("The run has ended.");
  location.replace(page.report || location.href);
}

document.addEventListener("visibilitychange", open);
addEventListener("pagehide", close);
addEventListener("pageshow", event => {
  if (event.persisted) open();
});
open();
