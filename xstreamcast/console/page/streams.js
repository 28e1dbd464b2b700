// One stream: its figures, its structure as a tree, and T at any number of its log.

import { $, bytes, h, instant, number, rate } from "./dom.js";
import { get, latest } from "./api.js";
import * as documents from "./documents.js";
import * as timeline from "./timeline.js";

let current = "", known = "";

const KINDS = { temporal: "versions in time", event: "events", filler: "fragments of its own", snapshot: "inside its parent" };

function branch(tag) {
  const label = [h("span", { class: "x-tag" }, tag.name || "(no root)"),
    tag.type && tag.type !== "snapshot" ? h("span", { class: `kind-note ${tag.type}`, title: KINDS[tag.type] }, tag.type) : "",
    tag.again ? h("span", { class: "hint" }, " again") : ""];
  if (!tag.children.length) return h("li", {}, h("span", { class: "leaf" }, ...label));
  return h("li", {}, h("details", { open: true }, h("summary", {}, ...label), h("ul", {}, ...tag.children.map(branch))));
}

const document = latest(
  async ({ name, n, compare }) =>
    compare === null ? { n: await get(`streams/${name}/at?n=${n}`) } : { two: await get(`streams/${name}/between?from=${compare}&to=${n}`) },
  ({ n, two }, asked) => {
    if (asked.name !== current) return;
    if (two) {
      documents.between($("stream-document"), two);
      $("stream-summary").textContent = `from N ${number(two.from)} to N ${number(two.to)}`;
    } else {
      documents.show($("stream-document"), n);
      $("stream-summary").textContent = `N ${number(n.n)}${n.now ? `, ${instant(n.now)}` : ""}, ${bytes(n.size)}`;
    }
  },
  (fault) => documents.fail($("stream-document"), fault),
);

export async function open(name) {
  current = name;
  known = "";
  $("stream-title").textContent = name;
  $("tree").replaceChildren();
  const found = await get(`streams/${encodeURIComponent(name)}`);
  if (current !== name) return;
  update([found]);
  $("tree").replaceChildren(found.tree ? h("ul", { class: "tree" }, branch(found.tree)) : h("p", { class: "empty" }, "It has no structure yet."));
  timeline.begin({ first: 0, last: found.head, moments: null }, (state) => {
    $("moment").textContent = state.live ? `live, N ${number(state.moment)}` : state.compare === null ? `N ${number(state.moment)}` : `N ${number(state.compare)} to N ${number(state.moment)}`;
    document({ name, n: state.moment, compare: state.compare });
  });
}

export function close() {
  current = "";
}

export function update(streams) {
  const one = streams.find((stream) => stream.name === current);
  if (!one) return;
  const figure = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  $("stream-hint").textContent = one.ended ? "ended" : `${rate(one.rate)}`;
  $("stream-figures").replaceChildren(
    figure("records", number(one.head)), figure("current", number(one.current)), figure("log", bytes(one.bytes)),
    figure("listeners", number(one.listeners)), figure("slowest is behind", bytes(one.waiting)), figure("dropped", number(one.dropped)),
    figure("repeats missed", number(one.missed)), figure("without effect", number(one.without_effect)), figure("refused", number(one.refused_count)),
    figure("carousel's cycle", `${Math.round(one.cycle.seconds)} s`));
  const state = timeline.state();
  if (known !== "" && one.head !== known) {
    timeline.grow({ first: 0, last: one.head });
    if (state.live) {
      $("moment").textContent = `live, N ${number(one.head)}`;
      document({ name: current, n: one.head, compare: null });
    }
  }
  known = one.head;
}
