"""Songs as a medley needs them: beats, tempo, key, loudness and log-mel, found once and kept by content."""

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import joblib
import numpy as np
from tqdm import tqdm

from djnet import audio, keys, mix, tempo
from djnet.features import log_mel
from djnet.files import whole_file
from djnet.spec import SAMPLE_RATE_HZ, SILENCE, WINDOW_SAMPLES
from preprocessing import downbeats
from preprocessing.corpora import Skipped
from preprocessing.madmom_compat import MadmomMissingError, madmom

VERSION = 1  # of what is kept
# Mean probability of its beats from which on they are believed: any, and those of a tempo as steady as a machine's.
_CLEAR, _CLEAR_IF_STEADY, _STEADY = 0.3, 0.15, 0.01
_BARS = 5  # fewer are no song with a beat
_SHORTEST_SECONDS = 4.0
_BOTH_SIDES_DB = 3.01  # a mono sound from both loudspeakers is that much louder than from one


@dataclass(frozen=True)
class Song:
    """A song; beats [K, 2] and bars [B + 1] (seconds) are empty if it has no beat that is clear enough."""

    path: str
    content: str
    sound: str
    seconds: float
    key: str
    loudness: float  # LUFS
    clarity: float  # mean probability of the beats, 0 without any
    beats: np.ndarray = field(repr=False)
    mel: np.ndarray = field(repr=False)  # float16 [T, 128]

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return Path(self.path).stem

    @property
    def bars(self) -> np.ndarray:
        """Downbeats of its longest even stretch: [B + 1]."""
        steady = tempo.unsteadiness(self.beats) < _STEADY
        found = tempo.whole_bars(self.beats)
        clear = self.clarity >= (_CLEAR_IF_STEADY if steady else _CLEAR)
        return found if clear and len(found) > _BARS else np.zeros(0)

    @property
    def bpm(self) -> float:
        """Beats a minute; 0 without a beat."""
        return tempo.bpm(self.beats) if len(self.bars) else 0.0


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
        kept = store / f"{probe.content}-{VERSION}.{downbeats.VERSION}-{int(has_tracker())}.npz"
        try:
            return _read(kept, path)
        except (OSError, ValueError, KeyError, EOFError):  # not there yet, or damaged
            pass
        if probe.seconds < _SHORTEST_SECONDS:
            return f"has {probe.seconds:.1f} s; a medley needs {_SHORTEST_SECONDS:g} s of a song."
        samples, fine = audio.load_at(path, 0.0, None, (SAMPLE_RATE_HZ, downbeats.ANALYSIS_RATE_HZ))
        if len(samples) < WINDOW_SAMPLES or samples.std() < SILENCE:
            return "is silent."
    except audio.AudioError as error:
        return error.reason
    song = _listen(path, probe, samples, fine)
    facts = {name: value for name, value in asdict(song).items() if name not in ("path", "beats", "mel")}
    whole = io.BytesIO()
    np.savez(whole, facts=np.array(json.dumps(facts)), beats=song.beats, mel=song.mel)
    with whole_file(kept) as partial:
        partial.write_bytes(whole.getvalue())
    return song


def _listen(path: str, probe: audio.Probe, samples: np.ndarray, fine: np.ndarray) -> Song:
    beats, clarity = np.zeros((0, 2)), 0.0
    if has_tracker():
        heard = downbeats.activations(fine, downbeats.ANALYSIS_RATE_HZ)
        beats = downbeats.beat_decoder.decode(heard, downbeats.beat_network.FRAMES_PER_SECOND)
        frames = np.round(beats[:, 0] * downbeats.beat_network.FRAMES_PER_SECOND).astype(int)
        clarity = float(heard[frames].max(axis=1).mean()) if len(frames) else 0.0
    return Song(
        path=path,
        content=probe.content,
        sound=probe.sound,
        seconds=len(samples) / SAMPLE_RATE_HZ,
        key=keys.key_of(_chroma(samples)),
        loudness=mix.loudness_of(fine[:, None]) + _BOTH_SIDES_DB,
        clarity=clarity,
        beats=tempo.smoothed(beats),
        mel=log_mel(samples).astype(np.float16),
    )


def _chroma(samples: np.ndarray) -> np.ndarray:
    """How strong each of the twelve tones is in all: [N] -> [12]."""
    import librosa.feature

    return librosa.feature.chroma_stft(y=samples, sr=SAMPLE_RATE_HZ, n_fft=8192, hop_length=4096, tuning=0.0).mean(1)


def _read(kept: Path, path: str) -> Song:
    with np.load(kept, allow_pickle=False) as stored:
        return Song(path=path, beats=stored["beats"], mel=stored["mel"], **json.loads(str(stored["facts"])))
