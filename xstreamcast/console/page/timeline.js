// The time line: any moment of the past, and a second one to compare with. It follows the present while it is live.

import { $, number, svg } from "./dom.js";

const BINS = 240;
const line = $("line"), at = $("at"), from = $("from");
let first = 0, last = 0, moments = [], live = true, listener = null; // without moments every record is a change

export const state = () => ({ live, moment: live ? last : Number(at.value), compare: $("comparing").checked ? Number(from.value) : null });

export function begin(found, told) {
  listener = told;
  moments = found.moments;
  live = true;
  $("comparing").checked = false;
  line.hidden = false;
  grow(found);
  settle();
}

export function end() {
  line.hidden = true;
  listener = null;
}

// There is more of it; a moment in the past stays where it is.
export function grow(found) {
  first = found.first;
  last = Math.max(found.last, found.first);
  if (found.moments) moments = found.moments;
  for (const slider of [at, from]) {
    slider.min = first;
    slider.max = last;
  }
  if (live) at.value = last;
  draw();
}

export function changed(moment) {
  if (moments && moments.at(-1) !== moment) moments.push(moment);
}

function draw() {
  $("first").textContent = number(first);
  $("last").textContent = number(last);
  const bins = new Array(BINS).fill(0), span = Math.max(1, last - first);
  for (const moment of moments || []) {
    const bin = Math.floor(((moment - first) / span) * (BINS - 1));
    if (bin >= 0 && bin < BINS) bins[bin] += 1;
  }
  const most = Math.max(1, ...bins);
  $("density").replaceChildren(...bins.flatMap((count, bin) => {
    if (!count) return [];
    const high = 3 + 23 * Math.sqrt(count / most);
    return [svg("rect", { x: bin, y: (28 - high).toFixed(1), width: 0.8, height: high.toFixed(1) })];
  }));
  at.setAttribute("aria-valuetext", live ? `live, ${number(last)} records` : `${number(Number(at.value))} of ${number(last)} records`);
}

function settle() {
  $("live").setAttribute("aria-pressed", String(live));
  from.hidden = !$("comparing").checked;
  line.classList.toggle("past", !live);
  draw();
  listener?.(state());
}

function go(moment, isLive = false) {
  live = isLive;
  at.value = live ? last : Math.min(last, Math.max(first, moment));
  settle();
}

at.addEventListener("input", () => go(Number(at.value), Number(at.value) >= last && !$("comparing").checked));
from.addEventListener("input", settle);
$("live").addEventListener("click", () => {
  $("comparing").checked = false;
  go(last, true);
});
$("comparing").addEventListener("change", () => {
  if ($("comparing").checked) {
    const now = Number(at.value);
    from.value = moments?.findLast((moment) => moment < now) ?? Math.floor((first + now) / 2); // the change before
    live = false;
  }
  settle();
});
$("earlier").addEventListener("click", () => {
  const now = live ? last + 1 : Number(at.value);
  go(moments ? (moments.findLast((moment) => moment < now) ?? first) : now - 1);
});
$("later").addEventListener("click", () => {
  const now = Number(at.value), next = moments ? moments.find((moment) => moment > now) : now < last ? now + 1 : undefined;
  go(next ?? last, next === undefined && !$("comparing").checked);
});
document.addEventListener("keydown", (event) => {
  if (line.hidden || event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "[") $("earlier").click();
  if (event.key === "]") $("later").click();
  if (event.key === "l") $("live").click();
});
