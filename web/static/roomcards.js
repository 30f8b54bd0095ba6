// Draws the polls and questions of a room: into what the server has rendered, and else into copies of its templates. What
// is there stays there, so that the focus and half a choice do.

import { dress } from "./page.js";

// The ids of the templates, in whose place those of polls, questions and options come.
const nobody = "00000000-0000-0000-0000-000000000000";
const anyOption = "ffffffff-ffff-ffff-ffff-ffffffffffff";

function copy(element, from, to) {
  const made = element.cloneNode(true);
  for (const e of [made, ...made.querySelectorAll("*")]) {
    for (const a of e.attributes) if (a.value.includes(from)) a.value = a.value.replaceAll(from, to);
  }
  return made;
}

function stamp(template, id) {
  return copy(document.getElementById(template).content.firstElementChild, nobody, id);
}

// arrange has list show what card makes of each thing, in their order. What is in place is not moved.
export function arrange(list, things, card) {
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  const cards = things.map(card);
  for (const old of [...list.children]) if (!cards.includes(old)) old.remove();
  cards.forEach((c, i) => {
    if (list.children[i] !== c) list.insertBefore(c, list.children[i] ?? null);
  });
  if (focused?.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
}

function write(place, text) {
  if (place && place.textContent !== text) place.textContent = text;
}

function show(place, shown) {
  if (place && place.hidden === shown) place.hidden = !shown;
}

const count = (n, one, more) => `${n} ${n === 1 ? one : more}`;

function showStatus(card, status, tone, word) {
  card.dataset.status = status;
  const badge = card.querySelector("[data-badge]");
  if (badge) badge.className = `badge ${tone}`;
  write(badge, word);
  for (const e of card.querySelectorAll("[data-when]")) show(e, e.dataset.when.split(" ").includes(status));
}

const pollWords = { draft: ["wait", "Draft"], open: ["busy", "Open"], closed: ["calm", "Closed"] };

// drawPoll returns the card of a poll. kept is a vote that has not reached the server: the options, none to withdraw.
export function drawPoll(poll, kept) {
  const card = document.getElementById(`poll-${poll.id}`) ?? newPoll(poll);
  const mine = kept ?? poll.myBallot ?? [];
  showStatus(card, poll.status, ...pollWords[poll.status]);
  write(card.querySelector("[data-question]"), poll.question);
  write(card.querySelector("[data-total]"), count(poll.totalVotes, "vote", "votes"));
  for (const input of card.querySelectorAll("input[data-version]")) input.value = String(poll.version);
  drawClosing(card, poll);
  for (const option of poll.options) {
    const row = card.querySelector(`[data-row="${option.id}"]`);
    const share = poll.totalVotes > 0 ? Math.round((100 * option.votes) / poll.totalVotes) : 0;
    const chosen = (poll.myBallot ?? []).includes(option.id);
    write(row.querySelector("[data-text]"), option.text);
    write(row.querySelector("[data-votes]"), String(option.votes));
    write(row.querySelector("[data-share]"), `${share} %`);
    row.querySelector("[data-bar]").setAttribute("width", String(share));
    row.classList.toggle("chosen", chosen);
    show(row.querySelector("[data-yours]"), chosen);
  }
  const ballot = card.querySelector("[data-ballot]");
  if (ballot) drawBallot(ballot, poll, mine, kept);
  return card;
}

function newPoll(poll) {
  const card = stamp("poll-template", poll.id);
  for (const name of ["option", "row"]) {
    const one = card.querySelector(`[data-${name}="${anyOption}"]`);
    one?.replaceWith(...poll.options.map((option) => copy(one, anyOption, option.id)));
  }
  for (const option of card.querySelectorAll("[data-option]")) {
    option.querySelector("input").type = poll.multiple ? "checkbox" : "radio";
    write(option.querySelector("[data-text]"), poll.options.find((o) => o.id === option.dataset.option).text);
  }
  write(card.querySelector("[data-choose]"), poll.multiple ? "Choose any number" : "Choose one");
  return card;
}

function drawClosing(card, poll) {
  const closes = poll.status === "open" && poll.closesOn !== null;
  const time = card.querySelector("[data-closes-on]");
  show(time.parentElement, closes);
  if (!closes || time.dateTime === poll.closesOn) return;
  time.dateTime = poll.closesOn;
  dress(time.parentElement);
}

const names = (options) => [...options].sort().join(" ");

// drawBallot leaves a choice alone that is being made: it checks what was voted when that is another vote than before.
function drawBallot(ballot, poll, mine, kept) {
  show(ballot, poll.status === "open");
  const inputs = [...ballot.querySelectorAll("input[name=option]")];
  const before = ballot.dataset.voted ?? names(inputs.filter((i) => i.defaultChecked).map((i) => i.value));
  ballot.dataset.voted = names(mine);
  if (before !== ballot.dataset.voted) for (const input of inputs) input.checked = mine.includes(input.value);
  write(ballot.querySelector("[data-vote]"), mine.length > 0 ? "Change my vote" : "Vote");
  const withdraw = ballot.querySelector("[data-withdraw]");
  if (mine.length === 0 && document.activeElement === withdraw) ballot.querySelector("[data-vote]").focus();
  show(withdraw, mine.length > 0);
  const texts = poll.options.filter((o) => mine.includes(o.id)).map((o) => o.text).join(", ");
  const says = mine.length > 0 ? `Your vote: ${texts}` : "You have not voted.";
  write(ballot.querySelector("[data-mine]"), kept ? `${mine.length > 0 ? says : "Your vote is taken back"} (not sent yet)` : says);
}

const questionWords = {
  pending: ["wait", "Pending"], approved: ["busy", "Approved"], answered: ["good", "Answered"], dismissed: ["calm", "Dismissed"],
};

// drawQuestion returns the card of a question.
export function drawQuestion(question) {
  const card = document.getElementById(`question-${question.id}`) ?? stamp("question-template", question.id);
  showStatus(card, question.status, ...questionWords[question.status]);
  write(card.querySelector("[data-text]"), question.text);
  write(card.querySelector("[data-upvotes]"), count(question.upvotes, "upvote", "upvotes"));
  show(card.querySelector("[data-own]"), question.mine);
  const upvote = card.querySelector("[data-upvote]");
  if (upvote) {
    show(upvote, !question.mine && question.status === "approved");
    show(card.querySelector("[data-badge]"), question.status === "answered");
    upvote.querySelector("[data-wanted]").value = String(!question.myUpvote);
    upvote.querySelector("button").setAttribute("aria-pressed", String(question.myUpvote));
  }
  return card;
}
