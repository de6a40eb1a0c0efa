"""Every training run that a table of the paper needs, by name: `--experiment=table3/downbeat/sn`."""

import json
import re
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from djnet.constants import CLIP_SECONDS, seconds_to_hops
from djnet.cuts import PROTOCOLS
from djnet.errors import UserError
from djnet.files import digest_json, read_json
from djnet.networks.config import NAMES, NetworkConfig, config_for
from djnet.pairs import Kind, pairs_of, questions_for

OPTIMISERS = ("sgd", "adam")
# How the published rows are trained, all alike: with Adam, as the authors' release; in the same few epochs SEN does at
# least as well as with the paper's SGD (`make study`).
TRAINING: dict[str, Any] = {"optimiser": "adam", "learning_rate": 0.001, "epochs": 24}
ALL_KINDS = tuple(kind.name for kind in Kind)
# Clips a step: of 4 and 16, what brings each network further in ten epochs by validation puzzles (`make study`).
BATCHES = {"sen": 4, "sn": 4, "cin": 16, "ccsn": 4, "tsn": 4, "opn": 4}
# A clip has few downbeats, which are soon known by heart: three clips of four are cut off the beat (`make study`).
OFF_BEAT = {"fixed": 0.0, "downbeat": 0.75}
MORE_MUSIC = ("pop909 (rendered)",)
WIDE = {"tower": (128, 256, 512), "convnet": (64, 128, 256), "dense": (1024, 1024)}  # as wide as the paper's


@dataclass(frozen=True)
class Run:
    """One training run; two runs with the same values give the same weights."""

    model: str = "sen"
    segmentation: str = "fixed"
    protocol: str = "centred"
    preset: str = "compact"
    ablation: dict[str, Any] = field(default_factory=dict)  # fields of the network that differ from the preset
    kinds: tuple[str, ...] = ALL_KINDS
    n: int = 3
    optimiser: str = "sgd"
    learning_rate: float = 0.05
    warmup_steps: int = 100
    batch_clips: int = 4
    epochs: int = 40
    patience: int = 0  # epochs without a better validation score after which to stop; 0 for never
    l2: float = 1e-4
    redraw: bool = True  # draw the cuts anew in every epoch: the start of equal ones, the choice of downbeats
    off_beat: float = 0.0  # share of the clips whose cuts at downbeats are moved off the beat, with `redraw`
    timbre: bool = False  # augmentation: change level, spectral tilt, noise and pitch of every clip
    spec_augment: bool = False
    gap_seconds: float = 0.0  # removed on each side of every cut
    random_gap: bool = False  # for each clip a gap from 0 to that, drawn anew in every epoch
    share: float = 1.0  # of the training clips that is seen at all, for learning curves
    also: tuple[str, ...] = ()  # corpora whose training clips are seen besides
    seed: int = 0

    def __post_init__(self) -> None:
        for name, allowed in (
            ("model", NAMES),
            ("segmentation", ("fixed", "downbeat")),
            ("protocol", PROTOCOLS),
            ("optimiser", OPTIMISERS),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}.")
        for name in ("n", "batch_clips", "epochs", "warmup_steps", "patience", "seed"):
            if not isinstance(getattr(self, name), int):
                raise ValueError(f"{name} must be a whole number, got {getattr(self, name)!r}.")
        if not isinstance(self.also, tuple) or not all(isinstance(name, str) for name in self.also):
            raise ValueError(f"also must be names of corpora, got {self.also!r}.")
        if self.n > CLIP_SECONDS:
            raise ValueError(f"A clip of {CLIP_SECONDS:g} s cannot be cut into {self.n} fragments.")
        for name in ("learning_rate", "batch_clips", "epochs"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}.")
        for name in ("l2", "gap_seconds", "warmup_steps", "patience", "seed"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}.")
        if not 0 <= self.off_beat <= 1:
            raise ValueError(f"off_beat must be from 0 to 1, got {self.off_beat}.")
        if not 0 < self.share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, got {self.share}.")
        if set(self.kinds) - set(ALL_KINDS) or len(set(self.kinds)) < len(self.kinds):
            raise ValueError(f"kinds are {', '.join(ALL_KINDS)}, got {', '.join(self.kinds)}.")
        questions_for(self.model, pairs_of(self.n), [Kind[name] for name in self.kinds])
        if self.shortest_frames <= 0:
            raise ValueError(
                f"A gap of {self.gap_seconds:g} s leaves nothing of fragments of {CLIP_SECONDS / self.n:g} s."
            )
        if self.network.stride > 1 and self.shortest_frames < self.network.stride ** len(self.network.tower):
            raise ValueError(f"Fragments of {self.shortest_frames} frames are shorter than the strides of the tower.")

    @property
    def network(self) -> NetworkConfig:
        """The network's configuration."""
        return config_for(self.preset, **self.ablation)

    @property
    def shortest_frames(self) -> int:
        """No fragment has fewer frames: the equal ones all, those cut at downbeats at least half as many."""
        seconds = CLIP_SECONDS / self.n if self.segmentation == "fixed" else CLIP_SECONDS // self.n / 2
        return seconds_to_hops(seconds) - 4 - 2 * seconds_to_hops(self.gap_seconds)  # trimmed has the fewest

    @property
    def padded(self) -> bool:
        """Whether batches may hold padding; windows at the join are always full."""
        return not self.network.window_frames or self.network.window_frames > self.shortest_frames

    @property
    def name(self) -> str:
        """A name for the run's folder: what people look for, and a hash of all settings."""
        parts = [self.model, self.segmentation, self.protocol, self.preset]
        parts += [f"{key}={_short(value)}" for key, value in sorted(self.ablation.items())]
        if self.kinds != ALL_KINDS:
            parts.append("+".join(self.kinds))
        if self.gap_seconds:
            parts.append(f"gap={self.gap_seconds:g}")
        parts += [f"also={re.sub('[^a-z0-9]+', '_', name.lower()).strip('_')}" for name in self.also]
        return "-".join([*parts, f"epochs={self.epochs}", f"seed={self.seed}", self.hash])

    @property
    def row(self) -> tuple[Any, ...]:
        """What makes it a certain row of a table; runs that differ only in how they were trained are the same row."""
        values = self.to_json()
        return tuple(json.dumps(values[name], sort_keys=True) for name in (*_ROW, "seed"))

    @property
    def hash(self) -> str:
        """A short hash of everything that changes the weights but the seed."""
        values = {name: value for name, value in self.to_json().items() if name != "seed"}
        network = asdict(self.network)
        if network["pool_edges"] == "end":  # newer than the first runs, which keep their names
            del network["pool_edges"]
        return digest_json(values | {"network": network})[:8]

    def differences(self, other: "Run") -> str:
        """In words, how this run was trained otherwise than another one; empty if they differ in the seed only."""
        ours, theirs = self.to_json(), other.to_json()
        return ", ".join(f"{name} {ours[name]}" for name in ours if name != "seed" and ours[name] != theirs[name])

    def to_json(self) -> dict[str, Any]:
        """As saved in run.json."""
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Run":
        """As read from run.json."""
        known = {name.name for name in fields(cls)}
        values = {key: _tupled(value) for key, value in values.items() if key in known}
        if values.get("protocol") == "isolated":  # its name in version 0.1
            values["protocol"] = "trimmed"
        values["ablation"] = {key: _tupled(value) for key, value in values.get("ablation", {}).items()}
        return cls(**values)


def read_run(path: Path) -> tuple[Run, dict[str, Any]]:
    """The run that a run.json is of, and all that stands there; a UserError names what is wrong with it."""
    facts = read_json(path, {"run": dict, "records": str, "corpus": {"name": str}, "finished": bool})
    try:
        return Run.from_json(facts["run"]), facts
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise UserError(f"{path} is not the description of a run ({error}).") from error


_ROW = (
    "model", "segmentation", "protocol", "preset", "ablation", "kinds", "n",
    "gap_seconds", "random_gap", "share", "also",
)  # fmt: skip


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _short(value: Any) -> str:
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)


ABLATIONS: dict[str, dict[str, Any]] = {
    "inner_product": {"ablation": {"similarity": "inner_product"}},
    "stride2": {"ablation": {"stride": 2}},
    "mean_pooling": {"ablation": {"pooling": ("mean",)}},
    "max_pooling": {"ablation": {"pooling": ("max",)}},
    "r2r1": {"kinds": ("R1R2", "R2R1")},
    "r1r3": {"kinds": ("R1R2", "R1R3")},
    "r3r1": {"kinds": ("R1R2", "R3R1")},
    "all": {},
}


def _run(model: str, segmentation: str = "fixed", **changes: Any) -> Run:
    fixed = {"batch_clips": BATCHES[model], "off_beat": OFF_BEAT[segmentation]}
    return Run(model, segmentation, **(TRAINING | fixed | changes))


# Rows that share a run (SEN fixed is in three tables) share its name, so it is trained once.
EXPERIMENTS: dict[str, Run] = {
    **{f"table2/{model}": _run(model) for model in ("sn", "ccsn", "cin", "tsn", "opn", "sen")},
    **{f"table3/{cut}/{model}": _run(model, cut) for cut in ("fixed", "downbeat") for model in ("sn", "cin", "sen")},
    **{f"table4/{cut}": _run("sen", cut) for cut in ("fixed", "downbeat")},
    **{f"table5/{name}": _run("sen", "downbeat", **changes) for name, changes in ABLATIONS.items()},
    "boundary/sen": _run("sen", gap_seconds=0.5),
    # For medleys: up to two seconds between the pieces are missing, so that the last frame alone does not decide.
    **{f"gap/{cut}": _run("sen", cut, gap_seconds=1.0, random_gap=True) for cut in ("fixed", "downbeat")},
    **{f"two_matrices/{cut}": _run("sen", cut, ablation={"two_matrices": True}) for cut in ("fixed", "downbeat")},
    "wide/two_matrices": _run("sen", ablation=WIDE | {"two_matrices": True}),
    "more_music/sen": _run("sen", also=MORE_MUSIC),
    "more_music/two_matrices": _run("sen", ablation={"two_matrices": True}, also=MORE_MUSIC),
}


def experiment(name: str, **changes: Any) -> Run:
    """A named run with some of its values changed; changes of the ablation are added to the named ones."""
    if name not in EXPERIMENTS:
        raise ValueError(f"Unknown experiment {name!r}; --list shows all.")
    run = EXPERIMENTS[name]
    changes = dict(changes)
    changes["ablation"] = run.ablation | changes.get("ablation", {})
    if changes.get("model", run.model) != run.model:
        changes.setdefault("batch_clips", BATCHES.get(changes["model"], run.batch_clips))
    if changes.get("segmentation", run.segmentation) != run.segmentation:
        changes.setdefault("off_beat", OFF_BEAT.get(changes["segmentation"], run.off_beat))
    return replace(run, **changes)
