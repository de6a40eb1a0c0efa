// Music files from the file dialog, from a folder, or dropped anywhere on the page.
const by = (id) => document.getElementById(id);
const MUSIC = /\.(aiff?|flac|m4a|mp3|og[ag]|opus|wav|wma)$/i;

async function filesOf(entry) {
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const all = [];
  for (;;) { // a browser hands over a hundred at a time
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return (await Promise.all(all.map(filesOf))).flat().filter((file) => MUSIC.test(file.name));
    all.push(...some);
  }
}

// `add(files)` is told of whatever comes.
export function watchFiles(add) {
  for (const opener of document.querySelectorAll("[data-add]")) {
    opener.addEventListener("click", () => by(opener.dataset.add).click());
  }
  for (const id of ["files", "folder"]) {
    by(id).addEventListener("change", () => {
      const music = [...by(id).files].filter((file) => id === "files" || MUSIC.test(file.name));
      by(id).value = "";
      add(music);
    });
  }
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    const plain = [...event.dataTransfer.files];
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const files = (await Promise.all(entries.map(filesOf))).flat();
    add(files.length ? files : plain);
  });
}
