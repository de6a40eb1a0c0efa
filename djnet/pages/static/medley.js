"use strict";

// The player of one medley: press the time line, a song or a join to jump; a join can be looped.
(() => {
  const { element, announce, page: medley } = djnet;
  const AROUND_SECONDS = 4; // before and after a join that is heard alone
  const CLOSE_SECONDS = 10;
  const part = Object.fromEntries(
    [...document.querySelectorAll("[data-medley]")].map((one) => [one.dataset.medley, one]),
  );
  const { audio } = part;
  const points = wave.points(medley.wave);
  let looped = null; // a join
  const rows = [];

  const music = document.getElementById("music");
  if (music) {
    const bytes = Uint8Array.from(atob(music.textContent.trim()), (character) => character.charCodeAt(0));
    audio.src = URL.createObjectURL(new Blob([bytes], { type: "audio/mpeg" }));
  }
  audio.addEventListener("error", () => {
    part.now.textContent = "The music cannot be played: is the file still beside this page?";
  });

  // ---- where we are ----

  function songAt(time) {
    const number = medley.songs.findIndex((song) => time < song.to);
    return number < 0 ? medley.songs.length - 1 : number;
  }

  function joinAt(time) {
    return medley.joins.find((join) => time >= join.start && time < join.end);
  }

  function nearestJoin() {
    const far = (join) => Math.abs(join.middle - audio.currentTime);
    return medley.joins.reduce((best, join) => (best && far(best) <= far(join) ? best : join), null);
  }

  function seek(time, playing = !audio.paused) {
    audio.currentTime = Math.min(Math.max(0, time), medley.seconds - 0.05);
    if (playing) audio.play();
    draw();
  }

  function hear(join) {
    if (looped && looped !== join) setLoop(null);
    seek(join.start - AROUND_SECONDS, true);
  }

  function setLoop(join) {
    looped = join;
    part.loop.setAttribute("aria-pressed", String(Boolean(join)));
    for (const row of rows) row.loop?.setAttribute("aria-pressed", String(row.join === join));
    announce(join ? `The join at ${wave.clock(join.middle)} is looped.` : "No join is looped.");
    draw();
  }

  function toggleLoop(join) {
    if (!join || looped === join) {
      setLoop(null);
    } else {
      setLoop(join);
      seek(join.start - AROUND_SECONDS, true);
    }
  }

  function step(direction) {
    const here = audio.currentTime + AROUND_SECONDS;
    const join = direction > 0
      ? medley.joins.find((one) => one.start > here + 0.1)
      : medley.joins.findLast((one) => one.start < here - 1.5);
    if (join) hear(join);
    else seek(direction > 0 ? audio.currentTime : 0);
  }

  // ---- the list of songs and joins ----

  function button(label, press, attributes = {}) {
    return element("button", { type: "button", class: "button small", onclick: press, ...attributes }, label);
  }

  medley.songs.forEach((song, i) => {
    if (i > 0) {
      const join = medley.joins[i - 1];
      const at = wave.clock(join.middle);
      const loop = button("Loop", () => toggleLoop(join), { "aria-pressed": "false", "aria-label": `Loop the join at ${at}` });
      const row = element("li", { class: "join-row" },
        element("div", { class: "say" },
          element("p", { class: "how" }, `${at} · ${join.how}`),
          element("p", { class: "why" }, [...join.why, `score ${join.score.toFixed(2)} of 1`].join(" · ")),
          join.instead ? element("p", { class: "why" }, join.instead) : ""),
        element("div", { class: "acts" }, button("Hear", () => hear(join), { "aria-label": `Hear the join at ${at}` }), loop));
      rows.push({ row, join, loop });
      part.programme.append(row);
    }
    const title = element("button", { type: "button", class: "song-row", onclick: () => { setLoop(null); seek(song.from, true); } },
      element("span", { class: "at" }, wave.clock(song.from)),
      element("span", {}, element("strong", {}, song.name), element("small", {}, song.facts)));
    const row = element("li", { class: "song" }, title);
    row.style.setProperty("--hue", (i * 137 + 200) % 360);
    rows.push({ row, song });
    part.programme.append(row);
  });

  // ---- pictures ----

  const paint = (alpha) => {
    const colours = medley.songs.map((_, i) => wave.colour(i, alpha));
    return (time) => colours[songAt(time)];
  };

  function drawOverview() {
    const place = wave.fit(part.overview);
    const { brush, width, height, ratio } = place;
    const x = (time) => time / medley.seconds * width;
    const ink = getComputedStyle(part.overview).color;
    brush.fillStyle = ink;
    for (const join of medley.joins) {
      brush.globalAlpha = join === looped ? 0.28 : 0.12;
      brush.fillRect(x(join.start), 0, Math.max(2 * ratio, x(join.end) - x(join.start)), height);
    }
    brush.globalAlpha = 1;
    wave.bars(place, points, medley.points, 0, medley.seconds, 4 * ratio, height - 4 * ratio, paint(1));
    brush.fillStyle = ink;
    brush.fillRect(x(audio.currentTime) - ratio, 0, 2 * ratio, height);
  }

  function drawCloseup() {
    const place = wave.fit(part.closeup);
    const { brush, width, height, ratio } = place;
    const begin = audio.currentTime - CLOSE_SECONDS / 2;
    const x = (time) => (time - begin) / CLOSE_SECONDS * width;
    const ink = getComputedStyle(part.closeup).color;
    brush.fillStyle = ink;
    brush.globalAlpha = 0.12;
    for (const join of medley.joins) brush.fillRect(x(join.start), 0, x(join.end) - x(join.start), height);
    brush.globalAlpha = 1;
    const edge = 16 * ratio;
    wave.bars(place, points, medley.points, begin, begin + CLOSE_SECONDS, edge, height - edge, paint(0.85));
    medley.songs.forEach((song, i) => { // every other song has its beats above, so that two in step can be seen
      brush.fillStyle = wave.colour(i);
      for (const [time, position] of song.beats) {
        if (time < begin || time > begin + CLOSE_SECONDS) continue;
        const tall = (position === 1 ? 14 : 7) * ratio;
        brush.fillRect(x(time) - ratio, i % 2 ? height - tall : 0, 2 * ratio, tall);
      }
    });
    brush.fillStyle = ink;
    brush.fillRect(width / 2 - ratio / 2, 0, ratio, height);
  }

  function draw() {
    const time = audio.currentTime;
    drawOverview();
    drawCloseup();
    part.clock.textContent = `${wave.clock(time)} / ${wave.clock(medley.seconds)}`;
    const song = medley.songs[songAt(time)];
    const join = joinAt(time);
    if (!audio.error) part.now.textContent = join ? join.how : song.name;
    for (const row of rows) row.row.classList.toggle("lit", row.song === song || (Boolean(join) && row.join === join));
    part.slider.setAttribute("aria-valuenow", String(Math.round(time)));
    part.slider.setAttribute("aria-valuetext", `${wave.clock(time)}, ${song.name}`);
  }

  function frame() {
    const last = looped ? Math.min(looped.end + AROUND_SECONDS, medley.seconds - 0.1) : Infinity;
    if (audio.currentTime >= last) audio.currentTime = Math.max(0, looped.start - AROUND_SECONDS);
    draw();
    if (!audio.paused) requestAnimationFrame(frame);
  }

  // ---- mouse, finger, keyboard ----

  const toggle = () => (audio.paused ? audio.play().catch(() => {}) : audio.pause());
  part.play.addEventListener("click", toggle);
  part.previous.addEventListener("click", () => step(-1));
  part.next.addEventListener("click", () => step(1));
  part.loop.addEventListener("click", () => toggleLoop(looped ?? nearestJoin()));
  for (const name of ["play", "pause"]) {
    audio.addEventListener(name, () => {
      part.play.classList.toggle("sounding", !audio.paused);
      part.play.setAttribute("aria-label", audio.paused ? "Play" : "Pause");
      frame();
    });
  }
  for (const name of ["seeked", "loadedmetadata"]) audio.addEventListener(name, draw);
  const point = (event) => {
    const box = part.slider.getBoundingClientRect();
    setLoop(null);
    seek((event.clientX - box.left) / box.width * medley.seconds);
  };
  part.slider.addEventListener("pointerdown", (event) => {
    part.slider.setPointerCapture(event.pointerId);
    point(event);
  });
  part.slider.addEventListener("pointermove", (event) => {
    if (part.slider.hasPointerCapture(event.pointerId)) point(event);
  });
  const keys = {
    " ": toggle, ArrowLeft: () => seek(audio.currentTime - 5), ArrowRight: () => seek(audio.currentTime + 5),
    n: () => step(1), p: () => step(-1), l: () => toggleLoop(looped ?? nearestJoin()),
    Home: () => seek(0), End: () => seek(medley.seconds),
  };
  document.addEventListener("keydown", (event) => {
    const press = keys[event.key];
    const own = event.key === " " && event.target.closest("button"); // a button does what it says
    const scrolls = ["Home", "End"].includes(event.key) && event.target !== part.slider;
    if (!press || own || scrolls || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    press();
  });
  part.slider.setAttribute("aria-valuemax", String(Math.round(medley.seconds)));
  for (const one of [part.previous, part.next, part.loop]) one.hidden = !medley.joins.length;
  new ResizeObserver(draw).observe(part.slider);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
