// The query as it is written: colours by the server's own parser, the error under its place, completion.

import { $, h, say } from "./dom.js";
import { latest, post } from "./api.js";

const text = $("text"), paint = $("paint"), bubble = $("bubble"), problem = $("problem"), choices = $("choices");
let tokens = [], painted = "", fault = null, listeners = [], offered = null, chosen = 0;

export const value = () => text.value;
export const whenChecked = (listener) => listeners.push(listener);

export function set(query) {
  text.value = query;
  close();
  changed();
}

// The server counts characters, the browser units of UTF-16.
const units = (query, at) => (/[\ud800-\udbff]/.test(query) ? [...query].slice(0, at).join("").length : at);

const check = latest(
  async (query) => ({ query, found: await post("check", { query }) }),
  ({ query, found }) => {
    tokens = found.tokens.map(([start, end, kind]) => [units(query, start), units(query, end), kind]);
    painted = query;
    fault = found.error;
    draw();
    tell(found);
    for (const listener of listeners) listener(query, found);
  },
  (refused) => tell({ error: refused, warnings: [] }),
);

function changed() {
  shift();
  draw();
  if (text.value.trim()) check(text.value);
  else {
    tokens = [];
    fault = null;
    draw();
    tell({ error: null, warnings: [] });
    for (const listener of listeners) listener("", null);
  }
}

// Until the server answers, colours before and behind the place of the change stay where they are.
function shift() {
  const now = text.value;
  let same = 0;
  while (same < Math.min(now.length, painted.length) && now[same] === painted[same]) same += 1;
  let rest = 0;
  while (rest < Math.min(now.length, painted.length) - same && now.at(-1 - rest) === painted.at(-1 - rest)) rest += 1;
  const grown = now.length - painted.length, border = painted.length - rest;
  tokens = tokens
    .filter(([start, end]) => end <= same || start >= border)
    .map(([start, end, kind]) => (end <= same ? [start, end, kind] : [start + grown, end + grown, kind]));
  painted = now;
  fault = null;
}

function draw() {
  const query = text.value;
  const made = document.createDocumentFragment();
  let done = 0;
  for (const [start, end, kind] of tokens) {
    made.append(query.slice(done, start), h("span", { class: `t-${kind}` }, query.slice(start, end)));
    done = end;
  }
  made.append(query.slice(done) + "\n");
  paint.replaceChildren(made);
  place();
}

// Where a character stands, in the box of the editor.
function rectangle(at) {
  const walker = document.createTreeWalker(paint, NodeFilter.SHOW_TEXT);
  let left = at;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (left < node.length) {
      const range = document.createRange();
      range.setStart(node, left);
      range.setEnd(node, Math.min(node.length, left + 1));
      const box = range.getClientRects()[0] || range.getBoundingClientRect(), outer = $("code").getBoundingClientRect();
      return { x: box.left - outer.left + $("code").scrollLeft, y: box.bottom - outer.top + $("code").scrollTop };
    }
    left -= node.length;
  }
  return { x: 0, y: 0 };
}

function offset(line, column) {
  const lines = text.value.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  return Math.min(text.value.length, before + units(lines[line - 1] || "", column - 1));
}

function place() {
  bubble.hidden = !(fault && fault.line) || !choices.hidden;
  if (bubble.hidden) return;
  const { x, y } = rectangle(offset(fault.line, fault.column));
  bubble.style.left = `${x}px`;
  bubble.style.top = `${y}px`;
  bubble.replaceChildren(h("b", {}, fault.code), ` ${fault.message}`);
}

function tell(found) {
  const error = found.error;
  if (error) {
    const where = error.line ? `, line ${error.line}, column ${error.column}` : "";
    problem.replaceChildren(h("b", {}, `${error.code}${where}: `), error.message, error.hint ? h("span", { class: "hint" }, ` ${error.hint}`) : "");
    problem.className = "problem bad";
  } else {
    problem.replaceChildren(...(found.warnings || []).map((warning) => h("div", {}, warning)));
    problem.className = "problem";
  }
}

// An error that running brought.
export function refuse(error) {
  fault = error.line ? error : null;
  tell({ error });
  place();
  say(`${error.code} ${error.message}`, true);
}

// ------------------------------------------------------------------------------------------------- completion

const complete = latest(
  async ({ query, at }) => ({ query, at, found: await post("complete", { query, at: [...query.slice(0, at)].length }) }),
  ({ query, at, found }) => {
    if (text.value !== query || text.selectionEnd !== at) return;
    offered = { from: units(query, found.from), at, choices: found.choices };
    chosen = 0;
    show();
  },
  () => close(),
);

function show() {
  choices.hidden = !offered || !offered.choices.length;
  place();
  text.setAttribute("aria-expanded", String(!choices.hidden));
  if (choices.hidden) return;
  choices.replaceChildren(
    ...offered.choices.map(([word, kind, about], at) =>
      h("li", { role: "option", id: `choice-${at}`, "aria-selected": String(at === chosen), onmousedown: (event) => { event.preventDefault(); take(at); } },
        h("span", { class: `kind k-${kind}`, "aria-hidden": "true" }, kind[0]), h("span", { class: "word" }, word), h("span", { class: "about" }, about || kind)),
    ),
  );
  const { x, y } = rectangle(offered.from);
  choices.style.left = `${Math.min(x, Math.max(0, $("code").clientWidth - 300))}px`;
  choices.style.top = `${y + 2}px`;
  text.setAttribute("aria-activedescendant", `choice-${chosen}`);
}

function move(by) {
  choices.children[chosen]?.setAttribute("aria-selected", "false");
  chosen = (chosen + by + offered.choices.length) % offered.choices.length;
  choices.children[chosen].setAttribute("aria-selected", "true");
  choices.children[chosen].scrollIntoView({ block: "nearest" });
  text.setAttribute("aria-activedescendant", `choice-${chosen}`);
}

function take(at) {
  const [word, kind] = offered.choices[at];
  const ending = kind === "function" ? "()" : "";
  text.setRangeText(word + ending, offered.from, text.selectionEnd, "end");
  if (ending) text.selectionStart = text.selectionEnd = text.selectionEnd - 1;
  close();
  changed();
}

function close() {
  offered = null;
  choices.hidden = true;
  place();
  text.setAttribute("aria-expanded", "false");
  text.removeAttribute("aria-activedescendant");
}

const ask = () => complete({ query: text.value, at: text.selectionEnd });

text.addEventListener("input", (event) => {
  changed();
  const before = text.value.slice(0, text.selectionEnd);
  if (event.inputType !== "insertFromPaste" && /(?:\/|\$|stream\(["']|[\w-]{2})$/.test(before)) ask();
  else close();
});
text.addEventListener("blur", () => setTimeout(close, 150));
text.addEventListener("keydown", (event) => {
  if (event.key === " " && event.ctrlKey) {
    event.preventDefault();
    ask();
  } else if (!choices.hidden) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if ((event.key === "Enter" && !event.ctrlKey && !event.metaKey) || event.key === "Tab") {
      event.preventDefault();
      take(chosen);
    } else if (event.key === "Escape") {
      event.preventDefault();
      close();
    }
  }
});
