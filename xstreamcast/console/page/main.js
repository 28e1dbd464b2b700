// The page: what is selected, what the server tells, and who shows it.

import { $, h, instant, number, plural, say } from "./dom.js";
import { get, latest, post, remove, takeToken, token } from "./api.js";
import * as answers from "./answers.js";
import * as documents from "./documents.js";
import * as editor from "./editor.js";
import * as plan from "./plan.js";
import * as side from "./side.js";
import * as state from "./state.js";
import * as streams from "./streams.js";
import * as timeline from "./timeline.js";

let status = { streams: [], queries: [], reports: [], writable: false };
let selected = { stream: "", query: "" }, tab = "answers", looked = null, checked = null, step = 0, source = null, allowed = false;

const query = () => status.queries.find((one) => one.id === selected.query);

// ------------------------------------------------------------------------------------------------- events

function listen() {
  source?.close();
  source = new EventSource(`/console/api/events?query=${encodeURIComponent(selected.query)}`);
  source.onopen = () => connected(true);
  source.onerror = () => connected(false);
  source.addEventListener("status", (event) => told(JSON.parse(event.data)));
  source.addEventListener("state", (event) => { looked = JSON.parse(event.data); show(); });
  source.addEventListener("answer", (event) => answered(JSON.parse(event.data)));
  source.addEventListener("over", () => refresh());
  source.addEventListener("lost", () => refresh());
}

function connected(there) {
  $("connection").textContent = there ? "live" : "no connection";
  $("connection").className = `pill ${there ? "running" : "failed"}`;
  if (there && selected.query) refresh();
}

function told(found) {
  status = found;
  side.streams(status.streams, selected.stream, openStream);
  side.queries(status.queries, selected.query, openQuery);
  side.reports(status.reports);
  if (selected.stream) streams.update(status.streams);
  buttons();
  if (tab === "state") show();
}

function answered(found) {
  if (early) return void early.push(found);
  if (found.step <= step) return;
  if (found.step !== step + 1) return void refresh();
  step = found.step;
  if (found.changes.length) timeline.changed(found.taken);
  const live = timeline.state().live;
  timeline.grow({ first: line.first, last: found.taken });
  held.push(...found.changes);
  shown = found.shown;
  now = found.now;
  taken = found.taken;
  if (live) flush();
}

let held = [], shown = 0, now = "", taken = 0, line = { first: 0 };
let early = null, turns = 0, other = false; // what is told while the answer is asked for, how often it was, of another query

function busy() {
  $("answers").setAttribute("aria-busy", String(early !== null || source.readyState !== EventSource.OPEN));
}

function flush() {
  answers.apply(held, shown);
  held = [];
  summary();
}

function summary() {
  const state = timeline.state();
  if (!selected.query) $("summary").textContent = "";
  else if (state.live) {
    $("summary").textContent = `${plural(shown, "item")} after ${plural(taken, "record")}${now ? `, ${instant(now)}` : ""}`;
    $("moment").textContent = `live${now ? `, ${instant(now)}` : ""}`;
  }
}

// ------------------------------------------------------------------------------------------------- selecting

function view(which) {
  $("query-view").hidden = which !== "query";
  $("stream-view").hidden = which !== "stream";
}

async function openStream(name) {
  selected = { stream: name, query: "" };
  view("stream");
  listen();
  redraw();
  await streams.open(name).catch(problem);
}

function fresh() {
  streams.close();
  selected = { stream: "", query: "" };
  looked = early = null;
  turns += 1;
  view("query");
  timeline.end();
  editor.set("");
  answers.none(status.streams.length ? "Write a query, and run it." : "There is no stream yet.");
  documents.show($("document"), { text: "" });
  listen();
  redraw();
  $("text").focus();
}

async function openQuery(id) {
  streams.close();
  selected = { stream: "", query: id };
  looked = early = null;
  view("query");
  const one = query();
  if (one) editor.set(one.query);
  if (one) $("emit").value = one.emit;
  listen();
  redraw();
  await refresh(true);
}

async function refresh(anew = false) {
  const id = selected.query, turn = (turns += 1);
  if (!id) return;
  other = other || anew;
  early = early || [];
  busy();
  try {
    const found = await get(`queries/${id}`);
    const known = found.state === "running" ? await get(`queries/${id}/line`) : null;
    if (turn !== turns) return;
    step = found.step;
    looked = found.state_of;
    held = [];
    shown = found.shown;
    now = found.now;
    taken = found.taken;
    answers.reset(found.items, found.shown);
    if (known) {
      line = known;
      if (other || $("line").hidden) timeline.begin(line, moved);
      else timeline.grow(line);
      other = false;
    } else {
      timeline.end();
      answers.none(found.fault ? `${found.fault.code} ${found.fault.message}` : "It does not run.");
    }
    summary();
    show();
    const told = early;
    early = null;
    for (const one of told) answered(one);
  } catch (fault) {
    if (turn === turns) early = null;
    if (fault.status === 404) fresh();
  }
  busy();
}

function redraw() {
  side.streams(status.streams, selected.stream, openStream);
  side.queries(status.queries, selected.query, openQuery);
  $("editor-title").textContent = selected.query ? `Query ${selected.query}` : "New query";
  buttons();
  summary();
  show();
}

// ------------------------------------------------------------------------------------------------- moments

const moment = latest(
  async ({ id, state: { moment, compare } }) =>
    compare === null ? { one: await get(`queries/${id}/at?moment=${moment}`) } : { two: await get(`queries/${id}/between?from=${compare}&to=${moment}`) },
  ({ one, two }, { id, state: at }) => {
    if (selected.query !== id || timeline.state().live) return;
    if (one) {
      answers.past(one);
      $("moment").textContent = `after ${plural(one.moment, "record")}${one.now ? `, ${instant(one.now)}` : ""}`;
      $("summary").textContent = `${plural(one.items.length, "item")} then`;
      heads = { to: one.streams };
    } else {
      answers.between(two);
      $("moment").textContent = `from ${number(Math.min(at.compare, at.moment))} to ${number(Math.max(at.compare, at.moment))} records`;
      $("summary").textContent = `${two.appeared.length} appeared, ${two.changed.length} changed, ${two.vanished.length} vanished`;
      heads = { from: two.from, to: two.to };
    }
    if (tab === "document") showDocument();
  },
  (fault) => answers.none(`${fault.code || ""} ${fault.message}`),
);

let heads = null;

function moved(at) {
  if (at.live) {
    heads = null;
    answers.live();
    flush();
    if (tab === "document") showDocument();
  } else moment({ id: selected.query, state: at });
}

const documentOf = latest(
  async ({ name, from, to }) => (from === undefined ? { one: await get(`streams/${name}/at?n=${to}`) } : { two: await get(`streams/${name}/between?from=${from}&to=${to}`) }),
  ({ one, two }) => (two ? documents.between($("document-of"), two) : documents.show($("document-of"), one)),
  (fault) => documents.fail($("document-of"), fault),
);

let chosen = "";

function showDocument() {
  const one = query();
  if (!one || !one.streams.length) return void $("document").replaceChildren(h("p", { class: "empty" }, "A query that runs shows the documents of its streams."));
  if (!one.streams.includes(chosen)) chosen = one.streams[0];
  const known = (name) => status.streams.find((stream) => stream.name === name)?.head ?? 0;
  const to = heads ? heads.to[chosen] : known(chosen), from = heads?.from?.[chosen];
  const choice = h("p", { class: "row" }, ...one.streams.map((name) =>
    h("button", { type: "button", class: "small", "aria-pressed": String(name === chosen), onclick: () => { chosen = name; showDocument(); } }, name)),
    h("span", { class: "hint" }, from === undefined ? `T at N ${number(to)}` : `T from N ${number(from)} to N ${number(to)}`));
  if (!$("document-of")) $("document").replaceChildren(choice, h("div", { id: "document-of" }));
  else $("document").firstChild.replaceWith(choice);
  documentOf({ name: chosen, from, to });
}

// ------------------------------------------------------------------------------------------------- tabs

function show() {
  if (tab === "plan") plan.counts(looked?.counts || {});
  if (tab === "state") state.show(query(), looked);
}

function openTab(name) {
  tab = name;
  for (const button of document.querySelectorAll('[role="tab"]')) {
    const here = button.getAttribute("aria-controls") === name;
    button.setAttribute("aria-selected", String(here));
    button.tabIndex = here ? 0 : -1;
    $(button.getAttribute("aria-controls")).hidden = !here;
  }
  if (name === "document") showDocument();
  if (name === "plan") plan.fitted();
  show();
}

for (const button of document.querySelectorAll('[role="tab"]')) {
  button.addEventListener("click", () => openTab(button.getAttribute("aria-controls")));
  button.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const all = [...document.querySelectorAll('[role="tab"]')];
    const next = all[(all.indexOf(button) + by + all.length) % all.length];
    next.focus();
    next.click();
  });
}

editor.whenChecked((text, found) => {
  checked = found;
  plan.show(found);
  $("verdict").textContent = $("verdict").title = found && !found.error ? found.verdict : "";
  buttons();
  show();
});

// ------------------------------------------------------------------------------------------------- doing

function buttons() {
  const one = query(), runs = one && (one.state === "running" || one.state === "starting");
  $("run").disabled = !allowed || !checked || Boolean(checked.error) || Boolean(one && runs && editor.value() === one.query);
  $("run").title = allowed ? "" : "To run queries, give the token of the server";
  $("stop").hidden = !one || !runs;
  $("start").hidden = !one || runs;
  $("remove").hidden = !one;
  for (const id of ["stop", "start", "remove"]) $(id).disabled = !allowed;
}

function problem(fault) {
  if (fault.status === 401 || fault.status === 403) access(false);
  editor.refuse(fault);
}

async function run() {
  if ($("run").disabled) return;
  $("run").setAttribute("aria-busy", "true");
  try {
    const made = await post("queries", { query: editor.value(), emit: $("emit").value });
    status.queries = [...status.queries.filter((one) => one.id !== made.id), made];
    say(`${made.id} runs`, true);
    await openQuery(made.id);
  } catch (fault) {
    problem(fault);
  } finally {
    $("run").removeAttribute("aria-busy");
  }
}

$("run").addEventListener("click", run);
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run();
  }
});
$("new").addEventListener("click", fresh);
for (const what of ["stop", "start"]) {
  $(what).addEventListener("click", async () => {
    try {
      const made = await post(`queries/${selected.query}/${what}`);
      status.queries = status.queries.map((one) => (one.id === made.id ? made : one));
      redraw();
      await refresh(true);
    } catch (fault) {
      problem(fault);
    }
  });
}
$("remove").addEventListener("click", async () => {
  try {
    await remove(`queries/${selected.query}`);
    status.queries = status.queries.filter((one) => one.id !== selected.query);
    fresh();
  } catch (fault) {
    problem(fault);
  }
});

// ------------------------------------------------------------------------------------------------- access, colours

function access(may) {
  allowed = may;
  $("access").textContent = may ? "Can change" : "Read-only";
  $("access").classList.toggle("may", may);
  buttons();
}

async function tryToken() {
  try {
    await get("token");
    access(true);
    return "";
  } catch (fault) {
    access(false);
    return fault.message;
  }
}

$("access").addEventListener("click", () => {
  $("token").value = token.get();
  $("ask-problem").textContent = "";
  $("ask").showModal();
});
$("ask").addEventListener("close", async () => {
  const said = $("ask").returnValue;
  if (said !== "ok" && said !== "forget") return;
  token.set(said === "ok" ? $("token").value.trim() : "");
  const wrong = token.get() ? await tryToken() : (access(false), "");
  if (wrong) {
    $("ask").showModal();
    $("ask-problem").textContent = wrong;
  }
});

const THEMES = { auto: "Auto", light: "Light", dark: "Dark" };

function theme(name) {
  if (name === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = name;
  $("theme").textContent = THEMES[name];
  $("theme").setAttribute("aria-label", `Colours: ${name === "auto" ? "as the system" : name}`);
  localStorage.setItem("xcast-theme", name);
}

$("theme").addEventListener("click", () => {
  const names = Object.keys(THEMES), at = names.indexOf(localStorage.getItem("xcast-theme") || "auto");
  theme(names[(at + 1) % names.length]);
});

takeToken();
theme(localStorage.getItem("xcast-theme") in THEMES ? localStorage.getItem("xcast-theme") : "auto");
try {
  told(await get("status"));
} catch {
  connected(false);
}
if (token.get()) await tryToken();
else access(false);
if (status.queries.length) await openQuery(status.queries[0].id);
else {
  fresh();
  const named = status.streams.find((one) => one.structure);
  if (named) editor.set(`count(stream("${named.name}")//*)`);
}
