// Elements and words. Text is only ever put in as text, never as markup.

export const $ = (id) => document.getElementById(id);

export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const plain = new Intl.NumberFormat("en");

export const number = (value) => plain.format(value);

export function rate(value) {
  return `${value >= 10 ? number(Math.round(value)) : value.toFixed(value ? 1 : 0)}/s`;
}

export function bytes(value) {
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (value < 1024 || unit === "GB") return `${value < 10 && unit !== "B" ? value.toFixed(1) : Math.round(value)} ${unit}`;
    value /= 1024;
  }
  return "";
}

export const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

export const instant = (text) => text.replace("T", " ");

export function sparkline(values, label) {
  const width = 96, height = 20, most = Math.max(1, ...values);
  const made = svg("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label });
  if (values.length > 1) {
    const x = (at) => width - (values.length - 1 - at) * (width / 59);
    const y = (value) => height - 2 - (value / most) * (height - 4);
    const points = values.map((value, at) => `${x(at).toFixed(1)} ${y(value).toFixed(1)}`);
    made.append(svg("path", { class: "under", d: `M${x(0).toFixed(1)} ${height}L${points.join("L")}L${width} ${height}Z` }));
    made.append(svg("path", { class: "over", d: `M${points.join("L")}` }));
  }
  return made;
}

// The children of a list become those of some keys, in order; one that stays is the same element.
export function keyed(list, entries, make, update) {
  const known = new Map([...list.children].map((child) => [child.dataset.key, child]));
  let last = null;
  for (const entry of entries) {
    let child = known.get(entry.key);
    if (child) known.delete(entry.key);
    else {
      child = make(entry);
      child.dataset.key = entry.key;
    }
    update(child, entry);
    const place = last ? last.nextSibling : list.firstChild;
    if (child !== place) list.insertBefore(child, place);
    last = child;
  }
  for (const child of known.values()) child.remove();
}

const PAUSE = 4000;
let heard = 0, waiting = null;

// For who cannot see it: at most a sentence every few seconds, and always the last one.
export function say(text, urgent = false) {
  clearTimeout(waiting);
  const left = urgent ? 0 : heard + PAUSE - Date.now();
  waiting = setTimeout(() => { heard = Date.now(); $("heard").textContent = text; }, Math.max(0, left));
}
