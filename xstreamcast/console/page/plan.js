// The plan as a picture, drawn by the server; the counts on its arrows are alive.

import { $, h, number } from "./dom.js";

const panel = $("plan");

export function show(found) {
  if (!found || found.error) {
    panel.replaceChildren(h("p", { class: "empty" }, "A query without errors has a plan."));
    return;
  }
  const picture = document.importNode(new DOMParser().parseFromString(found.svg, "image/svg+xml").documentElement, true);
  panel.replaceChildren(
    h("div", { class: "picture" }, picture),
    h("p", { class: "legend" },
      h("span", { class: "key pipeline" }, "pipeline: hands on as it goes"),
      h("span", { class: "key progressive" }, "progressive: from a small state"),
      h("span", { class: "key blocking" }, "blocking: keeps what it reads")),
    h("details", {}, h("summary", {}, "In words"), h("pre", { class: "words" }, found.explanation)),
  );
  fit(picture);
}

// As large as there is room, down to a size at which it can still be read; then it is scrolled.
function fit(picture) {
  const { width, height } = picture.viewBox.baseVal;
  const scale = Math.min(1, Math.max(0.62, panel.clientWidth / width));
  if (!panel.clientWidth) return;
  picture.setAttribute("width", width * scale);
  picture.setAttribute("height", height * scale);
}

export function fitted() {
  const picture = panel.querySelector("svg.plan");
  if (picture) fit(picture);
}

addEventListener("resize", fitted);

export function counts(found) {
  for (const place of panel.querySelectorAll("[data-edge]")) {
    const count = found[place.dataset.edge];
    const text = count === undefined ? "" : number(count);
    if (place.textContent !== text) {
      place.textContent = text;
      place.classList.remove("moved");
      void place.getBBox();
      place.classList.add("moved");
    }
  }
}
