import itertools

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from djnet.medley import receipt
from djnet.medley.mix import Mix
from djnet.medley.transitions import RATE_HZ, Join


def test_names_in_the_picture_do_not_cover_each_other(tmp_path, monkeypatch):
    drawn: list[Figure] = []
    save = Figure.savefig

    def keep(figure, *given, **named):
        drawn.append(figure)
        save(figure, *given, **named)

    monkeypatch.setattr(Figure, "savefig", keep)
    middles = [8.0, 20.0, 31.0, 47.0, 55.0]
    joins = [Join("cut", middle - 0.02, middle, middle, 0, 0.0, "") for middle in middles]
    made = Mix(np.zeros((60 * RATE_HZ, 2), np.float32), [np.zeros((0, 2))] * 6, joins)
    receipt.draw(tmp_path / "x.png", made, [f"{i} A SONG Whose Name is Rather Long" for i in range(6)], [0.5] * 5)
    (figure,) = drawn
    FigureCanvasAgg(figure).draw()
    names = [text for text in figure.axes[0].texts if "SONG" in text.get_text()]
    boxes = [text.get_window_extent() for text in names]
    assert len(boxes) == 6 and all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
    assert [text.get_text().strip()[0] for text in names] == list("012345")
