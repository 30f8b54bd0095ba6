// An order whose status moves: asks the API about once a second, and has the page redrawn when there is something new.

import { ask, refresh, watch } from "./live.js";

const find = () => document.getElementById("order");
const news = document.createElement("p"); // tells what has changed to those who do not see
news.className = "hidden";
news.setAttribute("role", "status");
document.getElementById("main").append(news);

async function look(signal) {
  const answer = await ask(`/api/v1/sales/orders/${find().dataset.order}`, "application/json", signal);
  const order = await answer.json();
  if (String(order.version) !== find().dataset.version) {
    await refresh(`/orders/${find().dataset.order}`, signal);
    news.textContent = find().dataset.says;
  }
  return find().dataset.moves === "true";
}

watch(look, 1000);
