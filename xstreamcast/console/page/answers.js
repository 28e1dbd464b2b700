// Answers that appear, change and vanish where they stand; and as they were; and what changed between two moments.

import { $, h, keyed, number, plural, say } from "./dom.js";
import { painted } from "./xml.js";

const GLOW = 1600, MOST = 300, LONG = 120; // milliseconds, items, characters of an item from which on it has lines
const panel = $("answers");
let items = new Map(), shown = 0, gone = new Map(), pending = false;
let list = null, present = true; // whether the answer as it is now is shown

export function reset(found, count) {
  items = new Map(found);
  gone = new Map();
  shown = count;
  if (present) draw(new Set(), new Set());
}

const ordered = () => [...items.keys(), ...gone.keys()].sort((one, other) => (one < other ? -1 : 1));

export function apply(changes, count) {
  const fresh = new Set(), other = new Set();
  let vanished = 0;
  for (const [label, text] of changes) {
    if (text === null) {
      if (items.has(label)) {
        gone.set(label, items.get(label));
        vanished += 1;
        setTimeout(() => { gone.delete(label); later(); }, GLOW);
      }
      items.delete(label);
    } else {
      (items.has(label) ? other : fresh).add(label);
      items.set(label, text);
      gone.delete(label);
    }
  }
  shown = count;
  if (!changes.length) return;
  if (present) draw(fresh, other);
  const words = [[fresh.size, "appeared"], [other.size, "changed"], [vanished, "vanished"]].filter(([many]) => many);
  say(`${words.map(([many, word]) => `${many} ${word}`).join(", ")}; ${plural(shown, "item")}`);
}

function later() {
  if (!pending) {
    pending = true;
    requestAnimationFrame(() => { pending = false; if (present) draw(new Set(), new Set()); });
  }
}

const lined = (text) => painted(text, text.length > LONG);

function item(text) {
  return h("li", { class: "item" }, h("code", {}, lined(text)));
}

function mark(child, word) {
  child.classList.remove("new", "changed");
  void child.offsetWidth; // so that it glows again
  child.classList.add(word);
}

function draw(fresh, other) {
  if (!items.size && !gone.size) {
    list = null;
    panel.replaceChildren(h("p", { class: "empty" }, "The answer is empty."));
    return;
  }
  if (!list || !list.isConnected) {
    list = h("ol", { class: "items", "aria-label": "Items of the answer" });
    panel.replaceChildren(list, h("p", { class: "more hint" }));
  }
  const labels = ordered().slice(0, MOST);
  keyed(list, labels.map((label) => ({ key: label, text: items.get(label) ?? gone.get(label) })),
    (entry) => item(entry.text),
    (child, entry) => {
      const code = child.firstChild;
      if (code.textContent !== entry.text) code.replaceChildren(lined(entry.text));
      child.classList.toggle("error", entry.key === "!");
      child.classList.toggle("gone", gone.has(entry.key));
      if (fresh.has(entry.key)) mark(child, "new");
      else if (other.has(entry.key)) mark(child, "changed");
    });
  panel.lastChild.textContent = shown > labels.length ? `… and ${number(shown - labels.length)} more` : "";
}

export function live() {
  present = true;
  list = null;
  draw(new Set(), new Set());
}

export function past(found) {
  present = false;
  panel.replaceChildren(found.items.length
    ? h("ol", { class: "items past", "aria-label": "Items of the answer then" }, ...found.items.slice(0, MOST).map(([label, text]) => {
        const made = item(text);
        if (label === "!") made.classList.add("error");
        return made;
      }))
    : h("p", { class: "empty" }, "The answer was empty then."));
}

export function between(found) {
  present = false;
  const part = (title, kind, rows) => rows.length
    ? h("section", { class: `part ${kind}` }, h("h3", {}, `${title} `, h("span", { class: "count" }, number(rows.length))), h("ol", { class: "items" }, ...rows))
    : null;
  const changed = found.changed.map(([, before, after]) =>
    h("li", { class: "item was" }, h("code", { class: "before" }, lined(before)), h("code", {}, lined(after))));
  const made = [
    part("Appeared", "new", found.appeared.map(([, text]) => item(text))),
    part("Changed", "changed", changed),
    part("Vanished", "gone", found.vanished.map(([, text]) => item(text))),
  ].filter(Boolean);
  panel.replaceChildren(...(made.length ? made : [h("p", { class: "empty" }, "The answer is the same at both moments.")]));
}

export function none(text) {
  items = new Map();
  gone = new Map();
  present = true;
  list = null;
  panel.replaceChildren(h("p", { class: "empty" }, text));
}
