"""Draw the modules of djnet and their imports, in the order in which data flows: `make architecture`.

    python -m experiments.architecture --output=docs/architecture.svg

One box a module. An arrow goes from a module to one that it imports, and from a package of jobs to the layers of djnet
that it imports from. Left out are imports that follow from others, and the modules that everything uses. The test of
the imports goes by `LAYERS` too.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from absl import flags

from djnet.cli import job
from djnet.files import whole_file
from experiments.plots.charts import new_figure

ROOT = Path(__file__).parents[1]
PACKAGES = ("djnet", "preprocessing", "experiments")
# The modules of djnet, from the sound to the command line: none imports from a layer further down.
LAYERS = {
    "used by all": "constants errors files processes rng",
    "sound": "audio features annotations downbeats",
    "cuts and orders": "cuts pairs ordering travelling_salesman metrics",
    "records": "tfrecords records storage puzzles augmentation dataset baselines",
    "corpora": "corpora",
    "networks": "networks models",
    "scores": "scoring pretrained",
    "medley": "medley",
    "pages": "pages studio",
    "command line": "cli",
}
WIDTH, HEIGHT, COLUMN, ROW = 1.7, 0.28, 2.2, 0.44  # of a box, and from one to the next
COLOURS = {"djnet": "#0072b2", "preprocessing": "#d55e00", "experiments": "#009e73"}
LAYER_OF = {f"djnet.{name}": layer for layer, names in enumerate(LAYERS.values()) for name in names.split()}


class Import(NamedTuple):
    """A module that another one imports, and whether that happens as soon as the other is imported."""

    name: str
    at_once: bool


def modules() -> dict[str, Path]:
    """All modules of the three packages by name."""
    paths = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def imports(path: Path, known: dict[str, Path]) -> set[Import]:
    """Everything that a file imports, modules of other packages too; what is there for type checkers does not count."""
    return set(_imports(ast.parse(path.read_text(encoding="utf-8")), known, at_once=True))


def _imports(node: ast.AST, known: dict[str, Path], at_once: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, at_once) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            for alias in child.names:
                submodule = f"{child.module}.{alias.name}"
                yield Import(submodule if submodule in known else str(child.module), at_once)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(child, known, at_once and not inside)


def layer(name: str) -> int:
    """The layer of a module of djnet; a KeyError for one that has none."""
    return LAYER_OF[".".join(name.split(".")[:2])]


def graph() -> dict[str, set[str]]:
    """What is drawn: for each module those that it imports, without the ones that come along with another of them."""
    known = modules()
    used_by_all = {name for name in known if name.startswith("djnet.") and not layer(name)}
    hidden = used_by_all | {*PACKAGES, "djnet.cli.job"}
    drawn = {name: imports(path, known) for name, path in known.items() if name not in hidden and _has_code(path)}
    edges: dict[str, set[str]] = {name: set() for name in drawn}
    for name, imported in drawn.items():
        for other, at_once in imported:
            if other in drawn and other != name and (at_once or Import(name, True) not in drawn[other]):
                edges[name].add(other)

    def below(name: str) -> set[str]:
        return edges[name].union(*map(below, edges[name]))

    return {name: {one for one in own if not any(one in below(other) for other in own)} for name, own in edges.items()}


def _has_code(path: Path) -> bool:
    """Whether a file defines something; others are packages and old names."""
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign) for node in nodes)


def columns(edges: dict[str, set[str]]) -> dict[str, list[list[str]]]:
    """The modules of each package in columns, from left to right as data flows: djnet's layers, other modules by depth.

    No module imports one further right, nor one further down in its column.
    """

    def depth(name: str, among: set[str]) -> int:
        return max((depth(other, among) + 1 for other in edges[name] & among), default=0)

    packages = {}
    for package in PACKAGES:
        own = {name for name in edges if name.startswith(f"{package}.")}
        place = {name: layer(name) - 1 if package == "djnet" else depth(name, own) for name in own}
        groups = [{name for name in own if place[name] == i} for i in range(max(place.values()) + 1)]
        packages[package] = [sorted(group, key=lambda name: (depth(name, group), name)) for group in groups]
    return packages


def draw() -> Any:
    """The figure: djnet above, a frame a layer; the jobs that use it below, a frame a package."""
    edges = graph()
    packages = columns(edges)
    floor = -ROW * max(map(len, packages["djnet"])) - 1.2
    shift = COLUMN * len(packages["preprocessing"])
    corners = {"djnet": (0.0, 0.0), "preprocessing": (0.0, floor), "experiments": (shift, floor)}
    boxes = {}  # name -> left edge, middle
    frames: dict[str, list[tuple[float, float]]] = {}
    for package, groups in packages.items():
        for i, group in enumerate(groups):
            for row, name in enumerate(group):
                boxes[name] = corners[package][0] + COLUMN * i, corners[package][1] - ROW * row
                frames.setdefault(_frame_of(name), []).append(boxes[name])

    figure = new_figure(17, 10)
    axes = figure.subplots()
    for title, inside in frames.items():
        colour = COLOURS.get(title, COLOURS["djnet"])
        (left, right), (bottom, top) = ((min(places), max(places)) for places in zip(*inside, strict=True))
        size = right - left + WIDTH + 0.16, top - bottom + HEIGHT + 0.2
        axes.barh(bottom - HEIGHT / 2 - 0.1, size[0], size[1], left - 0.08, align="edge", color=colour, alpha=0.1)
        axes.text(left - 0.08, bottom - 0.5 if title in PACKAGES else top + 0.32, title, fontsize=12, color=colour)
    for name, (x, y) in boxes.items():
        colour = COLOURS[name.split(".")[0]]
        axes.barh(y, WIDTH, HEIGHT, x, facecolor="white", edgecolor=colour, zorder=3)
        text = name.split(".", 1)[1].removesuffix(".__main__")
        axes.text(x + WIDTH / 2, y, text, ha="center", va="center", fontsize=9, zorder=4)
        for other in sorted(other for other in edges[name] if other.split(".")[0] == name.split(".")[0]):
            a, b = boxes[other]
            bend = -0.4 / abs(y - b) if a == x else 0.0
            _arrow(axes, (x, y), (a if a == x else a + WIDTH, b), bend, color=colour)
    for package in PACKAGES[1:]:
        used = {_frame_of(other) for name in edges if _frame_of(name) == package for other in edges[name]} - {package}
        places = sorted(frames[package])
        for i, title in enumerate(sorted(used, key=list(frames).index)):
            start = places[0][0] + (places[-1][0] + WIDTH - places[0][0]) * (i + 0.5) / len(used)
            end = min(frames[title])
            offset = WIDTH * (0.35 if package == "preprocessing" else 0.65)
            _arrow(axes, (start, floor + 0.24), (end[0] + offset, end[1] - 0.24), color=COLOURS[package], lw=1.6)
    axes.set_xlim(-0.4)
    axes.axis("off")
    return figure


def _frame_of(name: str) -> str:
    """The title of the frame that a module stands in."""
    package = name.split(".")[0]
    return list(LAYERS)[layer(name)] if package == "djnet" else package


def _arrow(axes: Any, start: tuple, end: tuple, bend: float = 0.0, **style: Any) -> None:
    style = {"arrowstyle": "-|>", "lw": 0.9, "alpha": 0.7, "shrinkA": 0, "shrinkB": 0} | style
    axes.annotate("", end, start, arrowprops=style | {"connectionstyle": f"arc3,rad={bend}"}, zorder=2)


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("output", str(ROOT / "docs" / "architecture.svg"), "The picture to write.")


def main(given: Any) -> None:
    """Draw the picture."""
    with whole_file(Path(given.output)) as partial:
        draw().savefig(partial, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    job.run(main, define_flags)
