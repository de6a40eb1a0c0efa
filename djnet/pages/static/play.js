"use strict";

// Play a puzzle: an order of one's own, checked, and SEN's answer beside it.
(() => {
  const root = document.getElementById("game");
  if (!root) return;
  const { page, element, announce, store, letters } = djnet;
  const pick = (name) => root.querySelector(`[data-game="${name}"]`);
  const size = pick("size"), cut = pick("cut"), list = pick("board"), verdict = pick("verdict"), answer = pick("answer");
  let board = null, puzzle = null, begun = null, revealed = false, shareText = "";
  const LEVELS = {
    fixed: "Level 1: equal pieces", downbeat: "Level 2: cut where a bar begins", bar: "Level 3: a bar left out between",
  };
  const plays = page.play;

  function fill(select, values, name) {
    const kept = select.value;
    select.replaceChildren(...values.map((value) => element("option", { value }, name(value))));
    if (values.map(String).includes(kept)) select.value = kept;
  }

  const unique = (values) => [...new Set(values)];
  const fitting = () => plays.filter((play) => play.cut === cut.value && play.n === Number(size.value));

  function chooseSizes() {
    fill(size, unique(plays.filter((play) => play.cut === cut.value).map((play) => play.n)).sort((a, b) => a - b), (n) => `${n} pieces`);
  }

  // The next one that was not played yet, else any other.
  function next() {
    const done = store.read("counted", []);
    const choices = fitting();
    const start = choices.indexOf(puzzle) + 1;
    const turned = [...choices.slice(start), ...choices.slice(0, start)];
    begin(turned.find((play) => !done.includes(play.id)) ?? turned[0]);
  }

  function begin(chosen) {
    puzzle = chosen;
    board = new djnet.Board(list, puzzle, { moved: () => { startClock(); forgetVerdict(); } });
    [begun, revealed] = [null, false];
    forgetVerdict();
    answer.replaceChildren();
    pick("credit").textContent = `${[puzzle.title, puzzle.credit].filter(Boolean).join(" — ")} (${puzzle.licence})`;
  }

  // The clock runs from the first piece that is heard or moved.
  function startClock() {
    begun ??= performance.now();
  }

  function forgetVerdict() {
    const best = store.read("best", {})[puzzle.id];
    verdict.textContent = best === undefined ? "" : `Your best time: ${djnet.clock(best)}.`;
    verdict.classList.remove("good");
    pick("share").hidden = pick("share-text").hidden = true;
  }

  function check() {
    const joins = djnet.rightJoins(board.order, puzzle.truth);
    const right = joins.filter(Boolean).length;
    board.mark(joins);
    const counted = count(joins);
    const solved = right === joins.length;
    startClock();
    const seconds = (performance.now() - begun) / 1000;
    verdict.textContent = (solved ? "Right, every join! " : `${right} of ${joins.length} joins right. `) +
      (counted ? "This first answer counts." : "Only the first answer to a puzzle counts.") +
      (solved && !revealed ? ` ${timed(seconds)}` : "");
    shareText = shared(joins, seconds);
    pick("share").hidden = false;
    pick("share").textContent = "Share the result";
    verdict.className = `verdict ${solved ? "good" : ""}`;
    announce(verdict.textContent);
    showScore();
  }

  // The time of a solved puzzle beside the best one so far; nothing after the answer was shown.
  function timed(seconds) {
    const best = store.read("best", {});
    const before = best[puzzle.id];
    if (!(before <= seconds)) store.write("best", { ...best, [puzzle.id]: seconds });
    if (before === undefined) return `Your time: ${djnet.clock(seconds)}.`;
    const compared = before <= seconds ? `your best: ${djnet.clock(before)}` : `your best so far, before: ${djnet.clock(before)}`;
    return `Your time: ${djnet.clock(seconds)}, ${compared}.`;
  }

  // What people send to each other: squares for right and wrong joins, which give no answer away.
  function shared(joins, seconds) {
    const squares = (right) => right.map((one) => one ? "🟩" : "🟥").join("");
    const solved = joins.every(Boolean) && !revealed ? ` in ${djnet.clock(seconds)}` : "";
    const [sen] = puzzle.answers;
    return `Music puzzle: ${puzzle.title}, ${puzzle.n} pieces, ${LEVELS[puzzle.cut].split(": ")[1]}\n` +
      `Me ${squares(joins)}${solved}\nThe network ${squares(djnet.rightJoins(sen.order, puzzle.truth))}\n`;
  }

  async function share() {
    const box = pick("share-text");
    try {
      if (navigator.share && matchMedia("(pointer: coarse)").matches) await navigator.share({ text: shareText });
      else await navigator.clipboard.writeText(shareText);
      pick("share").textContent = "Shared ✓";
      announce("The result can be pasted anywhere.");
    } catch (error) {
      if (error.name === "AbortError") return; // the person has changed their mind
      box.value = shareText; // a browser that does not let pages copy: people can
      box.hidden = false;
      box.select();
    }
  }

  function count(joins) {
    const done = store.read("counted", []);
    if (done.includes(puzzle.id)) return false;
    store.write("counted", [...done, puzzle.id]);
    const score = store.read("score", {});
    const key = `${puzzle.cut}/${puzzle.n}`;
    const row = score[key] ?? { puzzles: 0, joins: 0, you: 0, sen: 0, youWhole: 0, senWhole: 0 };
    const sen = djnet.rightJoins(puzzle.answers[0].order, puzzle.truth);
    row.puzzles += 1;
    row.joins += joins.length;
    row.you += joins.filter(Boolean).length;
    row.sen += sen.filter(Boolean).length;
    row.youWhole += joins.every(Boolean) ? 1 : 0;
    row.senWhole += sen.every(Boolean) ? 1 : 0;
    store.write("score", { ...score, [key]: row });
    return true;
  }

  function showAnswer() {
    revealed = true;
    answer.replaceChildren(
      ...puzzle.answers.map((given) => djnet.orderRow(puzzle, given)),
      djnet.orderRow(puzzle, { name: "As it was recorded", order: puzzle.truth, truth: true }),
      djnet.scoreTable(puzzle),
    );
    const [sen] = puzzle.answers;
    announce(`SEN's order: ${sen.order.map((piece) => letters[piece]).join(" ")}.`);
  }

  function showScore() {
    const score = store.read("score", {});
    const rows = Object.entries(score).sort().map(([key, row]) => {
      const [how, n] = key.split("/");
      const share = (right, whole) => `${Math.round(100 * right / row.joins)}% (${whole})`;
      return element(
        "tr", {}, element("th", { scope: "row" }, `${n}, level ${Object.keys(LEVELS).indexOf(how) + 1}`), element("td", {}, String(row.puzzles)),
        element("td", {}, share(row.you, row.youWhole)), element("td", {}, share(row.sen, row.senWhole)),
      );
    });
    pick("score").hidden = rows.length === 0;
    pick("score").querySelector("tbody").replaceChildren(...rows);
  }

  pick("listen").addEventListener("click", (event) => {
    startClock();
    djnet.play(event.currentTarget, "Your order", djnet.parts(puzzle, board.order), { progress: (i) => board.light(i) });
  });
  list.addEventListener("click", startClock);
  pick("check").addEventListener("click", check);
  pick("share").addEventListener("click", share);
  pick("reveal").addEventListener("click", showAnswer);
  pick("next").addEventListener("click", next);
  pick("forget").addEventListener("click", () => {
    store.write("score", {});
    store.write("counted", []);
    store.write("best", {});
    showScore();
  });
  cut.addEventListener("change", () => { chooseSizes(); next(); });
  size.addEventListener("change", next);

  fill(cut, Object.keys(LEVELS).filter((level) => plays.some((play) => play.cut === level)), (level) => LEVELS[level]);
  if (page.level) cut.value = page.level;
  chooseSizes();
  size.parentElement.hidden = size.length === 1;
  cut.parentElement.hidden = cut.length === 1;
  pick("next").hidden = plays.length === cut.length;
  next();
  showScore();
})();
