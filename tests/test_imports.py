"""Who may import whom: djnet stands on its own, jobs stand on djnet, and in djnet data flows one way."""

import graphlib
import itertools

import pytest

from experiments.architecture import LAYER_OF, PACKAGES, ROOT, draw, imports, layer, modules

MODULES = modules()
IMPORTS = {name: imports(path, MODULES) for name, path in MODULES.items()}
ALLOWED = {"djnet": {"djnet"}, "preprocessing": {"djnet", "preprocessing"}, "experiments": {"djnet", "experiments"}}
HEAVY = {"tensorflow", "keras"}


def _at_once(name: str) -> set[str]:
    """What is imported as soon as a module is."""
    return {imported.name for imported in IMPORTS[name] if imported.at_once}


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_only_what_they_may(package):
    others = set(PACKAGES) | {"benchmarks", "tests"}
    wrong = [
        f"{name} imports {imported.name}"
        for name in MODULES
        if name.split(".")[0] == package
        for imported in IMPORTS[name]
        if imported.name.split(".")[0] in others - ALLOWED[package]
    ]
    assert not wrong


def test_every_module_of_djnet_has_a_layer_and_every_layer_its_modules():
    named = {".".join(name.split(".")[:2]) for name in MODULES if name.startswith("djnet.")}
    assert named == set(LAYER_OF), "name new modules in LAYERS of experiments/architecture.py"


def _layout() -> list[str]:
    """The Python files that CONTRIBUTING.md names, by the folders above them."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Layout")[1].split("```")[1]
    folders: list[str] = []
    files = []
    for line in text.splitlines():
        depth, name = (len(line) - len(line.lstrip())) // 2, line.split(maxsplit=1)[0] if line.strip() else ""
        folders = [*folders[:depth], name] if name.endswith("/") else folders[:depth]
        named = itertools.takewhile(lambda word: word.endswith((".py", ".csv")), line.split())
        files += ["".join(folders) + file for file in named if file.endswith(".py")]
    return files


def test_the_layout_names_every_module_once():
    files = [str(path.relative_to(ROOT)) for path in MODULES.values() if not path.stem.startswith("__")]
    assert sorted(_layout()) == sorted(files), "CONTRIBUTING.md, Layout"


def test_no_layer_imports_from_one_above_it():
    wrong = [
        f"{name} imports {imported.name}"
        for name in MODULES
        if name.startswith("djnet.")
        for imported in IMPORTS[name]
        if imported.name.startswith("djnet.") and layer(imported.name) > layer(name)
    ]
    assert not wrong


def test_modules_do_not_import_each_other_in_a_circle():
    graph = {name: {other for other in _at_once(name) if other in MODULES} - {name} for name in MODULES}
    graphlib.TopologicalSorter(graph).prepare()  # a CycleError names the modules


FAST = ("djnet.networks.config", "djnet.networks.inference", "djnet.pretrained", "djnet.medley", "djnet.cli")


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith(FAST)])
def test_tensorflow_is_not_imported_with_what_must_start_fast(name):
    reached, waiting = set(), [name]
    while waiting:
        reached.add(here := waiting.pop())
        parents = {here.rsplit(".", i)[0] for i in range(1, here.count(".") + 1)}
        new = _at_once(here) | parents if here in MODULES else set()
        assert not {other.split(".")[0] for other in new} & HEAVY, f"{here} imports TensorFlow"
        waiting += new - reached


def test_the_picture_shows_every_layer():
    drawn = {text.get_text() for text in draw().axes[0].texts}
    assert {"sound", "medley", "preprocessing", "experiments", "scoring", "medley.mix", "report.build"} <= drawn
