// T at a moment, and what changed in it between two: its lines, and the changes of the log.

import { bytes, h, instant, number, plural } from "./dom.js";
import { painted } from "./xml.js";

export function show(panel, found) {
  const notes = found.cut ? h("p", { class: "hint" }, `The beginning of ${bytes(found.size)}.`) : null;
  panel.replaceChildren(...[found.text ? h("pre", { class: "document" }, painted(found.text)) : h("p", { class: "empty" }, "There is no document yet."), notes].filter(Boolean));
}

export function between(panel, found) {
  const kinds = { "+": "plus", "-": "minus", "@": "at" };
  const lines = found.lines.map((line) => h("div", { class: kinds[line[0]] || "" }, line[0] === "@" ? "⋯" : line || " "));
  const rows = found.changes.map((one) => h("tr", {},
    h("td", { class: "number" }, number(one.n)), h("td", {}, h("span", { class: `change ${one.kind}` }, one.kind)),
    h("td", {}, one.path || `region ${one.region}`), h("td", {}, instant(one.time)), h("td", {}, h("code", {}, painted(one.content)))));
  panel.replaceChildren(
    found.lines.length ? h("pre", { class: "document difference", "aria-label": "Lines that differ" }, ...lines) : h("p", { class: "empty" }, "The document is the same at both moments."),
    rows.length ? h("details", { open: true },
      h("summary", {}, `${plural(found.of, "record")} of the log${found.of > rows.length ? `, the first ${rows.length}` : ""}`),
      h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ...["N", "change", "where", "when", "what"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, ...rows)))) : "",
  );
}

export function fail(panel, fault) {
  panel.replaceChildren(h("p", { class: "problem bad" }, h("b", {}, fault.code || ""), ` ${fault.message} `, h("span", { class: "hint" }, fault.hint || "")));
}
