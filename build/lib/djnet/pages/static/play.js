"use strict";

// Play a puzzle: an order of one's own, checked, and SEN's answer beside it.
(() => {
  const root = document.getElementById("game");
  if (!root) return;
  const { page, element, announce, store, letters } = djnet;
  const pick = (name) => root.querySelector(`[data-game="${name}"]`);
  const size = pick("size"), cut = pick("cut"), list = pick("board"), verdict = pick("verdict"), answer = pick("answer");
  let board = null, puzzle = null;
  const CUTS = { fixed: "equal pieces", downbeat: "cut at downbeats" };
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
    board = new djnet.Board(list, puzzle, { moved: () => { verdict.textContent = ""; } });
    verdict.textContent = "";
    answer.replaceChildren();
    pick("credit").textContent = `${puzzle.title} — ${puzzle.credit} (${puzzle.licence})`;
  }

  function check() {
    const joins = djnet.rightJoins(board.order, puzzle.truth);
    const right = joins.filter(Boolean).length;
    board.mark(joins);
    const counted = count(joins);
    const solved = right === joins.length;
    verdict.textContent = (solved ? "Right, every join! " : `${right} of ${joins.length} joins right. `) +
      (counted ? "This first answer counts." : "Only the first answer to a puzzle counts.");
    verdict.className = `verdict ${solved ? "good" : ""}`;
    announce(verdict.textContent);
    showScore();
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
        "tr", {}, element("th", { scope: "row" }, `${n} ${how === "fixed" ? "equal" : "at downbeats"}`), element("td", {}, String(row.puzzles)),
        element("td", {}, share(row.you, row.youWhole)), element("td", {}, share(row.sen, row.senWhole)),
      );
    });
    pick("score").hidden = rows.length === 0;
    pick("score").querySelector("tbody").replaceChildren(...rows);
  }

  pick("listen").addEventListener("click", (event) => {
    djnet.play(event.currentTarget, "Your order", djnet.parts(puzzle, board.order), { progress: (i) => board.light(i) });
  });
  pick("check").addEventListener("click", check);
  pick("reveal").addEventListener("click", showAnswer);
  pick("next").addEventListener("click", next);
  pick("forget").addEventListener("click", () => {
    store.write("score", {});
    store.write("counted", []);
    showScore();
  });
  cut.addEventListener("change", () => { chooseSizes(); next(); });
  size.addEventListener("change", next);

  fill(cut, unique(plays.map((play) => play.cut)), (value) => CUTS[value]);
  chooseSizes();
  pick("choices").hidden = plays.length === 1;
  pick("next").hidden = plays.length === 1;
  next();
  showScore();
})();
