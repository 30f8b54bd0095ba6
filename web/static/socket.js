// A WebSocket that comes back: after a break it waits, longer each time and never just as long as the others in the hall.

import { Ended } from "./live.js";

const first = 1000; // ms before the first new attempt
const longest = 30000;
const silence = 25000; // ms without a frame, after which the server is asked whether it is there
const patience = 10000; // ms that it has for an answer

// connect opens the address and keeps it open. frame gets each frame of the server; the first is a snapshot. turn is told
// how it stands: connecting, live, lost (and when the next attempt is), over (and why). check is asked whenever the server
// would not have us: it throws Ended if trying again is of no use.
export function connect(address, { frame, turn, check }) {
  let socket = null;
  let live = false;
  let over = false;
  let seq = 0;
  let failures = 0;
  let retry = 0;
  let pulse = 0;

  function open() {
    clearTimeout(retry);
    if (socket || over) return;
    const url = new URL(address, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    turn({ state: "connecting" });
    const mine = new WebSocket(url);
    socket = mine;
    seq = 0;
    mine.onmessage = (event) => mine === socket && hear(JSON.parse(event.data));
    mine.onclose = () => mine === socket && lose();
    clearTimeout(pulse);
    pulse = setTimeout(lose, patience);
  }

  function hear(message) {
    clearTimeout(pulse);
    pulse = setTimeout(feel, silence);
    if (message.type === "pong") return;
    seq += 1;
    if (message.seq !== seq) { // something is missing; a new connection begins with all there is
      lose();
      return;
    }
    frame(message);
    if (live) return;
    live = true;
    failures = 0;
    turn({ state: "live" });
  }

  // feel finds out whether the other end is still there: a phone that has slept is not told.
  function feel() {
    socket.send('{"type":"ping"}');
    pulse = setTimeout(lose, patience);
  }

  async function lose() {
    clearTimeout(pulse);
    const refused = !live;
    const mine = socket;
    socket = null;
    live = false;
    mine?.close();
    failures += 1;
    const pause = Math.min(longest, first * 2 ** Math.min(failures - 1, 10)) * (0.5 + Math.random() / 2);
    clearTimeout(retry);
    retry = setTimeout(open, pause);
    turn({ state: "lost", due: Date.now() + pause });
    if (!refused) return;
    try {
      await check();
    } catch (error) {
      if (!(error instanceof Ended)) return;
      over = true;
      clearTimeout(retry);
      turn({ state: "over", why: error.message });
    }
  }

  addEventListener("online", open);
  addEventListener("offline", () => socket && lose());
  document.addEventListener("visibilitychange", () => !document.hidden && open());
  open();
}
