// The catalogue: buttons for less and more, and the sum of what is chosen.

const form = document.querySelector("[data-basket]");
const inputs = [...(form?.querySelectorAll("input[data-price]") ?? [])];
const sum = form?.querySelector("[data-sum]");

function digitsOf(currency) {
  return new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits;
}

function money(amount, currency) {
  const digits = digitsOf(currency);
  return `${(amount / 10 ** digits).toFixed(digits)} ${currency}`;
}

function quantity(input) {
  return Number.isInteger(input.valueAsNumber) ? Math.max(0, input.valueAsNumber) : 0;
}

function update() {
  let tickets = 0;
  const totals = new Map();
  for (const input of inputs) {
    const n = quantity(input);
    if (n === 0) continue;
    tickets += n;
    totals.set(input.dataset.currency, (totals.get(input.dataset.currency) ?? 0) + n * Number(input.dataset.price));
  }
  const amounts = [...totals].map(([currency, amount]) => money(amount, currency));
  sum.textContent = tickets === 0 ? "Nothing chosen yet" : `${tickets} ${tickets === 1 ? "ticket" : "tickets"}, ${amounts.join(" and ")}`;
}

function button(input, by, word, sign) {
  const b = document.createElement("button");
  b.type = "button";
  b.className = "plain";
  b.textContent = sign;
  b.setAttribute("aria-label", `${word} ${input.closest(".ticket").querySelector("h2").textContent}`);
  b.addEventListener("click", () => {
    input.value = String(Math.min(Number(input.max), Math.max(0, quantity(input) + by)));
    update();
  });
  return b;
}

for (const input of inputs) {
  input.before(button(input, -1, "Less", "−"));
  input.after(button(input, 1, "More", "+"));
  input.addEventListener("input", update);
}
if (sum) update();
