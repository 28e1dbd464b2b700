// The time line: any moment of the past, and a second one to compare with. It follows the present while it is live.

import { $, number, svg } from "./dom.js";

const BINS = 240;
const line = $("line"), at = $("at"), from = $("from");
const MANY = 1000, MOSTLY = 4; // records; how many times as long as all changes the time before them is
let first = 0, last = 0, moments = [], live = true, listener = null; // without moments every record is a change
let whole = false; // whether the line begins with the first record, though the answer stayed empty for most of it

export const state = () => ({ live, moment: live ? last : Number(at.value), compare: $("comparing").checked ? Number(from.value) : null });

export function begin(found, told) {
  listener = told;
  moments = found.moments;
  live = true;
  whole = false;
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
  if (live) at.max = last, at.value = last;
  draw();
}

// A little before the first change, where many records came before it: a stream's bulk, of which nothing was told.
function late() {
  if (!moments?.length || last - first < MANY) return first;
  const span = last - moments[0];
  return moments[0] - first > MOSTLY * span ? Math.max(first, moments[0] - 1 - Math.ceil(span / 20)) : first;
}

function begins() {
  const moment = live ? last : Math.min(Number(at.value), $("comparing").checked ? Number(from.value) : last);
  return whole ? first : Math.min(late(), moment);
}

export function changed(moment) {
  if (moments && moments.at(-1) !== moment) moments.push(moment);
}

function draw() {
  const start = begins();
  $("whole").hidden = late() === first;
  $("whole").setAttribute("aria-pressed", String(whole));
  for (const slider of [at, from]) {
    slider.min = start;
    slider.max = last;
  }
  $("first").textContent = number(start);
  $("last").textContent = number(last);
  const bins = new Array(BINS).fill(0), span = Math.max(1, last - start);
  for (const moment of moments || []) {
    const bin = Math.floor(((moment - start) / span) * (BINS - 1));
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
$("whole").addEventListener("click", () => {
  whole = !whole;
  draw();
});
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
