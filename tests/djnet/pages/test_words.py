import pytest

from djnet.pages import words

JOIN = {"kind": "blend", "start": 10.0, "end": 14.0, "bars": 2, "stretch": 0.0123, "reason": ""}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "blend: both songs in step, over 2 bars, stretched by 1.2%"),
        ({"bars": 1, "stretch": 0.0, "reason": "2 bars against 1"}, "step, over 1 bar, 2 bars against 1"),
        ({"kind": "overlay", "bars": 0, "stretch": 0.0}, "overlay: a long cross-fade, over 4 s"),
        ({"kind": "cut", "bars": 0, "stretch": 0.0, "end": 10.02}, "cut on the downbeat"),
        ({"kind": "of the future", "bars": 0, "stretch": 0.0, "end": 10.02}, "of the future"),
    ],
)
def test_a_join_is_said_in_words(changed, said):
    assert words.how(JOIN | changed).endswith(said)


def test_terms_are_said_in_words_and_a_new_one_is_named():
    terms = {"tempo": 1.0, "harmony": 0.65, "energy": -0.1, "sen": 0.0, "voices": 0.5, "new": 0.25}
    assert words.why(terms) == [
        "beats go together",
        "keys related",
        "a large step in energy",
        "two voices at once",
        "new 0.25",
    ]
