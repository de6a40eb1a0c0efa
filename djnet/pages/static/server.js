// The studio's server: what it says of the project, and what it is asked to do, one thing after the other.
export const server = { state: null, onchange: () => {}, onerror: () => {} };

let begin; // called with the first state: until then requests wait
let last = new Promise((resolve) => { begin = resolve; });

async function answer(request) {
  let response;
  try {
    response = await request();
  } catch {
    throw new Error("The studio does not answer. Start djnet studio again: nothing is lost.");
  }
  const kind = response.headers.get("content-type") ?? "";
  const content = kind.includes("json") ? await response.json() : null;
  if (content?.plan) take(content); // of a conflict too
  if (!response.ok) throw new Error(content?.error ?? `The studio answered ${response.status}.`);
  return content ?? response;
}

let seen = "";

function take({ reasons, error, ...state }) {
  const text = JSON.stringify(state);
  if (text === seen || (server.state && state.revision < server.state.revision)) return;
  seen = text;
  server.state = state;
  begin();
  server.onchange();
}

// Requests that change something wait for each other, so that each sees the revision of the one before.
function queued(request) {
  const done = last.then(() => answer(request));
  last = done.catch(() => {});
  return done.catch((error) => {
    server.onerror(error.message);
    return null;
  });
}

export function ask(action, values = {}) {
  return queued(() => fetch(`do/${action}`, {
    method: "POST", body: JSON.stringify({ revision: server.state.revision, ...values }),
  }));
}

// Change the plan: `edit(plan)` works on a copy of the present one; false leaves all as it is.
export function change(edit) {
  return queued(() => {
    const plan = structuredClone(server.state.plan);
    if (edit(plan) === false) return new Response(null, { status: 204 });
    return fetch("do/plan", { method: "POST", body: JSON.stringify({ revision: server.state.revision, plan }) });
  });
}

export function upload(file) {
  return queued(() => fetch(`songs?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file }));
}

export function openReceipt(file) {
  return queued(() => fetch(`receipt?revision=${server.state.revision}`, { method: "POST", body: file }));
}

export async function look() {
  return answer(() => fetch("state"));
}

const songs = new Map(); // id -> promise of what the server says of a song, which never changes

export function song(id) {
  if (!songs.has(id)) {
    songs.set(id, answer(() => fetch(`songs/${id}`)).then((one) => ({ ...one, wave: wave.points(one.wave) })));
    songs.get(id).catch(() => songs.delete(id));
  }
  return songs.get(id);
}

export async function sound(address) {
  const response = await answer(() => fetch(address));
  return response.arrayBuffer();
}
