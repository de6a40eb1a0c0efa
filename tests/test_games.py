import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from djnet import baselines, metrics
from djnet.fragments import cut_frames
from djnet.games import Puzzle, jigsaw, jigsaws
from djnet.ordering import best_order


@given(st.text(max_size=20), st.integers(2, 12))
def test_the_truth_puts_the_pieces_back(name, n):
    ordered = [np.full((2, 1), i) for i in range(n)]
    puzzle = Puzzle.shuffled(name, ordered)
    assert [int(puzzle.fragments[piece][0, 0]) for piece in puzzle.truth] == list(range(n))
    assert puzzle.truth == Puzzle.shuffled(name, ordered).truth


def test_a_puzzle_is_not_always_shuffled_the_same_way():
    truths = {Puzzle.shuffled(str(i), [np.zeros(1)] * 4).truth for i in range(50)}
    assert len(truths) > 10


@pytest.mark.parametrize("protocol", ["isolated", "overlapping"])
@pytest.mark.parametrize("segmentation", ["fixed", "downbeat"])
def test_jigsaws_are_the_clips_of_the_split(records, segmentation, protocol):
    clips = {clip.id: clip for clip in records.read_clips("test")}
    found = list(jigsaws(records, "test", segmentation, 4, protocol))
    assert {puzzle.id for puzzle in found} == {
        name for name, clip in clips.items() if f"{segmentation}/4" in clip.segmentations
    }
    for puzzle in found:
        clip = clips[puzzle.id]
        expected = cut_frames(clip.mel, clip.segmentations[f"{segmentation}/4"].cuts, protocol)
        for piece, mel in zip(puzzle.truth, expected, strict=True):
            assert np.array_equal(puzzle.fragments[piece], mel.astype(np.float32))
    assert len(list(jigsaws(records, "test", "fixed", 3, limit=2))) == 2


def test_a_gap_shortens_the_pieces(records):
    clip = next(iter(records.read_clips("test")))
    whole, less = jigsaw(clip, "fixed", 3), jigsaw(clip, "fixed", 3, gap=5)
    assert [len(piece) - 10 for piece in whole.fragments] == [len(piece) for piece in less.fragments]
    with pytest.raises(ValueError, match="A gap of 200 frames leaves nothing"):
        jigsaw(clip, "fixed", 3, gap=200)


def test_one_piece_is_no_puzzle():
    with pytest.raises(ValueError, match="needs at least 2 fragments, got 1"):
        Puzzle.shuffled("alone", [np.zeros((3, 128))])


def test_continuity_solves_a_ramp_and_chance_does_not(rng):
    ramp = np.linspace(0, 1, 60)[:, None] * rng.uniform(0.5, 1, 128)
    puzzles = [Puzzle.shuffled(str(i), np.split(ramp, 6)) for i in range(30)]
    solved = [metrics.global_accuracy(best_order(baselines.continuity(p)).order, p.truth) for p in puzzles]
    guessed = [metrics.global_accuracy(best_order(baselines.chance(p)).order, p.truth) for p in puzzles]
    assert np.mean(solved) == 1.0 and np.mean(guessed) < 0.2
