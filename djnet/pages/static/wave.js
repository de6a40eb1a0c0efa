"use strict";

// Pictures of sound on a canvas, for the medley's page and for the studio.
const wave = (() => {
  // Fit a canvas to its place: -> {brush, width, height, ratio} in real pixels.
  function fit(canvas) {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const brush = canvas.getContext("2d");
    brush.clearRect(0, 0, width, height);
    return { brush, width, height, ratio };
  }

  // The colour of the nth song, which the style sheet's light and dark lightness fits.
  function colour(number, alpha = 1) {
    const lightness = getComputedStyle(document.documentElement).getPropertyValue("--lightness").trim() || "45%";
    return `hsl(${(number * 137 + 200) % 360} 62% ${lightness} / ${alpha})`;
  }

  // Bars of a wave (0 to 1) from time `begin` to `end`; `paint(time)` gives a bar's colour.
  function bars({ brush, width, ratio }, points, rate, begin, end, top, bottom, paint) {
    const step = Math.max(2, Math.round(2.5 * ratio));
    const middle = (top + bottom) / 2;
    for (let x = 0; x < width; x += step) {
      const from = begin + x / width * (end - begin);
      const to = begin + (x + step) / width * (end - begin);
      if (to <= 0 || from * rate >= points.length) continue;
      let peak = 0;
      for (let i = Math.max(0, Math.floor(from * rate)); i < Math.min(points.length, Math.ceil(to * rate)); i++) {
        peak = Math.max(peak, points[i]);
      }
      const tall = Math.max(ratio, peak * (bottom - top));
      brush.fillStyle = paint((from + to) / 2);
      brush.fillRect(x, middle - tall / 2, step - ratio, tall);
    }
  }

  // Bytes in base64 -> numbers from 0 to 1.
  function points(text) {
    return Float32Array.from(atob(text), (character) => character.charCodeAt(0) / 255);
  }

  function clock(seconds) {
    const whole = Math.max(0, Math.round(seconds));
    return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
  }

  return { fit, colour, bars, points, clock };
})();
