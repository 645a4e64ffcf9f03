"use strict";

// Parts of a page that may change carry data-live and an id; they are replaced by what the server shows now.
async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll("[data-live]")) {
    const now = page.getElementById(part.id);
    if (now && now.innerHTML !== part.innerHTML) replacePart(part, now);
  }
}

// Whoever goes through the page by keys stays at the same link or field.
function replacePart(part, now) {
  const focusable = (within) => [...within.querySelectorAll("a[href], button, input, select, textarea, summary")];
  const focused = document.activeElement;
  const position = focusable(part).indexOf(focused);
  part.replaceWith(now);
  if (position < 0) return;
  const found = focusable(now);
  const same = found.find((each) => each.href && each.href === focused.href && each.textContent === focused.textContent);
  (same || found[position])?.focus();
}

function follow(address, names) {
  const events = new EventSource(address);
  let known = null;
  const changed = (event) => {
    // The first event says what the page shows already.
    if (known !== null && event.data !== known) refresh();
    known = event.data;
  };
  for (const name of names) events.addEventListener(name, changed);
  events.addEventListener("end", () => {
    events.close();
    refresh();
  });
  return events;
}

function followPage() {
  const address = document.body.dataset.events;
  if (!address) return;
  let events = follow(address, ["runs", "run"]);
  // A browser opens few connections to a server, so pages in the background close theirs.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      events.close();
    } else if (events.readyState === EventSource.CLOSED) {
      refresh();
      events = follow(address, ["runs", "run"]);
    }
  });
}

function followQuestion() {
  const part = document.querySelector("[data-question]");
  if (!part) return;
  const bar = part.querySelector("progress");
  const stage = part.querySelector(".stage");
  const events = new EventSource(`/api/v1/questions/${part.dataset.question}/events`);
  events.addEventListener("progress", (event) => {
    const now = JSON.parse(event.data);
    stage.textContent = now.before > 0 ? `${now.before} before it` : now.total ? `${now.stage}: ${now.done} of ${now.total} tasks` : now.stage;
    if (now.total) {
      bar.max = now.total;
      bar.value = now.done;
    }
  });
  events.addEventListener("end", () => {
    events.close();
    location.reload();
  });
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) location.reload();
  });
}

followPage();
followQuestion();
