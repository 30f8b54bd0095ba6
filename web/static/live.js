// A page that moves by itself: it asks the server again and again, and says how it stands.

import { dress } from "./page.js";

// Ended is thrown by a task when asking again is of no use.
export class Ended extends Error {}

const slowest = 15000; // ms between attempts, when nothing answers

// watch runs task, pauses for `every` ms, and goes on. Errors make the pauses longer; nobody looking makes it rest.
// task returns false when there is nothing more to wait for. The element with data-live says how it stands.
export function watch(task, every) {
  const sign = document.querySelector("[data-live]");
  const text = sign.querySelector("[data-live-text]");
  const button = sign.querySelector("[data-live-pause]");
  let timer = 0;
  let failures = 0;
  let busy = false;
  let paused = false;
  let over = false;

  // say is heard by a screen reader, so it speaks only when the state is another one.
  function say(state, words) {
    if (sign.dataset.state === state) return;
    sign.dataset.state = state;
    text.textContent = words;
  }

  function next(ms) {
    clearTimeout(timer);
    if (!over && !paused && !document.hidden) timer = setTimeout(once, ms);
  }

  function end(words) {
    over = true;
    clearTimeout(timer);
    button.hidden = true;
    say("over", words);
  }

  async function once() {
    if (busy) return;
    busy = true;
    try {
      const more = await task(AbortSignal.timeout(10000));
      failures = 0;
      if (more === false) end("Final: nothing moves any more");
      else if (!paused) say("live", "Live");
    } catch (error) {
      if (error instanceof Ended) {
        end(error.message);
      } else {
        failures += 1;
        if (failures > 1 || !navigator.onLine) say("lost", "Not connected. Trying again");
      }
    } finally {
      busy = false;
      next(Math.min(slowest, every * 2 ** Math.min(failures, 6)));
    }
  }

  button.addEventListener("click", () => {
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    button.textContent = paused ? "Go on" : "Pause";
    if (paused) {
      clearTimeout(timer);
      say("paused", "Paused");
    } else {
      say("live", "Live");
      next(0);
    }
  });
  document.addEventListener("visibilitychange", () => next(0));
  addEventListener("online", () => next(0));
  addEventListener("offline", () => next(0));
  sign.hidden = false;
  say("live", "Live");
  next(every);
}

// ask fetches an address of ours, or throws: Ended if nobody is signed in any more or it is gone for good.
export async function ask(address, accept, signal) {
  const answer = await fetch(address, { headers: { Accept: accept }, signal, cache: "no-store" });
  if (answer.status === 401 || (answer.redirected && new URL(answer.url).pathname === "/login")) {
    throw new Ended("Your session has ended. Reload to sign in again");
  }
  if (answer.status === 403 || answer.status === 404) throw new Ended("This is not to be seen any more");
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer;
}

const shown = new Map(); // the HTML of each region as the server sent it last

// refresh fetches the page at an address again and puts its regions in place: those whose version is another one, or, without a
// version, whose HTML is. It leaves alone what somebody is selecting, and gives the focus back.
export async function refresh(address, signal) {
  const answer = await ask(address, "text/html", signal);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const region of document.querySelectorAll("[data-region]")) {
    const fresh = page.getElementById(region.id);
    if (!fresh || same(region, fresh) || selecting(region)) continue;
    shown.set(region.id, fresh.outerHTML);
    const focused = region.contains(document.activeElement) ? document.activeElement : null;
    const place = document.importNode(fresh, true);
    region.replaceWith(place);
    dress(place);
    if (focused) find(place, focused).focus({ preventScroll: true });
  }
  document.title = page.title;
}

function same(region, fresh) {
  if (fresh.dataset.version !== undefined) return fresh.dataset.version === region.dataset.version;
  return shown.get(region.id) === fresh.outerHTML;
}

function selecting(region) {
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed && region.contains(selection.anchorNode);
}

// find returns what the focus was on, or else the region itself: never the top of the page.
function find(region, focused) {
  const again = focused.id ? document.getElementById(focused.id) : null;
  if (again) return again;
  region.tabIndex = -1;
  return region;
}
