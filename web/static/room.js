// A room, with any of its faces: what the audience, the wall and the host see is drawn from one state, which begins with
// a snapshot and goes on with each poll and question that has changed.

import { Ended, ask } from "./live.js";
import { arrange, drawPoll, drawQuestion } from "./roomcards.js";
import { connect } from "./socket.js";
import { votesOf } from "./votes.js";

const room = document.getElementById("room");
const { room: code, face, who } = room.dataset;
const api = "/api/v1/engagement";
const polls = new Map();
const questions = new Map();

// What each face shows, and in which order.
const pollOrder = { audience: ["open", "closed"], wall: ["open", "closed"], host: ["open", "draft", "closed"] }[face];
const questionOrder = { audience: ["approved", "answered"], wall: ["approved"], host: ["pending", "approved", "answered", "dismissed"] }[face];

function draw() {
  const byStatus = (order) => (a, b) => order.indexOf(a.status) - order.indexOf(b.status);
  const later = (a, b) => (a.id < b.id ? 1 : -1); // ids rise with time
  let shown = [...polls.values()].filter((p) => pollOrder.includes(p.status)).sort((a, b) => byStatus(pollOrder)(a, b) || later(a, b));
  if (face === "wall") shown = shown.filter((p, i) => i === 0 || p.status === "open"); // or else the last result
  arrange(room.querySelector("[data-polls]"), shown, (poll) => drawPoll(poll, votes.of(poll.id)));
  room.querySelector("[data-no-polls]").hidden = shown.length > 0;
  const asked = [...questions.values()].filter((q) => questionOrder.includes(q.status))
    .sort((a, b) => byStatus(questionOrder)(a, b) || b.upvotes - a.upvotes || later(b, a));
  arrange(room.querySelector("[data-questions]"), asked, drawQuestion);
  room.querySelector("[data-no-questions]").hidden = asked.length > 0;
}

// What is said to those who do not see, politely. A tally is told at most every five seconds, and only the last one.
const news = room.querySelector("[data-news]");
const tallies = { text: "", due: 0, timer: 0 };
function say(text) {
  news.textContent = news.textContent === text ? `${text}\u00a0` : text; // the same words again are news, too
}
function sayTally(poll) {
  const best = Math.max(...poll.options.map((o) => o.votes));
  const leaders = best > 0 ? `, ahead: ${poll.options.filter((o) => o.votes === best).map((o) => o.text).join(" and ")}` : "";
  tallies.text = `${poll.question} ${poll.totalVotes} ${poll.totalVotes === 1 ? "vote" : "votes"}${leaders}`;
  if (tallies.timer) return;
  tallies.timer = setTimeout(() => {
    tallies.timer = 0;
    tallies.due = Date.now() + 5000;
    say(tallies.text);
  }, Math.max(0, tallies.due - Date.now()));
}

// take keeps what is ours of a poll or a question that was sent to everybody.
function takePoll(poll) {
  polls.set(poll.id, { ...poll, myBallot: polls.get(poll.id)?.myBallot ?? null });
}
function takeQuestion(question) {
  const { myUpvote = false, mine = false } = questions.get(question.id) ?? {};
  questions.set(question.id, { ...question, myUpvote, mine });
}

function takeAll(state) {
  polls.clear();
  questions.clear();
  for (const poll of state.polls ?? []) polls.set(poll.id, poll);
  for (const question of state.questions ?? []) questions.set(question.id, question);
  takePending(state.pendingCount);
}
function takePending(count) {
  const place = room.querySelector("[data-pending]");
  if (place && count !== undefined) place.textContent = String(count);
}

function frame(message) {
  if (message.type.startsWith("question.")) heard += 1;
  switch (message.type) {
    case "snapshot":
      takeAll(message.room);
      break;
    case "poll.opened":
      takePoll(message.poll);
      say(`A poll is open: ${message.poll.question}`);
      break;
    case "poll.closed":
      takePoll(message.poll);
      say(`Closed: ${message.poll.question}`);
      sayTally(message.poll);
      break;
    case "poll.results-changed":
      takePoll(message.poll);
      sayTally(message.poll);
      break;
    case "question.pending-count":
      takePending(message.pendingCount);
      if (face === "host") reread(); // a question that waits has no event of its own, for not to be shown by mistake
      return;
    default:
      if (!message.question) return;
      takeQuestion(message.question);
      // Whether an approved question is ours, nobody else is told.
      if (message.type === "question.approved" && face === "audience" && handedIn > 0) reread();
  }
  draw();
}

async function read() {
  const answer = await ask(`${api}/rooms/${code}`, "application/json", AbortSignal.timeout(10000));
  return answer.json();
}

// reread asks for what no event tells. An answer that an event has overtaken is asked for again.
let rereading = false;
let heard = 0; // events about questions
async function reread() {
  if (rereading) return;
  rereading = true;
  try {
    let state, before;
    do {
      before = heard;
      state = await read();
    } while (before !== heard);
    takePending(state.pendingCount);
    for (const question of state.questions ?? []) questions.set(question.id, question);
    for (const poll of state.polls ?? []) if (!polls.has(poll.id)) polls.set(poll.id, poll);
    draw();
  } catch {
    // the next snapshot has it all
  } finally {
    rereading = false;
  }
}

// How the connection stands, each second anew.
const sign = room.querySelector("[data-connection]");
const words = sign.querySelector("[data-connection-text]");
let link = { state: "connecting" };
function turn(next) {
  const before = link.state;
  link = next;
  if (next.state === "live") {
    if (before === "connecting" && sign.dataset.broken) say("Connected again.");
    delete sign.dataset.broken;
    votes.flush();
  }
  if (next.state === "lost" && !sign.dataset.broken) {
    sign.dataset.broken = "1";
    say("The connection is lost. What you vote is kept.");
  }
  if (next.state === "over") say(next.why);
  showLink();
}
function showLink() {
  const keeps = votes.size() > 0 ? ": your vote is kept and sent once you are back" : "";
  const left = Math.max(1, Math.ceil((link.due - Date.now()) / 1000));
  const text = {
    live: "Live",
    connecting: sign.dataset.broken ? `Reconnecting${keeps}` : "Connecting",
    lost: navigator.onLine ? `Reconnecting in ${left} s${keeps}` : `Offline${keeps}`,
    over: link.why,
  }[link.state];
  sign.hidden = false;
  sign.dataset.state = sign.dataset.broken && link.state === "connecting" ? "lost" : link.state;
  if (words.textContent !== text) words.textContent = text;
}
setInterval(showLink, 1000);

const votes = votesOf(code, who, (id, done, answer) => {
  const poll = polls.get(id);
  if (done) {
    // The tally that everybody is sent is never older than what is shown; the answer's may be.
    const mine = answer.poll.myBallot;
    polls.set(id, link.state === "live" && poll ? { ...poll, myBallot: mine } : answer.poll);
    say(mine ? "Your vote is recorded." : "Your vote is taken back.");
  } else {
    complain(`Your vote does not count: ${answer.detail}.`);
  }
  draw();
  showLink();
});

function complain(text) {
  room.querySelector("[data-complaint]")?.remove();
  const box = document.createElement("div");
  box.className = "alert bad";
  box.dataset.complaint = "";
  const p = document.createElement("p");
  p.textContent = text;
  box.append(p);
  room.querySelector(".room-head").after(box);
  say(text);
}

// What the audience does goes to the API, from the forms that do without it.
let handedIn = 0;
const acts = {
  ballot(form, button) {
    const poll = form.closest("[data-poll]").dataset.poll;
    const chosen = button?.dataset.withdraw === undefined ? new FormData(form).getAll("option") : [];
    if (chosen.length === 0 && button?.dataset.withdraw === undefined) {
      say("Choose an option first.");
      form.querySelector("input[name=option]").focus();
      return;
    }
    votes.cast(poll, chosen);
    draw();
    showLink();
  },
  async upvote(form) {
    const id = form.closest("[data-question-id]").dataset.questionId;
    const wanted = form.elements.wanted.value === "true";
    const answer = await send(wanted ? "PUT" : "DELETE", `/questions/${id}/upvote`);
    questions.set(id, answer);
    draw();
    say(wanted ? "Your upvote is recorded." : "Your upvote is taken back.");
  },
  async ask(form) {
    await send("POST", `/rooms/${code}/questions`, { text: form.elements.text.value }, form.elements.key.value);
    handedIn += 1;
    form.reset();
    form.elements.text.value = "";
    form.elements.key.value = newKey();
    say("Your question is handed in. A moderator reads it first.");
    form.querySelector("#text-hint").textContent = "Handed in. It is shown as soon as a moderator has approved it.";
  },
};

async function send(method, path, body, key) {
  const headers = { Accept: "application/json", ...(body && { "Content-Type": "application/json" }), ...(key && { "Idempotency-Key": key }) };
  const answer = await fetch(api + path, { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(10000) });
  const said = await answer.json();
  if (!answer.ok) throw new Ended(`${said.detail[0].toUpperCase()}${said.detail.slice(1)}.`);
  return said;
}

// newKey does without crypto.randomUUID, which a page has over TLS only.
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

room.addEventListener("submit", async (event) => {
  const form = event.target;
  const act = Object.keys(acts).find((name) => form.dataset[name] !== undefined);
  if (!act) return; // the host's forms are sent as they are
  event.preventDefault();
  if (form.dataset.busy) return;
  form.dataset.busy = "1";
  room.querySelector("[data-complaint]")?.remove();
  try {
    await acts[act](form, event.submitter);
  } catch (error) {
    complain(error instanceof Ended ? error.message : "There is no connection. Nothing was sent; try again in a moment.");
  } finally {
    delete form.dataset.busy;
  }
});

async function check() {
  try {
    await read();
  } catch (error) {
    throw error instanceof Ended ? new Ended("You are not in this room any more. Reload to join again") : error;
  }
}

connect(`${api}/rooms/${code}/live`, { frame, turn, check });
