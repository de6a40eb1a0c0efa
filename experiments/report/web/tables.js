"use strict";

// Tables that can be sorted by their headings and filtered by words, and show ten rows until more are asked for.
(() => {
  const value = (row, column) => row.cells[column]?.dataset.value ?? row.cells[column]?.textContent.trim() ?? "";

  function compare(a, b) {
    const [x, y] = [Number.parseFloat(a), Number.parseFloat(b)];
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
    return a.localeCompare(b);
  }

  function sort(table, heading) {
    const column = [...heading.parentElement.children].indexOf(heading);
    const upwards = heading.getAttribute("aria-sort") !== "ascending";
    for (const other of heading.parentElement.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", upwards ? "ascending" : "descending");
    const [body] = table.tBodies;
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [value(a, column), value(b, column)];
      if ((x === "") !== (y === "")) return x === "" ? 1 : -1; // empty cells last, either way
      return upwards ? compare(x, y) : compare(y, x);
    });
    body.append(...rows);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    for (const heading of table.tHead.rows[0].cells) {
      const text = heading.textContent;
      heading.replaceChildren(djnet.element("button", { type: "button", onclick: () => sort(table, heading) }, text));
    }
  }
  // Ten rows at first; a filter looks through all of them.
  for (const tools of document.querySelectorAll("[data-show]")) {
    const table = document.getElementById(tools.dataset.show);
    const rows = [...table.tBodies[0].rows];
    const box = tools.querySelector("input"), button = tools.querySelector("button");
    const show = () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
      table.classList.toggle("ten", !words.length && button.getAttribute("aria-pressed") === "false");
    };
    box.addEventListener("input", show);
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") === "false");
      show();
    });
    tools.hidden = rows.length <= 10;
    show();
  }
})();
