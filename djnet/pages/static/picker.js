// Another part of a song: a span on its waveform, from downbeat to downbeat.
import { listen } from "./listen.js";
import { song as described } from "./server.js";

const { element, announce } = dom;
const EDGE_PIXELS = 14; // from where on an edge is meant, not the whole span

// Show the picker of a clip in a box; `choose(start, end)` is told of the part that was picked.
export async function showPicker(box, clip, hue, choose, fail) {
  const song = await described(clip.song);
  const { edges } = song;
  let [first, last] = [nearest(edges, clip.start), nearest(edges, clip.end)];
  last = Math.max(last, first + 1);
  let heard = -1;
  const canvas = element("canvas");
  const says = () => `${wave.clock(edges[first])} to ${wave.clock(edges[last])}, ${last - first} ${last - first === 1 ? "bar" : "bars"}`;
  const slider = element("div", {
    class: "song-wave", role: "slider", tabindex: "0", "aria-label": `Part of ${song.name}`, "data-key": "wave",
    "aria-valuemin": "0", "aria-valuemax": String(edges.length - 2), "aria-describedby": "picker-help",
  }, canvas);
  const span = element("p", { class: "span" });

  function draw() {
    const place = wave.fit(canvas);
    const { brush, width, height, ratio } = place;
    const x = (time) => time / song.seconds * width;
    const ink = getComputedStyle(canvas).color;
    brush.fillStyle = wave.colour(hue, 0.18);
    brush.fillRect(x(edges[first]), 0, x(edges[last]) - x(edges[first]), height);
    const inside = wave.colour(hue);
    const outside = wave.colour(hue, 0.35);
    wave.bars(place, song.wave, song.points, 0, song.seconds, 8 * ratio, height - 12 * ratio,
      (time) => (time >= edges[first] && time <= edges[last] ? inside : outside));
    brush.fillStyle = ink;
    brush.globalAlpha = 0.4;
    const every = Math.max(1, Math.ceil(edges.length * 3 * ratio / width));
    edges.forEach((time, i) => { if (i % every === 0) brush.fillRect(x(time), height - 6 * ratio, ratio, 6 * ratio); });
    brush.globalAlpha = 1;
    for (const edge of [first, last]) brush.fillRect(x(edges[edge]) - ratio, 0, 2 * ratio, height);
    if (heard >= 0) brush.fillRect(x(edges[first] + heard * (edges[last] - edges[first])), 0, ratio, height);
    span.textContent = says();
    slider.setAttribute("aria-valuenow", String(first));
    slider.setAttribute("aria-valuetext", says());
  }

  function set(from, to) {
    const bars = Math.max(1, to - from);
    first = Math.min(Math.max(0, from), edges.length - 1 - Math.min(bars, edges.length - 1));
    last = Math.min(first + bars, edges.length - 1);
    draw();
  }

  function pick(from, to) {
    set(from, to);
    announce(says());
    choose(edges[first], edges[last]);
  }

  // ---- mouse and finger ----

  let drag = null; // {what: "first", "last" or "both", at, from, to}
  const at = (event) => {
    const area = canvas.getBoundingClientRect();
    return (event.clientX - area.left) / area.width * song.seconds;
  };
  slider.addEventListener("pointerdown", (event) => {
    const time = at(event);
    const close = EDGE_PIXELS / canvas.clientWidth * song.seconds;
    const what = Math.abs(time - edges[first]) < close ? "first" : Math.abs(time - edges[last]) < close ? "last" : "both";
    if (what === "both" && (time < edges[first] || time > edges[last])) {
      const bars = last - first;
      set(nearest(edges, time) - (bars >> 1), nearest(edges, time) - (bars >> 1) + bars);
    }
    drag = { what, at: time, from: first, to: last };
    slider.setPointerCapture(event.pointerId);
  });
  slider.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const time = at(event);
    if (drag.what === "first") set(Math.min(nearest(edges, time), drag.to - 1), drag.to);
    else if (drag.what === "last") set(drag.from, Math.max(nearest(edges, time), drag.from + 1));
    else {
      const begin = nearest(edges, edges[drag.from] + time - drag.at);
      set(begin, begin + drag.to - drag.from);
    }
  });
  slider.addEventListener("pointerup", () => {
    if (drag) pick(first, last);
    drag = null;
  });

  // ---- keyboard and buttons ----

  const steps = {
    earlier: () => pick(first - 1, last - 1), later: () => pick(first + 1, last + 1),
    shorter: () => pick(first, last - 1), longer: () => pick(first, last + 1),
  };
  slider.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: ["earlier", "shorter"], ArrowRight: ["later", "longer"] }[event.key]?.[Number(event.shiftKey)];
    if (!step) return;
    event.preventDefault();
    steps[step]();
  });
  const button = (label, name, press) => element("button", {
    type: "button", class: "button small", "data-key": name, onclick: press,
  }, label);
  const play = element("button", { type: "button", class: "play", "aria-label": "Hear this part", "data-key": "hear part" });
  play.addEventListener("click", () => {
    const address = `part?song=${song.id}&start=${edges[first]}&end=${edges[last]}`;
    listen(play, address, (share) => { heard = share; draw(); }).catch(fail);
  });
  box.replaceChildren(
    element("h2", { id: "picker-title" }, song.name),
    element("div", { class: "picker-head" }, play, span),
    slider,
    element("p", { class: "remark", id: "picker-help" },
      "Drag the span or its edges; it snaps to downbeats. Arrow keys move it by a bar, with Shift they change its length."),
    element("div", { class: "row" },
      button("◀ bar", "earlier", steps.earlier), button("bar ▶", "later", steps.later),
      button("− bar", "shorter", steps.shorter), button("+ bar", "longer", steps.longer)),
    element("h3", {}, "Suggested parts"),
    element("div", { class: "row" }, ...song.suggestions.map(([start, end], i) =>
      button(`${wave.clock(start)} to ${wave.clock(end)}`, `suggestion ${i}`, () => pick(nearest(edges, start), nearest(edges, end))))),
  );
  new ResizeObserver(draw).observe(slider);
}

export function nearest(times, time) {
  let best = 0;
  times.forEach((one, i) => { if (Math.abs(one - time) < Math.abs(times[best] - time)) best = i; });
  return best;
}
