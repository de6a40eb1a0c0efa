// Lists whose items are dragged by mouse or finger, or moved with the arrow keys; and the curve of energy below.

const START_PIXELS = 6; // from where on a press is a drag
const KEYS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity };

// `items()` are the elements in their order; `grip` chooses where in an item a drag may begin; `move(from, to)` is told.
export function sortable(list, { axis, grip, items, move }) {
  const edge = axis === "x" ? ["left", "width", "clientX"] : ["top", "height", "clientY"];
  let drag = null; // {item, from, to, start, moved}

  function target(event) {
    const others = items().filter((item) => item !== drag.item);
    const before = others.filter((item) => {
      const box = item.getBoundingClientRect();
      return box[edge[0]] + box[edge[1]] / 2 < event[edge[2]];
    });
    return before.length;
  }

  function mark() {
    const others = items().filter((item) => item !== drag.item);
    for (const item of others) item.classList.remove("before", "after");
    if (drag.to === drag.from) return;
    if (drag.to < others.length) others[drag.to].classList.add("before");
    else others.at(-1)?.classList.add("after");
  }

  function end(event) {
    if (!drag) return;
    const { item, from, to, moved } = drag;
    for (const one of items()) one.classList.remove("before", "after", "dragging");
    item.style.transform = "";
    drag = null;
    if (!moved || !item.isConnected) return;
    list.addEventListener("click", (click) => click.stopPropagation(), { capture: true, once: true });
    setTimeout(() => list.dispatchEvent(new Event("click")), 0); // or the next real click would be lost
    if (event.type === "pointerup" && to !== from) move(from, to);
  }

  list.addEventListener("pointerdown", (event) => {
    const item = items().find((one) => one.contains(event.target));
    if (!item || event.button !== 0 || !event.target.closest(grip)) return;
    const from = items().indexOf(item);
    drag = { item, from, to: from, start: [event.clientX, event.clientY], moved: false };
  });
  window.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const [x, y] = [event.clientX - drag.start[0], event.clientY - drag.start[1]];
    if (!drag.moved && Math.hypot(x, y) < START_PIXELS) return;
    drag.moved = true;
    event.preventDefault();
    drag.item.classList.add("dragging");
    drag.item.style.transform = axis === "x" ? `translateX(${x}px)` : `translateY(${y}px)`;
    drag.to = target(event);
    mark();
  });
  for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, end);
  list.addEventListener("keydown", (event) => {
    const item = items().find((one) => one.contains(event.target));
    if (!item || !(event.key in KEYS) || !event.target.closest(grip)) return;
    const from = items().indexOf(item);
    const to = Math.min(Math.max(from + KEYS[event.key], 0), items().length - 1);
    event.preventDefault();
    if (to !== from) move(from, to);
  });
}

// Why a clip may not go from one place to another, or nothing: locked ends stay.
export function forbidden(plan, from, to) {
  const last = plan.clips.length - 1;
  if (plan.first && Math.min(from, to) === 0) return "The first song is locked: unlock it to move it.";
  if (plan.last && Math.max(from, to) === last) return "The last song is locked: unlock it to move it.";
  return "";
}

// Put the clips in another order; what was asked of a join is kept where its two songs still meet.
export function reorder(plan, clips) {
  const before = new Map(plan.clips.map((clip, i) => [clip.song, plan.clips[i - 1]?.song]));
  plan.clips = clips.map((clip, i) => {
    const same = i > 0 && before.get(clip.song) === clips[i - 1].song;
    return same ? clip : { ...clip, transition: null, bars: null, tied: false };
  });
}

export function moved(clips, from, to) {
  const rest = clips.toSpliced(from, 1);
  return rest.toSpliced(to, 0, clips[from]);
}

// A curve of energy, a value a second from 0 to 1, on a canvas as wide as the time line.
export function drawEnergy(canvas, curve = []) {
  const { brush, width, height, ratio } = wave.fit(canvas);
  if (curve.length < 2) return;
  const y = (value) => height - 2 * ratio - value * (height - 4 * ratio);
  brush.strokeStyle = brush.fillStyle = getComputedStyle(canvas).color;
  brush.lineWidth = 2 * ratio;
  brush.beginPath();
  curve.forEach((value, i) => brush.lineTo(i / (curve.length - 1) * width, y(value)));
  brush.stroke();
  brush.globalAlpha = 0.12;
  brush.lineTo(width, height);
  brush.lineTo(0, height);
  brush.fill();
  brush.globalAlpha = 1;
}
