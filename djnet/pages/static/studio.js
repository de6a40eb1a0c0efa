// The studio's page: shows the state that the server has, and asks it for changes.
import { drawExport, watchExport } from "./export.js";
import { watchFiles } from "./files.js";
import { listen } from "./listen.js";
import { showPicker } from "./picker.js";
import { ask, change, look, openReceipt, server, song as described, upload } from "./server.js";
import { drawEnergy, forbidden, moved, reorder, sortable } from "./timeline.js";

const { element, changed, announce } = dom;
const by = (id) => document.getElementById(id);
const LOOK_SECONDS = { busy: 0.7, calm: 4 }; // between looks at the server
let selected = null; // the song whose part is shown
let songs = new Map(); // id -> description, of those that were asked for
let uploading = 0;
let dismissed = "";

// ---- messages ----

function say(text) {
  const box = by("message");
  box.querySelector("p").textContent = text;
  box.hidden = !text;
}
const fail = (error) => say(error.message ?? String(error));
server.onerror = (text) => {
  changed("medley"); // what was refused is shown no more
  render();
  say(text);
};
by("message").querySelector("button").addEventListener("click", () => { dismissed = server.state?.notice ?? ""; say(""); });

// ---- small elements ----

function button(label, key, press, attributes = {}) {
  return element("button", { type: "button", class: "button small", "data-key": key, onclick: press, ...attributes }, label);
}

function choice(label, key, options, value, pick) {
  const made = element("select", { "aria-label": label, "data-key": key, onchange: () => pick(made.value) },
    ...options.map(([own, text]) => element("option", { value: own, selected: own === value }, text)));
  return made;
}

// A song has the colour of its place in the list of songs.
const colourOf = (id) => server.state.songs.findIndex((entry) => entry.id === id);

function coloured(made, id) {
  made.style.setProperty("--hue", (colourOf(id) * 137 + 200) % 360);
  return made;
}

const nameOf = (id) => songs.get(id)?.name ?? "A song that is not there";

// ---- changes ----

function move(from, to) {
  const { plan } = server.state;
  const why = forbidden(plan, from, to);
  if (why) {
    announce(why);
    say(why);
    return;
  }
  const name = nameOf(plan.clips[from].song);
  change((now) => reorder(now, moved(now.clips, from, to)));
  announce(`${name} at place ${to + 1} of ${plan.clips.length}.`);
}

function remove(id) {
  if (selected === id) selected = null;
  change((plan) => {
    const at = plan.clips.findIndex((clip) => clip.song === id);
    if (at === 0) plan.first = false;
    if (at === plan.clips.length - 1) plan.last = false;
    reorder(plan, plan.clips.filter((clip) => clip.song !== id));
  });
  announce(`${nameOf(id)} is out of the medley.`);
}

async function add(id) {
  const one = await described(id);
  const [start, end] = one.suggestions[0];
  change((plan) => {
    const place = plan.clips.length - (plan.last ? 1 : 0);
    reorder(plan, plan.clips.toSpliced(place, 0, { song: id, start, end, transition: null, bars: null, tied: false }));
  });
  announce(`${one.name} is in the medley.`);
}

function edit(id, values) {
  change((plan) => Object.assign(plan.clips.find((clip) => clip.song === id), values));
}

function select(id) {
  selected = id;
  render();
  if (matchMedia("(max-width: 60rem)").matches) by("picker").scrollIntoView({ block: "start" });
}

// ---- the medley ----

function clipCard(clip, i, layout) {
  const { plan } = server.state;
  const one = songs.get(clip.song);
  const place = layout?.clips[i];
  const facts = one
    ? [`${wave.clock(clip.start)} to ${wave.clock(clip.end)}`, place ? `${place.bars} bars` : "", one.bpm ? `${one.bpm} bpm` : "no clear beat", one.key]
    : ["its file is not here, or still being analysed"];
  const ends = [];
  if (i === 0) ends.push(["first", "Keep first"]);
  if (i === plan.clips.length - 1) ends.push(["last", "Keep last"]);
  const locks = ends.map(([end, label]) => button(label, `lock ${end}`, () => change((now) => { now[end] = !now[end]; }),
    { "aria-pressed": String(plan[end]) }));
  const name = nameOf(clip.song);
  const card = element("li", { class: `clip${clip.song === selected ? " selected" : ""}`, "data-song": clip.song },
    element("button", { type: "button", class: "handle", "data-key": `move ${clip.song}`, "aria-label": `Move ${name}: arrow keys`, title: "Drag, or arrow keys" }, "⠿"),
    element("div", { class: "clip-text" }, element("strong", {}, name),
      element("small", {}, [place ? `at ${wave.clock(place.begin)}` : "", ...facts].filter(Boolean).join(" · "))),
    element("div", { class: "acts" }, ...locks,
      button("Part", `part ${clip.song}`, () => select(clip.song), { "aria-label": `Part of ${name}`, disabled: !one, "aria-pressed": String(clip.song === selected) }),
      button("✕", `remove ${clip.song}`, () => remove(clip.song), { "aria-label": `Remove ${name}` })));
  return coloured(card, clip.song);
}

function joinRow(clip, i, layout) {
  const { plan, kinds, most_bars: most } = server.state;
  const join = layout?.joins[i - 1];
  const pair = `${nameOf(plan.clips[i - 1].song)} to ${nameOf(clip.song)}`;
  const transitions = [["", "Automatic"], ...kinds.map((kind) => [kind, kind])];
  const bars = [["", "bars: automatic"], ...Array.from({ length: most }, (_, n) => [String(n + 1), n ? `${n + 1} bars` : "1 bar"])];
  const hear = button("Hear", `hear ${i}`, () => listen(hear, `joins/${i - 1}`).catch(fail), { class: "button small hear", "aria-label": `Hear the join from ${pair}`, "aria-pressed": "false", disabled: !join });
  const row = element("li", { class: "join-line" },
    element("div", { class: "join-text" },
      element("p", { class: "how" }, join ? join.how : "…"),
      element("p", { class: "why" }, join ? [...join.why, `score ${join.score.toFixed(2)} of 1`].join(" · ") : "")),
    element("div", { class: "acts" },
      choice(`Transition from ${pair}`, `kind ${clip.song}`, transitions, clip.transition ?? "", (value) => edit(clip.song, { transition: value || null })),
      choice(`Bars from ${pair}`, `bars ${clip.song}`, bars, clip.bars === null ? "" : String(clip.bars), (value) => edit(clip.song, { bars: value ? Number(value) : null })),
      hear,
      button("Keep together", `tie ${clip.song}`, () => edit(clip.song, { tied: !clip.tied }), { "aria-pressed": String(clip.tied), "aria-label": `Keep together: ${pair}` })));
  return row;
}

function stripBlock(clip, i, layout) {
  const place = layout?.clips[i];
  const name = nameOf(clip.song);
  const block = element("li", { class: `block${clip.song === selected ? " selected" : ""}`, "data-song": clip.song },
    element("button", { type: "button", "data-key": `block ${clip.song}`, onclick: () => select(clip.song), title: name },
      element("span", {}, name), element("small", {}, place ? wave.clock(place.begin) : "")));
  block.style.setProperty("--long", place ? Math.max(0.5, place.end - place.begin) : 1);
  return coloured(block, clip.song);
}

// ---- the songs ----

function songRow(entry, inside) {
  const acts = [];
  if (entry.id && !inside.has(entry.id)) {
    acts.push(button("Add", `add ${entry.id}`, () => add(entry.id).catch(fail), { "aria-label": `Add ${nameOf(entry.id)} to the medley` }));
  }
  const says = { waiting: "waits", analysed: "is being analysed…", ready: inside.has(entry.id) ? "in the medley" : "ready", "left out": `left out: ${entry.reason}` };
  return element("li", { class: `file ${entry.state.replace(" ", "-")}` },
    element("div", {}, element("strong", {}, entry.id ? nameOf(entry.id) : entry.file), element("small", {}, says[entry.state])), ...acts);
}

function drawSongs() {
  if (!server.state) return;
  const { songs: entries, plan } = server.state;
  const inside = new Set(plan.clips.map((clip) => clip.song));
  if (changed("songs", entries, [...inside], songs.size)) {
    by("songs").replaceChildren(...entries.map((entry) => songRow(entry, inside)));
  }
  const open = entries.filter((entry) => ["waiting", "analysed"].includes(entry.state)).length;
  const parts = [];
  if (uploading) parts.push(`${uploading} still to be copied`);
  if (open) parts.push(`${entries.length - open} of ${entries.length} analysed`);
  const text = parts.join(", ");
  if (by("progress").textContent !== text) by("progress").textContent = text;
}

// ---- everything ----

async function fetchSongs() {
  const wanted = server.state.songs.filter((entry) => entry.id && !songs.has(entry.id));
  for (const entry of wanted) songs.set(entry.id, await described(entry.id));
  if (wanted.length) render();
}

function render() {
  const { state } = server;
  if (!state) return;
  const { plan, layout } = state;
  const ready = state.songs.filter((entry) => entry.id).length;
  const waiting = state.songs.some((entry) => ["waiting", "analysed"].includes(entry.state));
  const empty = !plan.clips.length;
  if (document.activeElement !== by("title")) by("title").value = plan.title;
  by("undo").disabled = !state.undo;
  by("redo").disabled = !state.redo;
  by("export").disabled = empty || !layout;
  by("order").disabled = plan.clips.length < 3 || !layout;
  by("welcome").hidden = !empty || state.songs.length > 0;
  by("ready").hidden = !empty || !state.songs.length;
  by("ready-title").textContent = waiting ? "Songs are being analysed" : `${ready} ${ready === 1 ? "song is" : "songs are"} ready`;
  by("make").disabled = waiting || !ready;
  for (const id of ["overview", "medley"]) by(id).hidden = empty;
  if (state.notice && state.notice !== dismissed) say(state.notice);
  const focus = document.activeElement?.dataset?.key;
  if (changed("medley", plan, layout, selected, songs.size) && !empty) {
    const length = layout ? `${wave.clock(layout.seconds)} · ` : "";
    const score = layout?.joins.length ? ` · joins score ${(layout.score / layout.joins.length).toFixed(2)} of 1 on average` : "";
    by("facts").textContent = `${length}${plan.clips.length} ${plan.clips.length === 1 ? "song" : "songs"}${score}`;
    by("strip").replaceChildren(...plan.clips.map((clip, i) => stripBlock(clip, i, layout)));
    by("clips").replaceChildren(...plan.clips.flatMap((clip, i) => [...(i ? [joinRow(clip, i, layout)] : []), clipCard(clip, i, layout)]));
    drawEnergy(by("energy"), layout?.energy);
  }
  drawSongs();
  drawPicker(plan);
  drawExport(state.export);
  by("saved").textContent = `Saved in ${state.folder}`;
  if (focus) document.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
}

function drawPicker(plan) {
  const clip = plan.clips.find((one) => one.song === selected);
  by("picker").hidden = !clip;
  if (!changed("picker", clip?.song, clip?.start, clip?.end) || !clip) return;
  const focus = by("picker").contains(document.activeElement) ? document.activeElement.dataset.key : "";
  showPicker(by("picker"), clip, colourOf(clip.song), (start, end) => {
    changed("picker", clip.song, start, end); // the picker shows it already
    edit(clip.song, { start, end });
  }, fail).then(() => focus && by("picker").querySelector(`[data-key="${focus}"]`)?.focus(), fail);
}

server.onchange = () => {
  render();
  fetchSongs().catch(fail);
};

// ---- buttons, files, keys ----

by("undo").addEventListener("click", () => ask("undo"));
by("redo").addEventListener("click", () => ask("redo"));
by("make").addEventListener("click", () => {
  by("make").disabled = true;
  announce("The medley is being made.");
  ask("make", { length: Number(by("length").value) });
});
by("order").addEventListener("click", async () => {
  by("order").disabled = true;
  const answer = await ask("order");
  render();
  if (!answer) return;
  by("reasons").hidden = false;
  by("reasons").open = true;
  by("reasons").querySelector("ul").replaceChildren(...answer.reasons.map((line) => element("li", {}, line)));
  announce(answer.reasons.join(" "));
});
by("title").addEventListener("change", () => {
  const title = by("title").value.trim() || "medley";
  change((plan) => { plan.title = title; });
});

async function addFiles(files) {
  uploading += files.length;
  for (const file of files) {
    drawSongs();
    await upload(file);
    uploading -= 1;
  }
  drawSongs();
  watch();
}

watchFiles(addFiles);
watchExport(watch);
by("open").addEventListener("click", () => by("receipt").click());
by("receipt").addEventListener("change", () => {
  const [file] = by("receipt").files;
  if (file) openReceipt(file);
  by("receipt").value = "";
});
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || event.target.matches("input")) return;
  event.preventDefault();
  const undone = event.shiftKey ? by("redo") : by("undo");
  if (!undone.disabled) undone.click();
});

for (const [list, axis, grip] of [["strip", "x", "li"], ["clips", "y", ".handle, .clip-text"]]) {
  sortable(by(list), { axis, grip, move, items: () => [...by(list).querySelectorAll("li[data-song]")] });
}

// ---- looking at the server ----

let timer = 0;
let answers = true;

async function watch() {
  clearTimeout(timer);
  try {
    await look();
    if (!answers) say("");
    answers = true;
  } catch (error) {
    answers = false;
    fail(error);
  }
  const { state } = server;
  const busy = state && (state.export.state === "running" || state.songs.some((one) => ["waiting", "analysed"].includes(one.state)));
  timer = setTimeout(watch, 1000 * (busy ? LOOK_SECONDS.busy : LOOK_SECONDS.calm));
}

const redraw = () => drawEnergy(by("energy"), server.state?.layout?.energy);
new ResizeObserver(redraw).observe(by("overview"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
watch();
