"use strict";

// The listening test: two orders of the same songs, blind; answers stay in the browser until they are downloaded.
(() => {
  const root = document.getElementById("listening-test");
  if (!root) return;
  const { page, announce, store } = djnet;
  const pick = (name) => root.querySelector(`[data-test="${name}"]`);
  const COLUMNS = ["test", "listener", "trial", "a", "b", "choice", "time"];
  const name = `listening/${page.listeningTest.id}`;
  const state = store.read(name, null) ?? fresh();
  let playedSides = new Set();

  // A listener is a random number; the order of trials and which side is which are drawn once for each.
  function fresh() {
    const random = (n) => crypto.getRandomValues(new Uint32Array(1))[0] % n;
    const order = page.listeningTest.trials.map((_, i) => i);
    for (let i = order.length - 1; i > 0; i--) {
      const j = random(i + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
    return { listener: random(2 ** 31).toString(36), order, swapped: order.map(() => random(2) === 1), answers: [] };
  }

  const trialNow = () => page.listeningTest.trials[state.order[state.answers.length]];

  function sides() {
    const trial = trialNow();
    const swapped = state.swapped[state.answers.length];
    return swapped ? { a: trial.second, b: trial.first } : { a: trial.first, b: trial.second };
  }

  function show() {
    const count = page.listeningTest.trials.length, done = state.answers.length;
    playedSides = new Set();
    pick("progress").textContent = done < count ? `Pair ${done + 1} of ${count}` : `All ${count} pairs answered. Thank you!`;
    pick("meter").max = count;
    pick("meter").value = done;
    pick("ask").hidden = done >= count;
    pick("download").hidden = done === 0;
    enable();
  }

  function enable() {
    for (const button of root.querySelectorAll("[data-choice]")) button.disabled = playedSides.size < 2;
    pick("hint").hidden = playedSides.size === 2;
  }

  function listen(event, side) {
    const { sound, seconds } = sides()[side];
    playedSides.add(side);
    enable();
    djnet.play(event.currentTarget, `Order ${side.toUpperCase()}`, [{ sound, start: 0, end: seconds }]);
  }

  function answer(choice) {
    const { a, b } = sides();
    const time = new Date().toISOString().slice(0, 19) + "Z";
    state.answers.push([page.listeningTest.id, state.listener, trialNow().id, a.name, b.name, choice, time]);
    store.write(name, state);
    announce("Answer kept.");
    document.querySelector("#player audio").pause();
    show();
  }

  function download() {
    const quoted = (cell) => /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
    const text = [COLUMNS, ...state.answers].map((row) => row.map(String).map(quoted).join(",")).join("\n") + "\n";
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    const link = djnet.element("a", { href: address, download: `answers-${state.listener}.csv` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  for (const side of ["a", "b"]) pick(`play-${side}`).addEventListener("click", (event) => listen(event, side));
  for (const button of root.querySelectorAll("[data-choice]")) button.addEventListener("click", () => answer(button.dataset.choice));
  pick("download").addEventListener("click", download);
  show();
})();
