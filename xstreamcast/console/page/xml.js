// XML as it is shown: its tags, names and values in colours. A text that is no XML is text.

import { h } from "./dom.js";

const PIECE = /(<!--[\s\S]*?-->)|(<\/?)([^\s/>=]+)((?:\s+[^\s=>]+\s*=\s*(?:"[^"]*"|'[^']*'))*)(\s*\/?>)|([^<]+|<)/g;
const ATTRIBUTE = /(\s+)([^\s=>]+)(\s*=\s*)("[^"]*"|'[^']*')/g;

// With lines, an element that stands right beside another begins a line. The text itself stays as it is: lines are styles.
export function painted(text, lines = false) {
  const made = document.createDocumentFragment();
  let depth = 0, before = ""; // the piece before, if it was a tag: one that opens, or one that closes
  for (const [, comment, open, name, attributes, close, plain] of text.matchAll(PIECE)) {
    const ends = open === "</", empty = close?.includes("/");
    if (ends) depth -= 1;
    if (lines && open && before && (!ends || before === "closes")) {
      made.append(h("span", { class: "turn", "data-turn": `\n${"  ".repeat(Math.max(0, depth))}` }));
    }
    if (open && !ends && !empty) depth += 1;
    before = !open ? "" : ends || empty ? "closes" : "opens";
    if (comment) made.append(h("span", { class: "x-comment" }, comment));
    else if (plain) made.append(plain);
    else {
      made.append(h("span", { class: "x-sign" }, open), h("span", { class: "x-tag" }, name));
      for (const [, space, key, equals, value] of attributes.matchAll(ATTRIBUTE)) {
        made.append(space, h("span", { class: "x-name" }, key), h("span", { class: "x-sign" }, equals), h("span", { class: "x-value" }, value));
      }
      made.append(h("span", { class: "x-sign" }, close));
    }
  }
  return made;
}
