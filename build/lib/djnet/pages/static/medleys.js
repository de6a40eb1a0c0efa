"use strict";

// Medleys: a press on a song or a join jumps there, and the song that sounds is lit.
for (const medley of document.querySelectorAll(".medley")) {
  const audio = medley.querySelector("audio");
  if (!audio) continue;
  const songs = [...medley.querySelectorAll("[data-from]")];
  for (const button of medley.querySelectorAll("[data-jump]")) {
    button.addEventListener("click", () => {
      audio.currentTime = Number(button.dataset.jump);
      audio.play();
    });
  }
  const light = () => {
    for (const song of songs) {
      const inside = audio.currentTime >= Number(song.dataset.from) && audio.currentTime < Number(song.dataset.to);
      song.classList.toggle("lit", inside && !audio.paused);
    }
    medley.querySelector(".needle").style.left = `${100 * audio.currentTime / (audio.duration || 1)}%`;
  };
  for (const name of ["timeupdate", "pause", "seeked"]) audio.addEventListener(name, light);
}
