"use strict";

// Elements of a page, and what a screen reader is told.
const dom = (() => {
  // element("button", {class: "x", "aria-label": "y", onclick: f}, "text", child, ...): text is never read as HTML.
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  }

  // Whether a part of the page has to be drawn anew: else what is open, held or focused in it would be lost.
  const shown = new Map();
  function changed(part, ...facts) {
    const before = shown.get(part);
    shown.set(part, JSON.stringify(facts));
    return shown.get(part) !== before;
  }

  function announce(text) {
    const region = document.getElementById("announcements");
    region.textContent = "";
    // A change in the same turn would not be heard.
    requestAnimationFrame(() => { region.textContent = text; });
  }

  return { element, changed, announce };
})();
