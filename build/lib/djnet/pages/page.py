"""Templates -> pages that open from disk. Every text is escaped; scripts and styles stand in the page itself."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from djnet.files import whole_file

_HERE = Path(__file__).parent


def write_page(path: Path, template: str, *folders: Path, **values: Any) -> None:
    """Fill a template and write the page, whole or not at all.

    Templates, scripts and styles are looked for in `folders`, then in this package. Characters that are not text, such
    as those of odd file names, are replaced.
    """
    loader = FileSystemLoader([*folders, _HERE / "templates", _HERE / "static"])
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.globals["file"] = lambda name: Markup(loader.get_source(environment, name)[0])
    text = environment.get_template(template).render(**values)
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8", errors="replace")
