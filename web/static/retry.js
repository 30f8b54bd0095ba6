// The page of an answer that could not be given: tries again by itself, and stays out of the way.

const note = document.querySelector("[data-retry]");
let pause = Math.max(1, Number(note.dataset.retry));

async function again() {
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (answer.status < 500) {
      location.reload();
      return;
    }
  } catch {
    // not even the program answers; it may be starting
  }
  pause = Math.min(15, pause * 2);
  wait();
}

function wait() {
  setTimeout(again, pause * 1000);
}

note.textContent = "This page comes back by itself as soon as it can.";
wait();
