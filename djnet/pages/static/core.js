"use strict";

// What all parts of the page share: sounds, the one player, the live region, what is kept in the browser.
const djnet = (() => {
  const RATE_HZ = 32000; // as djnet/pages/sound.py encodes
  const FADE_SECONDS = 0.004; // at both ends of every piece, so that a click does not tell a wrong join

  const page = JSON.parse(document.getElementById("data").textContent);
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

  const { element, announce } = dom;

  // ---- what is kept in the browser ----

  const store = {
    read(name, otherwise) {
      try {
        return JSON.parse(localStorage.getItem(`djnet/${name}`)) ?? otherwise;
      } catch {
        return otherwise;
      }
    },
    write(name, value) {
      try {
        localStorage.setItem(`djnet/${name}`, JSON.stringify(value));
      } catch { /* Private windows keep nothing: the page works without. */ }
    },
  };

  // ---- sounds ----

  const texts = new Map(); // key -> promise of an mp3 in base64
  const arrivals = new Map(); // key -> what to call when its script has run
  const decoded = new Map(); // key -> promise of Float32Array

  function addSound(key, text) { // called by sounds/<key>.js
    if (arrivals.has(key)) arrivals.get(key)(text);
    else texts.set(key, Promise.resolve(text));
  }

  function text(key) {
    if (!texts.has(key)) {
      texts.set(key, new Promise((resolve, reject) => {
        arrivals.set(key, resolve);
        const missing = () => reject(new Error("The sound is missing: make the report again, with make report."));
        document.head.append(element("script", { src: `sounds/${key}.js`, onerror: missing }));
      }));
    }
    return texts.get(key);
  }

  function samples(key) {
    if (!decoded.has(key)) {
      decoded.set(key, text(key).then(async (base64) => {
        const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
        const buffer = await new OfflineAudioContext(1, 1, RATE_HZ).decodeAudioData(bytes.buffer);
        return buffer.getChannelData(0);
      }));
    }
    return decoded.get(key);
  }

  async function cut(part) {
    const whole = await samples(part.sound);
    const piece = whole.slice(Math.round(part.start * RATE_HZ), Math.round(part.end * RATE_HZ));
    const fade = Math.min(Math.round(FADE_SECONDS * RATE_HZ), piece.length >> 1);
    for (let i = 0; i < fade; i++) {
      piece[i] *= i / fade;
      piece[piece.length - 1 - i] *= i / fade;
    }
    return piece;
  }

  // Pieces one after the other, and the second at which each begins.
  async function joined(parts) {
    const pieces = await Promise.all(parts.map(cut));
    const whole = new Float32Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    const starts = [];
    let place = 0;
    for (const piece of pieces) {
      starts.push(place / RATE_HZ);
      whole.set(piece, place);
      place += piece.length;
    }
    return { samples: whole, starts };
  }

  function wav(values) {
    const view = new DataView(new ArrayBuffer(44 + 2 * values.length));
    const word = (place, name) => [...name].forEach((c, i) => view.setUint8(place + i, c.charCodeAt(0)));
    word(0, "RIFF"); view.setUint32(4, 36 + 2 * values.length, true); word(8, "WAVEfmt ");
    view.setUint32(16, 16, true); view.setUint16(20, 1, true); view.setUint16(22, 1, true);
    view.setUint32(24, RATE_HZ, true); view.setUint32(28, 2 * RATE_HZ, true);
    view.setUint16(32, 2, true); view.setUint16(34, 16, true);
    word(36, "data"); view.setUint32(40, 2 * values.length, true);
    for (let i = 0; i < values.length; i++) {
      view.setInt16(44 + 2 * i, Math.max(-1, Math.min(1, values[i])) * 32767, true);
    }
    return new Blob([view], { type: "audio/wav" });
  }

  // The parts of a puzzle's sound, piece by piece: piece p of the puzzle lies where `truth` has it.
  function parts(puzzle, order) {
    return order.map((piece) => {
      const [start, end] = puzzle.spans[puzzle.truth.indexOf(piece)];
      return { sound: puzzle.sound, start, end };
    });
  }

  // ---- the one player ----

  const bar = document.getElementById("player");
  const audio = bar.querySelector("audio");
  const label = bar.querySelector(".label");
  let current = null; // {button, starts, progress}
  let address = "";

  function settle() {
    if (!current) return;
    current.button?.classList.remove("sounding");
    current.progress?.(-1);
  }

  // Play parts as one; a second press on the same button stops. `progress(i)` is told which part sounds, -1 for none.
  async function play(button, name, wanted, { progress = null } = {}) {
    if (current && current.button === button && !audio.paused) {
      audio.pause();
      return;
    }
    audio.pause();
    settle();
    const mine = current = { button, progress, starts: [] };
    try {
      const sound = await joined(wanted);
      if (current !== mine) return; // something else was asked for meanwhile
      mine.starts = sound.starts;
      URL.revokeObjectURL(address);
      address = URL.createObjectURL(wav(sound.samples));
      audio.src = address;
      bar.hidden = false;
      document.body.classList.add("with-player");
      label.textContent = name;
      await audio.play();
    } catch (error) {
      if (error.name === "AbortError") return;
      label.textContent = error.message;
      bar.hidden = false;
      announce(error.message);
    }
  }

  audio.addEventListener("playing", () => current?.button?.classList.add("sounding"));
  audio.addEventListener("pause", settle);
  audio.addEventListener("timeupdate", () => {
    if (current?.progress && !audio.paused) {
      current.progress(current.starts.filter((start) => start <= audio.currentTime + 0.02).length - 1);
    }
  });
  // Another player of the page (a medley's) is heard alone.
  document.addEventListener("play", (event) => {
    for (const other of document.querySelectorAll("audio")) if (other !== event.target) other.pause();
  }, true);

  // ---- pictures of a piece ----

  async function drawWave(canvas, part) {
    const values = await cut(part);
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    const height = canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    const brush = canvas.getContext("2d");
    brush.fillStyle = getComputedStyle(canvas).color;
    const step = Math.max(2, Math.round(3 * ratio));
    let loudest = 1e-3;
    const heights = [];
    for (let x = 0; x < width; x += step) {
      let peak = 0;
      const last = Math.min(values.length, Math.floor((x + step) / width * values.length));
      for (let i = Math.floor(x / width * values.length); i < last; i += 8) peak = Math.max(peak, Math.abs(values[i]));
      heights.push(peak);
      loudest = Math.max(loudest, peak);
    }
    heights.forEach((peak, i) => {
      const tall = Math.max(ratio, peak / loudest * height);
      brush.fillRect(i * step, (height - tall) / 2, step - ratio, tall);
    });
  }

  // 75 -> "1:15"
  function clock(seconds) {
    const whole = Math.round(seconds);
    return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
  }

  function hue(piece) {
    return `--hue: ${(piece * 137 + 200) % 360}`;
  }

  // Which joins of an order are right: [n - 1] booleans.
  function rightJoins(order, truth) {
    return order.slice(1).map((piece, i) => {
      const place = truth.indexOf(order[i]);
      return truth[place + 1] === piece;
    });
  }

  return { page, letters, element, announce, store, addSound, parts, play, drawWave, clock, hue, rightJoins };
})();
