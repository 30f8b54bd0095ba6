// A board whose sessions are being scored: asks how far it is, and has the page redrawn when it is further.

import { ask, refresh, watch } from "./live.js";

const find = () => document.getElementById("pass");
const news = document.createElement("p"); // tells how it stands to those who do not see
news.className = "hidden";
news.setAttribute("role", "status");
document.getElementById("main").append(news);

let over = false;

async function look(signal) {
  const answer = await ask(`/api/v1/operations/${find().dataset.operation}`, "application/json", signal);
  const { state, attempts, progress } = await answer.json();
  const version = [state, attempts, ...(progress ? [progress.done, progress.total] : [])].join("-");
  if (over || version !== find().dataset.version) await redraw(signal);
  // The last score may reach this replica after the end does, so the end is looked at twice.
  const again = !over;
  over = find().dataset.moves !== "true";
  return !over || again;
}

// redraw leaves open what somebody is reading.
async function redraw(signal) {
  const open = [...document.querySelectorAll("details[open][id]")].map((details) => details.id);
  await refresh(location.href, signal);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (news.textContent !== find().dataset.says) news.textContent = find().dataset.says;
}

watch(look, 1000);
