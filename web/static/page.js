// On every page: times in the reader's own zone, forms that are sent once, and the theme.

const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const today = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

// dress makes what the server has sent at home here: its times and countdowns.
export function dress(root) {
  localize(root);
  count();
}

// localize rewrites times. The server writes UTC, which is right for everybody and at home nowhere.
function localize(root) {
  for (const time of root.querySelectorAll('time[data-as="local"]')) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const same = at.toDateString() === new Date().toDateString();
    time.title ||= time.textContent;
    time.textContent = same ? today.format(at) : full.format(at);
  }
  for (const time of root.querySelectorAll('time[data-as="title"]')) {
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.getTime())) time.title = `${full.format(at)}, where you are`;
  }
}

// count shows how long there is left. The server's clock decides, so only the difference is taken from it.
const skews = new WeakMap();
function count() {
  for (const span of document.querySelectorAll("[data-left]")) {
    if (!skews.has(span)) skews.set(span, Date.now() - Date.parse(span.dataset.now));
    const left = Math.round((Date.parse(span.dataset.left) - (Date.now() - skews.get(span))) / 1000);
    span.textContent = left > 0 ? `${spell(left)} left` : "which is any moment now";
  }
}

function spell(seconds) {
  const two = (n) => String(n).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  const rest = `${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return hours > 0 ? `${hours}:${rest}` : rest;
}

// A form that takes a while says so, and is not sent again by a second press.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.once === undefined) return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "1";
  const button = event.submitter ?? form.querySelector("button");
  if (!button) return;
  button.dataset.words = button.textContent;
  button.setAttribute("aria-busy", "true");
  if (form.dataset.once) button.textContent = form.dataset.once;
});

// Whoever comes back to a page finds its forms as they were.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) {
    delete form.dataset.sent;
    for (const button of form.querySelectorAll('[aria-busy="true"]')) {
      button.removeAttribute("aria-busy");
      button.textContent = button.dataset.words;
    }
  }
});

// The theme, without a new page: what is half typed stays.
document.querySelector("[data-theme-switch]")?.addEventListener("submit", (event) => {
  const theme = event.submitter?.value;
  if (!theme) return;
  event.preventDefault();
  const known = theme === "light" || theme === "dark";
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `plenary_theme=${known ? theme : ""}; Path=/; SameSite=Lax; Max-Age=${known ? 31536000 : 0}${secure}`;
  if (known) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  for (const button of event.target.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button === event.submitter));
});

// Of tabs that do not fit, the current one is to be seen.
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

dress(document);
setInterval(count, 1000);
