// What a query keeps: memory, regions of its streams, members of its operators, how long the past is kept.

import { $, bytes, h, number } from "./dom.js";

const panel = $("state");

function table(title, head, rows) {
  if (!rows.length) return null;
  return h("div", { class: "scroll" }, h("table", {},
    h("caption", {}, title),
    h("thead", {}, h("tr", {}, ...head.map((name, at) => h("th", { scope: "col", class: typeof rows[0][at] === "number" ? "number" : "" }, name)))),
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell, at) => h(at ? "td" : "th", at ? { class: typeof cell === "number" ? "number" : "" } : { scope: "row" }, typeof cell === "number" ? number(cell) : String(cell ?? "–"))))))));
}

export function show(query, state) {
  if (!query) {
    panel.replaceChildren(h("p", { class: "empty" }, "A query that runs has a state."));
    return;
  }
  const figure = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  const streams = Object.entries(state?.streams || {});
  const retained = Object.entries(state?.retention || {}).flatMap(([name, tags]) => Object.entries(tags).map(([tag, keep]) => [`${name} ${tag}`, keep]));
  panel.replaceChildren(...[
    h("dl", { class: "figures" },
      figure("state", query.state), figure("memory of its process", bytes(query.memory)), figure("contents kept", bytes(query.kept)),
      figure("records taken in", number(query.taken)), figure("behind", number(query.behind)), figure("changes told", number(query.told)),
      figure("evaluations", state?.evaluated === null || state?.evaluated === undefined ? "–" : number(state.evaluated))),
    query.fault ? h("p", { class: "problem bad" }, h("b", {}, query.fault.code), ` ${query.fault.message} `, h("span", { class: "hint" }, query.fault.hint)) : null,
    state?.recomputed ? h("p", { class: "problem" }, `Computed anew: ${state.recomputed}`) : null,
    table("Streams", ["stream", "regions", "bytes", "changes", "opened", "skipped", "let go"],
      streams.map(([name, one]) => [name, one.regions, one.bytes, one.changes, one.opened ?? 0, one.skipped, one.discarded])),
    table("Operators", ["operator", "stream", "members"], (state?.operators || []).map((one) => [one.operator, one.stream, one.members])),
    table("How long the past is kept", ["tag", "kept"], retained),
    state?.warnings?.length ? h("div", {}, h("h3", {}, "Odd"), h("ul", {}, ...state.warnings.slice(-20).map((text) => h("li", {}, text)))) : null,
  ].filter(Boolean));
}
