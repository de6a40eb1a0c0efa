from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from djnet import baselines, metrics
from djnet.annotations import read_sections
from djnet.audio import load
from djnet.cuts import PROTOCOLS, cut_fragments, downbeat_hops, fragment_mel, spans_between
from djnet.features import log_mel
from djnet.ordering import best_order
from djnet.puzzles import Edges, Puzzle, jigsaw, jigsaws, recording


@given(st.text(max_size=20), st.integers(2, 12))
def test_the_truth_puts_the_pieces_back(name, n):
    ordered = [np.full((2, 1), i) for i in range(n)]
    puzzle = Puzzle.shuffled(name, ordered)
    assert [int(puzzle.fragments[piece][0, 0]) for piece in puzzle.truth] == list(range(n))
    assert puzzle.truth == Puzzle.shuffled(name, ordered).truth


def test_a_puzzle_is_not_always_shuffled_the_same_way():
    truths = {Puzzle.shuffled(str(i), [np.zeros(1)] * 4).truth for i in range(50)}
    assert len(truths) > 10


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("segmentation", ["fixed", "downbeat"])
def test_jigsaws_are_the_clips_of_the_split(records, segmentation, protocol):
    clips = {clip.id: clip for clip in records.read_clips("test")}
    found = list(jigsaws(records, "test", segmentation, 4, protocol))
    assert {puzzle.id for puzzle in found} == {
        name for name, clip in clips.items() if f"{segmentation}/4" in clip.segmentations
    }
    for puzzle in found:
        clip = clips[puzzle.id]
        cuts = clip.segmentations[f"{segmentation}/4"].cuts
        expected = cut_fragments(clip.waveform, spans_between(cuts), protocol)
        assert (puzzle.track, puzzle.group) == (clip.track, clip.group)
        for place, (piece, mel) in enumerate(zip(puzzle.truth, expected, strict=True)):
            assert np.array_equal(puzzle.fragments[piece], mel)
            own = clip.waveform[cuts[place] * 512 : cuts[place + 1] * 512]
            assert np.array_equal(puzzle.edges[piece].end, own[-2048:])
            assert np.array_equal(puzzle.edges[piece].beginning, own[:64])
    assert len(list(jigsaws(records, "test", "fixed", 3, limit=2))) == 2


def test_a_gap_shortens_the_pieces(records):
    clip = next(iter(records.read_clips("test")))
    whole, less = jigsaw(clip, "fixed", 3), jigsaw(clip, "fixed", 3, gap=5)
    assert [len(piece) - 10 for piece in whole.fragments] == [len(piece) for piece in less.fragments]
    with pytest.raises(ValueError, match="Too much is removed of"):
        jigsaw(clip, "fixed", 3, gap=200)


def test_a_bar_removed_before_every_cut(records):
    puzzles = list(jigsaws(records, "test", "downbeat", 3, bar_removed=True))
    clips = {clip.id: clip for clip in records.read_clips("test")}
    assert puzzles
    for puzzle in puzzles:
        clip = clips[puzzle.id]
        cuts, downbeats = clip.segmentations["downbeat/3"].cuts, downbeat_hops(clip.beats, 0, len(clip.mel))
        for piece, first, last in zip(puzzle.truth, cuts, cuts[1:], strict=False):
            assert len(puzzle.fragments[piece]) == 1 + downbeats[downbeats < last][-1] - first


def test_one_piece_is_no_puzzle():
    with pytest.raises(ValueError, match="needs at least 2 fragments, got 1"):
        Puzzle.shuffled("alone", [np.zeros((3, 128))])


def test_continuity_solves_a_ramp_and_chance_does_not(rng):
    ramp = np.linspace(0, 1, 60)[:, None] * rng.uniform(0.5, 1, 128)
    puzzles = [Puzzle.shuffled(str(i), np.split(ramp, 6)) for i in range(30)]
    solved = [metrics.global_accuracy(best_order(baselines.continuity(p)).order, p.truth) for p in puzzles]
    guessed = [metrics.global_accuracy(best_order(baselines.random(p)).order, p.truth) for p in puzzles]
    assert np.mean(solved) == 1.0 and np.mean(guessed) < 0.2


def test_a_click_gives_a_wrong_join_away(rng):
    """A slowly changing chord, cut at places that are nothing to the eye of a spectrogram."""
    time = np.arange(6 * 22_050) / 22_050
    tone = sum(
        np.sin(2 * np.pi * f * time + p) for f, p in zip(rng.uniform(80, 900, 5), rng.uniform(0, 6, 5), strict=True)
    )
    pieces = np.split(tone.astype(np.float32), [30_001, 55_555, 80_003, 101_010])
    edges = [Edges.of(piece) for piece in pieces]
    for i in range(10):
        puzzle = Puzzle.shuffled(str(i), [np.zeros((5, 128))] * 5, (), edges)
        assert best_order(baselines.click(puzzle)).order == puzzle.truth


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_sections_of_a_song(songs, protocol):
    path = Path(songs.tracks[0].path)
    annotation = path.with_name("song-0000.sections.csv")
    samples, parts = load(path), read_sections(annotation)
    puzzle = recording(path, annotation, limit=5, protocol=protocol)
    assert len(puzzle.fragments) == 5
    for piece, part in zip(puzzle.truth, parts, strict=False):
        first, last = (round(time * 22_050) for time in (part.start, part.end))
        if protocol == "overlapping":
            own = log_mel(samples[: round(parts[4].end * 22_050)])[-(-first // 512) : -(-last // 512)]
            assert np.array_equal(puzzle.fragments[piece], own)
        else:
            assert np.array_equal(puzzle.fragments[piece], fragment_mel(samples[first:last], protocol))


def test_parts_beyond_the_end_of_the_audio(tmp_path, write_tone):
    path = write_tone(tmp_path / "mix.wav", seconds=12)
    cue = tmp_path / "mix.cue"
    cue.write_text("INDEX 01 00:00:00\nINDEX 01 00:06:00\n")
    assert len(recording(path, cue).fragments) == 2
    cue.write_text("INDEX 01 00:00:00\nINDEX 01 00:20:00\n")
    with pytest.raises(ValueError, match=r"mix.cue: the part at 0 s lies beyond the end of .*mix.wav \(12.0 s\)"):
        recording(path, cue)


def test_two_pieces_of_the_same_audio_make_a_puzzle_undecidable():
    a, b, c = np.random.default_rng(0).uniform(0, 8, (3, 40, 128))
    assert Puzzle.shuffled("fair", [a, b, c]).is_decidable
    assert not Puzzle.shuffled("loop", [a, b, a + 0.01]).is_decidable
    assert not Puzzle.shuffled("a frame less", [a, b, a[:-1]]).is_decidable
    assert Puzzle.shuffled("longer", [a, b, np.concatenate([a, c])]).is_decidable
