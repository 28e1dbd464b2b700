// Requests to the server. Looking needs no token; what changes something has it in its header.

const HOLDER = "xcast-token";

export class Refused extends Error {
  constructor(status, told) {
    super(told.message || `the server answers ${status}`);
    this.status = status;
    this.code = told.code || "";
    this.hint = told.hint || "";
    this.line = told.line ?? null;
    this.column = told.column ?? null;
  }
}

export const token = {
  get: () => sessionStorage.getItem(HOLDER) || "",
  set: (value) => (value ? sessionStorage.setItem(HOLDER, value) : sessionStorage.removeItem(HOLDER)),
};

// The address may bring a token after its #, which is not sent; it does not stay there.
export function takeToken() {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found) {
    token.set(found);
    history.replaceState(null, "", location.pathname);
  }
}

async function request(method, path, body, signal) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  const answer = await fetch(`/console/api/${path}`, {
    method, headers, signal, cache: "no-store", body: body === undefined ? undefined : JSON.stringify(body),
  });
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, told);
  return told;
}

export const get = (path, signal) => request("GET", path, undefined, signal);
export const post = (path, body = {}, signal) => request("POST", path, body, signal);
export const remove = (path) => request("DELETE", path);

// Asks one thing at a time; of what is wanted meanwhile the last is asked next. So a slider may be dragged.
export function latest(ask, show, fail) {
  let busy = false, wanted = null;
  async function go() {
    busy = true;
    while (wanted !== null) {
      const now = wanted;
      wanted = null;
      try {
        const found = await ask(now);
        if (wanted === null) show(found, now);
      } catch (fault) {
        if (wanted === null) fail(fault, now);
      }
    }
    busy = false;
  }
  return (what) => {
    wanted = what;
    if (!busy) go();
  };
}
