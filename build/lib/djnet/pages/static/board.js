"use strict";

// A row of pieces that can be put in another order by mouse, touch and keyboard.
djnet.Board = class {
  constructor(list, puzzle, { moved }) {
    this.list = list;
    this.puzzle = puzzle;
    this.moved = moved;
    list.replaceChildren(...puzzle.truth.map((_, piece) => this.#card(piece)));
    this.#relabel();
    requestAnimationFrame(() => this.#drawWaves());
  }

  get cards() {
    return [...this.list.children];
  }

  get order() {
    return this.cards.map((card) => Number(card.dataset.piece));
  }

  // Show which joins are right; nothing takes the marks away.
  mark(joins) {
    this.cards.forEach((card, i) => {
      const right = joins && i > 0 ? joins[i - 1] : null;
      card.classList.toggle("right", right === true);
      card.classList.toggle("wrong", right === false);
      card.querySelector(".join").textContent = right === null ? "" : right ? "✓" : "✗";
    });
    this.#relabel(joins);
  }

  // Light up the card at a place; -1 for none.
  light(place) {
    this.cards.forEach((card, i) => card.classList.toggle("lit", i === place));
  }

  #card(piece) {
    const { element, letters, hue } = djnet;
    const letter = letters[piece];
    const card = element(
      "li", { class: "card", "data-piece": piece, style: hue(piece) },
      element("span", { class: "join", "aria-hidden": "true" }),
      element(
        "button", { type: "button", class: "listen", onclick: () => this.#listen(card), onkeydown: (e) => this.#key(e, card) },
        element("span", { class: "letter" }, letter),
        element("canvas", { class: "wave", "aria-hidden": "true" }),
      ),
      element(
        "span", { class: "moves" },
        element("button", { type: "button", class: "earlier", "aria-label": `Move piece ${letter} earlier`, onclick: () => this.#step(card, -1) }, "‹"),
        element("span", { class: "grip", "aria-hidden": "true" }),
        element("button", { type: "button", class: "later", "aria-label": `Move piece ${letter} later`, onclick: () => this.#step(card, 1) }, "›"),
      ),
    );
    card.addEventListener("pointerdown", (event) => this.#grab(event, card));
    card.addEventListener("click", (event) => {
      if (this.dragged) { // the click that ends a drag
        event.stopPropagation();
        event.preventDefault();
        this.dragged = false;
      }
    }, true);
    return card;
  }

  #relabel(joins) {
    const n = this.cards.length;
    this.cards.forEach((card, i) => {
      const letter = djnet.letters[card.dataset.piece];
      const verdict = joins && i > 0 ? (joins[i - 1] ? ", follows rightly" : ", does not follow the piece before") : "";
      card.querySelector(".listen").setAttribute(
        "aria-label", `Play piece ${letter}, place ${i + 1} of ${n}${verdict}. Arrow keys move it.`,
      );
    });
  }

  #drawWaves() {
    for (const card of this.cards) {
      const [part] = djnet.parts(this.puzzle, [Number(card.dataset.piece)]);
      djnet.drawWave(card.querySelector(".wave"), part).catch((error) => djnet.announce(error.message));
    }
  }

  #listen(card) {
    const piece = Number(card.dataset.piece);
    const name = `Piece ${djnet.letters[piece]}`;
    djnet.play(card.querySelector(".listen"), name, djnet.parts(this.puzzle, [piece]), {
      progress: (i) => this.light(i < 0 ? -1 : this.cards.indexOf(card)),
    });
  }

  #key(event, card) {
    const last = this.cards.length - 1;
    const place = this.cards.indexOf(card);
    const targets = { ArrowLeft: place - 1, ArrowUp: place - 1, ArrowRight: place + 1, ArrowDown: place + 1, Home: 0, End: last };
    if (!(event.key in targets) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.#moveTo(card, Math.max(0, Math.min(last, targets[event.key])));
    card.querySelector(".listen").focus();
  }

  #step(card, by) {
    const focused = document.activeElement;
    this.#moveTo(card, Math.max(0, Math.min(this.cards.length - 1, this.cards.indexOf(card) + by)));
    focused?.focus();
  }

  #moveTo(card, place) {
    if (this.cards.indexOf(card) !== place) {
      const others = this.cards.filter((other) => other !== card);
      this.list.insertBefore(card, others[place] ?? null);
      this.#changed();
    }
    djnet.announce(`Piece ${djnet.letters[card.dataset.piece]} at place ${place + 1} of ${this.cards.length}.`);
  }

  #changed() {
    this.mark(null);
    this.moved();
  }

  // Dragging: with a mouse from anywhere on the card, with a finger by the grip (elsewhere a finger scrolls the page).
  #grab(event, card) {
    const onGrip = event.target.closest(".grip");
    if (event.button !== 0 || event.target.closest(".earlier, .later") || (event.pointerType === "touch" && !onGrip)) return;
    const before = this.order.join();
    const from = { x: event.clientX, y: event.clientY };
    const box = card.getBoundingClientRect();
    const held = { x: event.clientX - box.left, y: event.clientY - box.top };
    this.dragged = false;
    const move = (now) => {
      if (!this.dragged && Math.hypot(now.clientX - from.x, now.clientY - from.y) < 6) return;
      if (!this.dragged) {
        this.dragged = true;
        card.classList.add("dragging");
        card.setPointerCapture?.(event.pointerId);
      }
      now.preventDefault();
      this.#follow(card, now, held);
    };
    const end = () => {
      for (const name of ["pointermove", "pointerup", "pointercancel"]) document.removeEventListener(name, name === "pointermove" ? move : end);
      card.classList.remove("dragging");
      card.style.transform = "";
      if (this.dragged && this.order.join() !== before) {
        this.#changed();
        djnet.announce(`Piece ${djnet.letters[card.dataset.piece]} at place ${this.cards.indexOf(card) + 1} of ${this.cards.length}.`);
      }
      setTimeout(() => { this.dragged = false; }); // after the click, if there is one
    };
    document.addEventListener("pointermove", move);
    document.addEventListener("pointerup", end);
    document.addEventListener("pointercancel", end);
  }

  #follow(card, pointer, held) {
    const cards = this.cards;
    const place = cards.indexOf(card);
    const under = cards.findIndex((other) => {
      if (other === card) return false;
      const box = other.getBoundingClientRect();
      return pointer.clientX >= box.left && pointer.clientX <= box.right && pointer.clientY >= box.top && pointer.clientY <= box.bottom;
    });
    if (under >= 0) this.list.insertBefore(card, under > place ? cards[under].nextSibling : cards[under]);
    card.style.transform = "";
    const home = card.getBoundingClientRect();
    card.style.transform = `translate(${pointer.clientX - held.x - home.left}px, ${pointer.clientY - held.y - home.top}px)`;
  }
};

// An order that cannot be moved: letters, right and wrong joins, scores and, where there is one, the similarity matrix of each join.
djnet.orderRow = (puzzle, answer) => {
  const { element, letters, hue, rightJoins } = djnet;
  const joins = rightJoins(answer.order, puzzle.truth);
  const list = element("ol", { class: "order" });
  answer.order.forEach((piece, i) => {
    if (i > 0) list.append(djnet.joinMark(puzzle, answer.order[i - 1], piece, joins[i - 1]));
    list.append(element("li", { class: "chip", style: hue(piece) }, letters[piece]));
  });
  const chips = [...list.querySelectorAll(".chip")];
  const progress = (place) => chips.forEach((chip, i) => chip.classList.toggle("lit", i === place));
  const right = joins.filter(Boolean).length;
  const verdict = right === joins.length ? "every join right" : `${right} of ${joins.length} joins right`;
  const spelt = answer.order.map((piece) => letters[piece]).join(" ");
  const press = element("button", {
    type: "button", class: "play", "aria-label": `Play ${answer.name}: ${spelt}`,
    onclick: () => djnet.play(press, `${answer.name}: ${spelt}`, djnet.parts(puzzle, answer.order), { progress }),
  });
  const heading = element("div", { class: "answer-head" }, press, element("strong", {}, answer.name));
  if (!answer.truth) heading.append(element("span", { class: "verdict" }, verdict));
  return element("div", { class: "answer" }, heading, list);
};

djnet.joinMark = (puzzle, before, after, right) => {
  const { element, letters } = djnet;
  const score = puzzle.scores?.[before]?.[after];
  const known = score === undefined ? "" : ` Score ${score.toFixed(2)}.`;
  const text = `${letters[before]} to ${letters[after]}: ${right ? "right" : "wrong"}.${known}`;
  const mark = element("li", { class: `mark ${right ? "right" : "wrong"}`, title: text });
  mark.append(element("span", { class: "hidden" }, text), element("span", { "aria-hidden": "true" }, right ? "✓" : "✗"));
  if (puzzle.picture) {
    const n = puzzle.truth.length;
    const place = (index) => `${n > 1 ? index / (n - 1) * 100 : 0}%`;
    mark.append(element("span", {
      class: "matrix", "aria-hidden": "true",
      style: `background-image: url("${puzzle.picture}"); background-size: ${n * 100}%; background-position: ${place(after)} ${place(before)}`,
    }));
  }
  if (score !== undefined) mark.append(element("small", { "aria-hidden": "true" }, score.toFixed(2)));
  return mark;
};

// The score of every piece after every other one, as a table.
djnet.scoreTable = (puzzle) => {
  const { element, letters } = djnet;
  const names = puzzle.truth.map((_, piece) => letters[piece]);
  const head = element("tr", {}, element("td"), ...names.map((name) => element("th", { scope: "col" }, `→ ${name}`)));
  const rows = puzzle.scores.map((row, a) => element(
    "tr", {}, element("th", { scope: "row" }, names[a]),
    ...row.map((score, b) => a === b ? element("td", {}, "") : element(
      "td", { style: `--heat: ${Math.round(score * 100)}%`, class: puzzle.truth[puzzle.truth.indexOf(a) + 1] === b ? "heat true" : "heat" }, score.toFixed(2),
    )),
  ));
  return element(
    "div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "SEN's scores" },
    element("table", { class: "scores" }, element("caption", {}, "SEN's score of each piece followed by each other one; the true joins are framed."), element("thead", {}, head), element("tbody", {}, ...rows)),
  );
};
