// Votes on their way. Each is kept until the server has answered, so that it outlives a break, and a reload of the page.
// There is one for each poll, the latest; an empty one takes the vote back. Sending one twice does what sending it once does.

const longest = 30000; // ms between attempts while the server is there and has no time

// votesOf returns the votes of somebody in a room. settled is told of each answer.
export function votesOf(code, who, settled) {
  const place = `plenary.votes.${code}.${who}`;
  const kept = new Map(read(place));
  let busy = false;
  let retry = 0;
  let failures = 0;

  function write() {
    try {
      sessionStorage.setItem(place, JSON.stringify([...kept]));
    } catch {
      // not allowed to; then a vote outlives a break, but no reload
    }
  }

  async function flush() {
    clearTimeout(retry);
    if (busy) return;
    busy = true;
    try {
      while (kept.size > 0) {
        const [poll, options] = kept.entries().next().value;
        const answer = await send(poll, options);
        if (answer.status === 429 || answer.status >= 500) throw new Error(`status ${answer.status}`);
        const body = await answer.json();
        failures = 0;
        if (kept.get(poll) === options) kept.delete(poll); // else another one was cast meanwhile, and counts
        write();
        settled(poll, answer.ok, body);
      }
    } catch {
      failures += 1;
      retry = setTimeout(flush, Math.min(longest, 1000 * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2));
    } finally {
      busy = false;
    }
  }

  return {
    flush,
    size: () => kept.size,
    of: (poll) => kept.get(poll),
    cast(poll, options) {
      if (kept.get(poll)?.join() === options.join()) return flush(); // an impatient finger
      kept.set(poll, options);
      write();
      return flush();
    },
  };
}

function send(poll, options) {
  return fetch(`/api/v1/engagement/polls/${poll}/ballot`, {
    method: options.length > 0 ? "PUT" : "DELETE",
    headers: { Accept: "application/json", ...(options.length > 0 && { "Content-Type": "application/json" }) },
    body: options.length > 0 ? JSON.stringify({ options }) : undefined,
    signal: AbortSignal.timeout(10000),
  });
}

function read(place) {
  try {
    return JSON.parse(sessionStorage.getItem(place)) ?? [];
  } catch {
    return [];
  }
}
