"""Songs as a medley needs them: beats, tempo, key, loudness and log-mel, found once and kept by content."""

import functools
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import joblib
import numpy as np
from tqdm import tqdm

from djnet import audio
from djnet.constants import SAMPLE_RATE_HZ, SILENCE, WINDOW_SAMPLES
from djnet.corpora import Skipped
from djnet.downbeats import decoder, network, tracker
from djnet.downbeats.madmom import MadmomMissingError, madmom
from djnet.features import log_mel
from djnet.files import whole_file
from djnet.medley import keys, tempo
from djnet.medley.loudness import loudness_of

VERSION = 2  # of what is kept
_ARRAYS = ("beats", "strengths", "mel")
_BARS = 5  # fewer are no song with a beat
_SHORTEST_SECONDS = 4.0
_BOTH_SIDES_DB = 3.01  # a mono sound from both loudspeakers is that much louder than from one


@dataclass(frozen=True)
class Song:
    """A song; its bars [B + 1] (seconds) are empty if it has no beat that is clear enough."""

    path: str
    content: str
    sound: str
    seconds: float
    key: str
    loudness: float  # LUFS
    beats: np.ndarray = field(repr=False)
    strengths: np.ndarray = field(repr=False)  # probability of every beat: [K]
    mel: np.ndarray = field(repr=False)  # float16 [T, 128]

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return Path(self.path).stem

    @functools.cached_property
    def bars(self) -> np.ndarray:
        """Downbeats of its longest stretch with a clear beat and even bars: [B + 1]."""
        run = tempo.longest_run(tempo.clear(self.beats, self.strengths))
        found = tempo.whole_bars(self.beats[run])
        return found if len(found) > _BARS else np.zeros(0)

    @property
    def bpm(self) -> float:
        """Beats a minute; 0 without a beat."""
        if not len(self.bars):
            return 0.0
        inside = (self.beats[:, 0] >= self.bars[0]) & (self.beats[:, 0] <= self.bars[-1])
        return tempo.bpm(self.beats[inside])


def analyse(paths: Sequence[str], cache: Path, workers: int = 2) -> tuple[list[Song], list[Skipped]]:
    """Songs in the order of their paths, and what is left out; those not in the cache are listened to now."""
    songs: list[Song] = []
    skipped: list[Skipped] = []
    first_of: dict[str, str] = {}
    store = cache / "songs"
    store.mkdir(parents=True, exist_ok=True)
    work = (joblib.delayed(_song)(path, store) for path in paths)
    results = joblib.Parallel(min(workers, len(paths)), return_as="generator", batch_size=1)(work)
    for path, found in zip(paths, tqdm(results, desc="listen", total=len(paths), unit="song"), strict=True):
        if isinstance(found, str):
            skipped.append(Skipped(path, found))
        elif (same := first_of.get(found.content) or first_of.get(found.sound)) is not None:
            skipped.append(Skipped(path, f"is the same audio as {same!r}; one copy plays."))
        else:
            first_of[found.content] = first_of[found.sound] = path
            songs.append(found)
    return songs, skipped


def has_tracker() -> bool:
    """Whether beats can be found on this machine."""
    try:
        madmom("features.downbeats")
    except MadmomMissingError:
        return False
    return True


def _song(path: str, store: Path) -> Song | str:
    """Runs in a worker: a song, or why it cannot be one."""
    try:
        probe = audio.probe(path)
        kept = store / f"{probe.content}-{VERSION}.{tracker.VERSION}-{int(has_tracker())}.npz"
        try:
            return _read(kept, path)
        except (OSError, ValueError, KeyError, EOFError):  # not there yet, or damaged
            pass
        if probe.seconds < _SHORTEST_SECONDS:
            return f"has {probe.seconds:.1f} s; a medley needs {_SHORTEST_SECONDS:g} s of a song."
        samples, fine = audio.load_at(path, 0.0, None, (SAMPLE_RATE_HZ, tracker.ANALYSIS_RATE_HZ))
        if len(samples) < WINDOW_SAMPLES or samples.std() < SILENCE:
            return "is silent."
    except audio.AudioError as error:
        return error.reason
    song = _listen(path, probe, samples, fine)
    facts = {name: value for name, value in asdict(song).items() if name not in ("path", *_ARRAYS)}
    whole = io.BytesIO()
    np.savez(whole, facts=np.array(json.dumps(facts)), **{name: getattr(song, name) for name in _ARRAYS})
    with whole_file(kept) as partial:
        partial.write_bytes(whole.getvalue())
    return song


def _listen(path: str, probe: audio.Probe, samples: np.ndarray, fine: np.ndarray) -> Song:
    beats, strengths = np.zeros((0, 2)), np.zeros(0)
    if has_tracker():
        heard = tracker.activations(fine, tracker.ANALYSIS_RATE_HZ)
        beats = decoder.decode(heard, network.FRAMES_PER_SECOND)
        frames = np.round(beats[:, 0] * network.FRAMES_PER_SECOND).astype(int)
        strengths = heard[frames].max(axis=1)
    return Song(
        path=path,
        content=probe.content,
        sound=probe.sound,
        seconds=len(samples) / SAMPLE_RATE_HZ,
        key=keys.key_of(_chroma(samples)),
        loudness=loudness_of(fine[:, None], tracker.ANALYSIS_RATE_HZ) + _BOTH_SIDES_DB,
        beats=tempo.smoothed(beats),
        strengths=strengths,
        mel=log_mel(samples).astype(np.float16),
    )


def _chroma(samples: np.ndarray) -> np.ndarray:
    """How strong each of the twelve tones is in all: [N] -> [12]."""
    import librosa.feature

    return librosa.feature.chroma_stft(y=samples, sr=SAMPLE_RATE_HZ, n_fft=8192, hop_length=4096, tuning=0.0).mean(1)


def _read(kept: Path, path: str) -> Song:
    with np.load(kept, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in _ARRAYS}
        return Song(path=path, **arrays, **json.loads(str(stored["facts"])))
