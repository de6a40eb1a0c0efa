"""Templates -> pages. Every text is escaped, whatever a title holds; scripts and styles stand in the page itself."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from djnet.files import whole_file

_STATIC = Path(__file__).with_name("static")
GAME_SCRIPTS = ("board.js", "play.js")  # after core.js, which every page has
SCRIPTS = (*GAME_SCRIPTS, "hear.js", "tables.js", "medleys.js", "listening.js")


def render(template: str, **values: Any) -> str:
    """Fill a template."""
    environment = Environment(
        loader=PackageLoader("djnet.pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.globals["file"] = _static
    return environment.get_template(template).render(**values)


def write(path: Path, text: str) -> None:
    """Write a page, whole or not at all. Names of files that are not text are shown with a mark in their place."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8", errors="replace")


def _static(name: str) -> Markup:
    """A style sheet or script of this package, to stand in the page as it is."""
    return Markup((_STATIC / name).read_text(encoding="utf-8"))
