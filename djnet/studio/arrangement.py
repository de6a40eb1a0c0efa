"""A plan <-> an arrangement: the parts, joins and scores that `djnet medley` would make of it."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from djnet.constants import HOPS_PER_SECOND
from djnet.errors import UserError
from djnet.medley.analysis import Song
from djnet.medley.arrange import Arrangement, Options, arrange, arrange_parts, as_given
from djnet.medley.join_score import Scorer
from djnet.medley.parts import Part, edges
from djnet.medley.search import Constraints
from djnet.medley.transitions import Asked
from djnet.pages import words
from djnet.studio.project import Plan, new_clip

_ENERGY_SECONDS = 1.0  # a point of the curve


def part_of(clip: Mapping[str, Any], song: Song) -> Part:
    """The part of a song that a clip names, from downbeat to downbeat."""
    places = edges(song)
    first = min(int(np.abs(places - clip["start"]).argmin()), len(places) - 2)
    last = max(int(np.abs(places - clip["end"]).argmin()), first + 1)
    return Part(song, float(places[first]), float(places[last]), last - first, 1.0, transpose=clip["transpose"])


def arranged(plan: Plan, songs: Mapping[str, Song], scorer: Scorer) -> Arrangement:
    """The arrangement of a plan as it stands."""
    parts = [part_of(clip, songs[clip["song"]]) for clip in plan["clips"]]
    return as_given(parts, scorer, _options(plan))


def asked_of(plan: Plan) -> list[Asked]:
    """What is asked of each join; it is kept with the clip that it leads to."""
    return [Asked(clip["transition"], clip["bars"]) for clip in plan["clips"][1:]]


def _options(plan: Plan) -> Options:
    return Options(bars=plan["bars"], joins={(i, i + 1): wish for i, wish in enumerate(asked_of(plan))})


def described(arrangement: Arrangement) -> dict[str, Any]:
    """What the page draws: where every clip begins and ends, the joins in words, and the curve of energy."""
    begins = [0.0, *(join.start for join in arrangement.joins)]
    ends = [*(join.end for join in arrangement.joins), arrangement.seconds]
    joins = [
        {
            **{name: round(getattr(join, name), 3) for name in ("start", "middle", "end")},
            "kind": join.kind,
            "bars": join.bars,
            "how": words.how(asdict(join)),
            "why": words.why(terms),
            "score": round(score, 3),
        }
        for join, terms, score in zip(arrangement.joins, arrangement.terms, arrangement.scores, strict=True)
    ]
    clips = [
        {"begin": round(begin, 3), "end": round(end, 3), "start": part.start, "stop": part.end, "bars": part.bars}
        for part, begin, end in zip(arrangement.parts, begins, ends, strict=True)
    ]
    return {
        "seconds": round(arrangement.seconds, 2),
        "clips": clips,
        "joins": joins,
        "score": round(sum(arrangement.scores), 3),
        "energy": _energy(arrangement.parts, begins, arrangement.seconds),
    }


def _energy(parts: Sequence[Part], begins: Sequence[float], seconds: float) -> list[float]:
    """How much sounds in each second of the medley, against its fullest second: -> [S] in [0, 1]."""
    times = np.arange(0.0, max(seconds, _ENERGY_SECONDS), _ENERGY_SECONDS)
    curve = np.zeros(len(times))
    for part, begin in zip(parts, begins, strict=True):
        mel = part.song.mel[int(part.start * HOPS_PER_SECOND) : int(part.end * HOPS_PER_SECOND)]
        level = mel.mean(axis=1, dtype=np.float32)
        for i in np.flatnonzero((times >= begin) & (times < begin + part.end - part.start)):
            first = int((times[i] - begin) * HOPS_PER_SECOND)
            curve[i] = max(curve[i], float(level[first : first + int(HOPS_PER_SECOND)].mean()))
    return np.round(np.nan_to_num(curve) / max(1e-6, float(curve.max())), 3).tolist()


def first_plan(plan: Plan, songs: Mapping[str, Song], scorer: Scorer, length: float) -> Plan:
    """All songs in their best order, with the best part of each, as `djnet medley` chooses them."""
    chosen = list(songs.values())
    made = arrange(chosen, scorer, Constraints(), Options(length=length, bars=plan["bars"]))
    clips = [new_clip(part.song.content, part.start, part.end, part.transpose) for part in made.parts]
    return plan | {"clips": clips, "first": False, "last": False}


def best_order(plan: Plan, songs: Mapping[str, Song], scorer: Scorer) -> tuple[Plan, list[str]]:
    """The same parts in the best order that keeps to the locks, and in words why."""
    clips = plan["clips"]
    if len(clips) < 3:
        raise UserError("With fewer than three songs there is nothing to put in order.")
    last = len(clips) - 1
    constraints = Constraints(
        first=0 if plan["first"] else None,
        last=last if plan["last"] else None,
        together=tuple((i - 1, i) for i, clip in enumerate(clips) if i and clip["tied"]),
    )
    parts = [part_of(clip, songs[clip["song"]]) for clip in clips]
    try:
        made = arrange_parts([[part] for part in parts], scorer, constraints, _options(plan))
    except ValueError as error:
        raise UserError("No order keeps to all locks: unlock one.") from error
    order = made.solution.order
    old = set(itertools.pairwise(range(len(clips))))
    ordered = [
        clips[b] if (a, b) in old else clips[b] | {"transition": None, "bars": None, "tied": False}
        for a, b in itertools.pairwise([-1, *order])
    ]
    names = [part.song.name for part in parts]
    before = sum(as_given(parts, scorer, _options(plan)).scores)
    return plan | {"clips": ordered}, _reasons(made, names, before)


def _reasons(made: Arrangement, names: Sequence[str], before: float) -> list[str]:
    """Why this order, in sentences."""
    value, solution, second = sum(made.scores), made.solution, made.second
    changed = f"before it was {before:.2f}" if abs(value - before) > 0.005 else "as before"
    proof = "no order scores higher around your locks (proven)" if solution.proven else "a higher one was not found"
    lines = [f"The joins score {value:.2f} in all, {changed}; {proof}."]
    labels = {"first": "The first song's lock", "last": "The last song's lock", "together": "Neighbours kept together"}
    lines += [f"{labels[name]} cost {cost:.2f}." for name, cost in made.costs.items() if cost > 0.005]
    worst = int(np.argmin(made.scores))
    a, b = (names[i] for i in solution.order[worst : worst + 2])
    lines.append(f"The weakest join is {a} to {b}: {', '.join(words.why(made.terms[worst]))}.")
    if second is not None:
        order = " → ".join(names[i] for i in second.order)
        lines.append(f"Second-best order, {max(0.0, solution.value - second.value):.2f} less: {order}.")
    return lines
