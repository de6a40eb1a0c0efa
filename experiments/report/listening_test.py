"""The listening test: the same songs in two orders, blind; each order is heard as its joins, 20 seconds each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from djnet.files import digest_json
from djnet.medley import mix, receipt
from djnet.medley.analysis import Song, analyse
from djnet.medley.arrange import Options, arrange
from djnet.medley.join_score import Scorer
from djnet.medley.key import closeness
from djnet.medley.search import Constraints
from djnet.medley.tempo import octaves_apart
from djnet.medley.transitions import RATE_HZ
from djnet.ordering import best_order
from djnet.pages.sound import as_text
from djnet.rng import rng_for
from experiments.report.music import ClipWithMusic, Music
from experiments.report.recordings import Recording

SONGS = 4  # in an order: three joins, a minute of music
GROUPS = 6
TRACKS = 24  # from which the songs are drawn
JOIN_SECONDS = 20.0
_PAUSE_SECONDS = 0.8  # between joins
_FADE_SECONDS = 0.5  # at both ends of each
# One part of each song, long enough that 20 s hold a single join: only the order differs.
_OPTIONS = Options(length=24.0, candidates=1)
# The two pairs of orders that a group of songs is heard in: every order once a group, every pair twice in six groups.
_PAIRS = (
    (("mix", "sen"), ("tempo and key", "random")),
    (("mix", "tempo and key"), ("sen", "random")),
    (("mix", "random"), ("sen", "tempo and key")),
)


def listening_test(music: Music, cache: Path) -> dict[str, Any] | None:
    """The listening test as the page takes it, or nothing if too few recordings have downbeats.

    Songs are analysed as for a medley; what was analysed is kept in the folder `cache`.
    """
    by_track: dict[str, ClipWithMusic] = {}
    for one in music.clips:
        if "downbeat/3" in one.clip.segmentations:
            by_track.setdefault(one.clip.track, one)
    recordings = {str(one.recording.path): one.recording for one in list(by_track.values())[:TRACKS]}
    if len(recordings) < SONGS:
        return None
    songs, _ = analyse(list(recordings), cache)
    scorer = music.scorers["medley"].scores
    trials: list[dict[str, Any]] = []
    for group in tqdm(range(GROUPS), desc="listening test", unit="group"):
        rng = rng_for(0, "listening", group)
        drawn = [songs[i] for i in rng.choice(len(songs), SONGS, replace=False)]
        chosen = orders(drawn, scorer, rng)
        for pair in _PAIRS[group % len(_PAIRS)]:
            if len({chosen[name] for name in pair}) == 2:  # else there is nothing to compare
                first, second = ({"name": name, **_heard(music, drawn, chosen[name], recordings)} for name in pair)
                trials.append({"id": f"t{len(trials) + 1}", "first": first, "second": second})
    return {"id": digest_json(trials)[:12], "trials": trials}


def orders(songs: Sequence[Song], scorer: Scorer, rng: np.random.Generator) -> dict[str, tuple[int, ...]]:
    """The four orders of some songs by name: two of `djnet medley --order`, what other tools go by, and chance."""
    by_rule: dict[str, Sequence[int]] = {
        rule: arrange(songs, scorer, Constraints(), Options(_OPTIONS.length, candidates=1, order=rule)).solution.order
        for rule in ("mix", "sen")
    }
    by_rule |= {"tempo and key": best_order(likeness(songs)).order, "random": rng.permutation(len(songs)).tolist()}
    return {name: tuple(int(i) for i in order) for name, order in by_rule.items()}


def likeness(songs: Sequence[Song]) -> np.ndarray:
    """How near tempo and key of every two songs are, as other tools go by: -> [n, n]."""
    bpm = np.array([song.bpm or np.nan for song in songs])
    near = np.array([[closeness(a.key, b.key) for b in songs] for a in songs])
    return near - np.nan_to_num(4.0 * octaves_apart(bpm[:, None], bpm), nan=2.0)  # without a beat: as far as can be


def _heard(
    music: Music, songs: Sequence[Song], order: Sequence[int], recordings: Mapping[str, Recording]
) -> dict[str, Any]:
    """Render songs in an order and write its joins beside the page: -> the sound and its length in seconds."""
    scorer = music.scorers["medley"].scores
    arrangement = arrange([songs[i] for i in order], scorer, Constraints(keep_order=True), _OPTIONS)
    plan = receipt.make_receipt(arrangement, "", _OPTIONS.bars, mix.PEAK_DB, "")

    def encode() -> str:
        made = mix.render(receipt.read_segments(plan), plan["bars"], plan["peak_db"])
        return as_text(excerpts(made.samples.mean(axis=1), [join.middle for join in made.joins]), RATE_HZ)

    facts = [plan["djnet"], JOIN_SECONDS, [[clip["content"], clip["start"], clip["end"]] for clip in plan["clips"]]]
    sound = music.assets.add_music(facts, [recordings[song.path] for song in songs], encode)
    return {"sound": sound, "seconds": (SONGS - 1) * (JOIN_SECONDS + _PAUSE_SECONDS)}


def excerpts(samples: np.ndarray, middles: Sequence[float]) -> np.ndarray:
    """The 20 s around each of some seconds, faded in and out, with a pause after each: [N] -> [M]."""
    half, pause = round(JOIN_SECONDS / 2 * RATE_HZ), round(_PAUSE_SECONDS * RATE_HZ)
    ramp = np.minimum(1.0, np.arange(2 * half) / (_FADE_SECONDS * RATE_HZ))
    padded = np.pad(samples, half)
    pieces = [padded[round(middle * RATE_HZ) :][: 2 * half] * ramp * ramp[::-1] for middle in middles]
    return np.concatenate([np.pad(piece, (0, pause)) for piece in pieces]).astype(np.float32)
