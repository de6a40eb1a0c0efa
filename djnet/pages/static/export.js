// The dialog that writes the medley, its progress and what came of it.
import { stop } from "./listen.js";
import { ask } from "./server.js";

const { element, changed } = dom;
const by = (id) => document.getElementById(id);
const address = (name) => `files/${encodeURIComponent(name)}`;

function outcome({ state, step, percent, error, files, remarks }) {
  if (state === "running") return [element("p", {}, `${step}: ${percent}%`)];
  if (state === "failed") return [element("p", { class: "bad" }, error)];
  if (state !== "done") return [];
  const [music] = files;
  const page = files.find((name) => name.endsWith(".html"));
  return [
    element("p", { class: "good" }, `Written: ${music}`),
    ...remarks.map((line) => element("p", { class: "remark" }, line)),
    element("p", {}, element("a", { href: address(music), download: music }, "Download the music"), " · ",
      element("a", { href: address(page), target: "_blank", rel: "noopener" }, "Open its page")),
  ];
}

// Show how far an export is.
export function drawExport(now) {
  if (!changed("export", now)) return;
  const running = now.state === "running";
  by("bar").hidden = !running;
  by("bar").value = now.percent ?? 0;
  by("write").disabled = running;
  by("outcome").replaceChildren(...outcome(now));
}

// `begun()` is told that an export has begun.
export function watchExport(begun) {
  by("export").addEventListener("click", () => {
    stop();
    by("name").value = by("title").value;
    by("dialog").showModal();
    by("name").select();
  });
  by("write").addEventListener("click", () => {
    ask("export", { name: by("name").value, format: by("format").value }).then(begun);
  });
}
