"use strict";

// Puzzles with their answers: each piece, and each answer played as one.
(() => {
  const root = document.getElementById("answered");
  if (!root) return;
  const { page, element, letters, hue } = djnet;
  const select = root.querySelector("select"), list = root.querySelector(".puzzles"), remark = root.querySelector(".remark");

  function pieces(puzzle) {
    const buttons = puzzle.truth.map((_, piece) => {
      const press = element("button", {
        type: "button", class: "chip", style: hue(piece), "aria-label": `Play piece ${letters[piece]}`,
        onclick: () => djnet.play(press, `Piece ${letters[piece]}`, djnet.parts(puzzle, [piece])),
      }, letters[piece]);
      return press;
    });
    return element("div", { class: "pieces", role: "group", "aria-label": "Shuffled pieces" }, ...buttons);
  }

  function summaryOf(puzzle) {
    const results = puzzle.answers.map((answer) => {
      const joins = djnet.rightJoins(answer.order, puzzle.truth);
      const right = joins.filter(Boolean).length;
      return element("span", { class: `badge ${right === joins.length ? "good" : ""}` }, `${answer.name} ${right}/${joins.length}`);
    });
    const title = element("span", { class: "title" }, puzzle.title, " ", element("small", { class: "credit" }, puzzle.credit));
    return element("summary", {}, title, ...results);
  }

  function fill(details, puzzle) {
    details.append(
      element("p", { class: "credit" }, `Licence: ${puzzle.licence}`),
      element("h4", {}, "The pieces, as the players get them"), pieces(puzzle),
      element("h4", {}, "The answers"),
      ...puzzle.answers.map((answer) => djnet.orderRow(puzzle, answer)),
      djnet.orderRow(puzzle, { name: "As it was recorded", order: puzzle.truth, truth: true }),
    );
  }

  function remarkOn(game) {
    if (game.baseline) return `The best other network in this game is ${game.baseline.toUpperCase()}.`;
    if (!game.segmentation) return ""; // recordings are played by networks that were trained for other games
    const train = `python -m experiments.train --experiment=table3/${game.segmentation}/cin`;
    return `No other network was trained for this game yet: ${train}, then make evaluate report.`;
  }

  function show() {
    const game = page.answered[Number(select.value)];
    remark.textContent = remarkOn(game);
    list.replaceChildren(...game.puzzles.map((puzzle) => {
      const details = element("details", { class: "puzzle" }, summaryOf(puzzle));
      details.addEventListener("toggle", () => fill(details, puzzle), { once: true });
      return details;
    }));
  }

  select.replaceChildren(...page.answered.map((game, i) => element("option", { value: i }, game.name)));
  select.addEventListener("change", show);
  show();
})();
