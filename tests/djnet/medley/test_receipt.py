import itertools
import json

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from djnet.errors import UserError
from djnet.medley import receipt
from djnet.medley.mix import Mix
from djnet.medley.transitions import RATE_HZ, Asked, Join

CLIP = {
    "song": "a.wav",
    "content": "",
    "begin": 0.0,
    "start": 0.5,
    "end": 9.0,
    "beats": [[1.0, 1]],
    "bpm": 0.0,
    "key": "",
}
RECEIPT = {"title": "", "bars": 2, "peak_db": -1.0, "clips": [CLIP, CLIP], "scores": [0.5]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clips": {}}, "clips is not a list"),
        ({"clips": [CLIP, CLIP | {"begin": "now"}]}, r"clips\[1\].begin is not a number"),
        ({"clips": [CLIP | {"end": float("nan")}, CLIP]}, r"clips\[0\].end is not a number"),
        ({"clips": [CLIP | {"end": 0.1}, CLIP]}, "do not fit together"),
        ({"clips": [CLIP | {"beats": [[1.0]]}, CLIP]}, "do not fit together"),
        ({"clips": [], "scores": []}, "do not fit together"),
        ({"scores": []}, "do not fit together"),
        ({"bars": True}, "bars is not a whole number"),
        ({"asked": [{}, {}]}, "asked must have"),
        ({"asked": [{"transition": "jump"}]}, "asked must have"),
        ({"asked": [{"bars": 99}]}, "asked must have"),
        ({"bars": 10**9}, "do not fit together"),
        ({"peak_db": 300.0}, "do not fit together"),
        ({"clips": [CLIP | {"end": 10**400}, CLIP]}, r"clips\[0\].end is not a number"),
        ({"clips": [CLIP | {"song": "a\0.wav"}, CLIP]}, "do not fit together"),
    ],
)
def test_a_receipt_of_the_wrong_shape_is_refused_by_its_place(tmp_path, change, message):
    path = tmp_path / "medley.json"
    path.write_text(json.dumps(RECEIPT))
    assert receipt.read_receipt(path) == RECEIPT
    path.write_text(json.dumps(RECEIPT | change))
    with pytest.raises(UserError, match=rf"medley.json is damaged \(.*{message}"):
        receipt.read_receipt(path)


def test_joins_can_be_set_by_hand(tmp_path):
    path = tmp_path / "medley.json"
    path.write_text(json.dumps(RECEIPT | {"asked": [{"transition": "echo", "bars": 4}]}))
    assert receipt.read_asked(receipt.read_receipt(path)) == [Asked("echo", 4)]
    assert receipt.read_asked(RECEIPT) == []  # all left to the rule


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


def test_names_in_any_script_are_drawn_without_a_warning(tmp_path, recwarn):
    times = np.stack([np.arange(8.0), np.arange(8) % 4 + 1], axis=1)
    made = Mix(np.zeros((8 * RATE_HZ, 2), np.float32), [times], [])
    receipt.draw(tmp_path / "x.png", made, ["\u6771\u4eac \u0e01\u0e23\u0e38\u0e07 \U0001f3b5"], [])
    assert (tmp_path / "x.png").exists() and not [str(one.message) for one in recwarn]


def test_the_playlist_names_the_songs_in_their_order(tmp_path):
    facts = {"clips": [{"song": f"/music/{name}.mp3", "name": name} for name in ("F\u00eate", "\u6771\u4eac")]}
    receipt._write_playlist(tmp_path / "x.m3u8", facts)
    lines = (tmp_path / "x.m3u8").read_text(encoding="utf-8").splitlines()
    assert lines == [
        "#EXTM3U",
        "#EXTINF:-1,F\u00eate",
        "/music/F\u00eate.mp3",
        "#EXTINF:-1,\u6771\u4eac",
        "/music/\u6771\u4eac.mp3",
    ]
