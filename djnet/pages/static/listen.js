// The one sound of the page, by Web Audio: a second press on its button stops it.
import { sound } from "./server.js";

let context = null;
let current = null; // {button, source, begun, seconds, progress}

export function stop() {
  if (!current) return;
  const { button, source, progress } = current;
  current = null;
  if (source) {
    source.onended = null;
    source.stop();
  }
  button.classList.remove("sounding", "loading");
  button.setAttribute("aria-pressed", "false");
  document.body.dataset.sound = "";
  progress?.(-1);
}

function tick() {
  if (!current?.source) return;
  current.progress?.(Math.min(1, (context.currentTime - current.begun) / current.seconds));
  requestAnimationFrame(tick);
}

// Play what lies at an address; `progress(share)` is told how much has been heard, -1 at the end.
export async function listen(button, address, progress = null) {
  const again = current?.button === button;
  stop();
  if (again) return;
  context ??= new AudioContext();
  const mine = current = { button, progress, source: null };
  button.classList.add("loading");
  button.setAttribute("aria-pressed", "true");
  try {
    const resumed = context.resume();
    const buffer = await context.decodeAudioData(await sound(address));
    await resumed;
    if (current !== mine) return; // something else was asked for meanwhile
    mine.source = new AudioBufferSourceNode(context, { buffer });
    mine.source.connect(context.destination);
    mine.source.onended = stop;
    mine.seconds = buffer.duration;
    mine.begun = context.currentTime;
    mine.source.start();
    button.classList.replace("loading", "sounding");
    document.body.dataset.sound = "playing";
    tick();
  } catch (error) {
    if (current === mine) stop();
    throw error;
  }
}
