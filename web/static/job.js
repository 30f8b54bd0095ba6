// A job's page: what another schedule would mean, while it is typed. Without script, a button asks for it.

import { ask } from "./live.js";
import { dress } from "./page.js";

const form = document.querySelector("[data-preview-form]");
const fields = [...(form?.querySelectorAll('[name="cron"], [name="timeZone"]') ?? [])];
let timer = 0;
let latest = 0;

async function look() {
  const mine = ++latest;
  const query = new URLSearchParams(fields.map((field) => [field.name, field.value.trim()]));
  try {
    const answer = await ask(`${form.dataset.previewForm}?${query}`, "text/html", AbortSignal.timeout(10000));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine === latest) show(page); // else something else is typed by now
  } catch {
    // the button is still there
  }
}

function show(page) {
  for (const part of document.querySelectorAll("[data-preview]")) {
    const fresh = page.getElementById(part.id);
    if (!fresh || fresh.textContent === part.textContent) continue;
    part.replaceChildren(...document.importNode(fresh, true).childNodes);
    dress(part);
  }
  for (const field of fields) {
    field.toggleAttribute("aria-invalid", false);
    if (page.getElementById(field.id)?.getAttribute("aria-invalid") === "true") field.setAttribute("aria-invalid", "true");
  }
}

for (const field of fields) {
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, 300);
  });
}
