// XML as it is shown: its tags, names and values in colours. A text that is no XML is text.

import { h } from "./dom.js";

const PIECE = /(<!--[\s\S]*?-->)|(<\/?)([^\s/>=]+)((?:\s+[^\s=>]+\s*=\s*(?:"[^"]*"|'[^']*'))*)(\s*\/?>)|([^<]+|<)/g;
const ATTRIBUTE = /(\s+)([^\s=>]+)(\s*=\s*)("[^"]*"|'[^']*')/g;

export function painted(text) {
  const made = document.createDocumentFragment();
  for (const [, comment, open, name, attributes, close, plain] of text.matchAll(PIECE)) {
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
