// The left side: streams with their rates, queries with their states, and queries that run elsewhere.

import { $, bytes, h, keyed, number, plural, rate, sparkline } from "./dom.js";

function card(open) {
  return (entry) => {
    const made = h("li", {}, h("button", { type: "button", class: "card-button" }));
    made.firstChild.addEventListener("click", () => open(made.dataset.key));
    return made;
  };
}

function fill(child, current, ...parts) {
  const button = child.querySelector("button, .card-button");
  button.replaceChildren(...parts.filter(Boolean));
  if (current) button.setAttribute("aria-current", "true");
  else button.removeAttribute("aria-current");
}

const note = (text, kind = "") => h("span", { class: `note ${kind}` }, text);

export function streams(found, selected, open) {
  keyed($("streams"), found.map((one) => ({ key: one.name, one })), card(open), (child, { one }) => {
    const lost = one.dropped + one.missed;
    fill(child, selected === one.name,
      h("span", { class: "first" }, h("b", {}, one.name), one.ended ? h("span", { class: "pill" }, "ended") : h("span", { class: "big" }, rate(one.rate))),
      sparkline(one.recent, `${rate(one.rate)} of late`),
      h("span", { class: "notes" }, note(`N ${number(one.head)}`), note(plural(one.listeners, "listener")),
        one.waiting ? note(`${bytes(one.waiting)} behind`, "warn") : null, lost ? note(`${number(lost)} dropped`, "warn") : null,
        one.refused_count ? note(`${number(one.refused_count)} refused`, "bad") : null));
  });
  empty("streams", found, "No stream yet. Publish one, or start the server with --stream.");
}

export function queries(found, selected, open) {
  keyed($("queries"), found.map((one) => ({ key: one.id, one })), card(open), (child, { one }) => {
    const text = one.query.trim().replace(/\s+/g, " ");
    fill(child, selected === one.id,
      h("span", { class: "first" }, h("b", {}, one.id), h("span", { class: `pill ${one.state}` }, one.state)),
      h("span", { class: "excerpt" }, text.length > 90 ? `${text.slice(0, 89)}…` : text),
      h("span", { class: "notes" }, note(plural(one.shown, "item")), note(bytes(one.memory)),
        note(rate(one.rate)), one.behind > 200 ? note(`${number(one.behind)} behind`, "warn") : null,
        one.recomputed ? note("computed anew", "warn") : null));
  });
  empty("queries", found, "None yet. Write one and run it.");
}

export function reports(found) {
  $("elsewhere").hidden = !found.length;
  const make = () => h("li", {}, h("div", { class: "card-button still" }));
  keyed($("reports"), found.map((one) => ({ key: one.name, one })), make, (child, { one }) => {
    const text = String(one.query || "").trim().replace(/\s+/g, " ");
    fill(child, false,
      h("span", { class: "first" }, h("b", {}, one.name), h("span", { class: `pill ${one.state || ""}` }, one.engine || "")),
      text ? h("span", { class: "excerpt" }, text.length > 90 ? `${text.slice(0, 89)}…` : text) : null,
      sparkline(one.recent || [], "rows of late"),
      h("span", { class: "notes" },
        one.batches !== undefined ? note(plural(one.batches, "batch").replace("batchs", "batches")) : null,
        one.rows !== undefined ? note(`${number(one.rows)} rows`) : null,
        one.rate !== undefined ? note(rate(one.rate)) : null,
        one.lag !== undefined ? note(`lag ${Number(one.lag).toFixed(1)} s`) : null,
        one.state_rows !== undefined ? note(`${number(one.state_rows)} of state, ${bytes(one.state_bytes || 0)}`) : null,
        one.shown !== undefined ? note(plural(one.shown, "item")) : null,
        one.failure ? note(String(one.failure).slice(0, 120), "bad") : null));
  });
}

function empty(id, found, text) {
  const list = $(id);
  if (!found.length) list.replaceChildren(h("li", { class: "none" }, text));
  else list.querySelector(".none")?.remove();
}
