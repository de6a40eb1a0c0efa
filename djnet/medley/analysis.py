"""A song as a medley needs it: beats, key, loudness and log-mel, computed once and cached by the file's content."""

import contextlib
import functools
import json
import logging
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from joblib.externals.loky.process_executor import TerminatedWorkerError
from tqdm import tqdm

from djnet import audio
from djnet.constants import HOP_SAMPLES, SAMPLE_RATE_HZ, SILENCE, WINDOW_HOPS
from djnet.corpora import Skipped
from djnet.downbeats import decoder, fallback, network, tracker
from djnet.downbeats.madmom import MadmomMissingError, madmom
from djnet.errors import UserError, shown
from djnet.features import log_mel
from djnet.files import digest_json, read_array, remove_partial, whole_file, write_array
from djnet.medley import tempo, voices
from djnet.medley.key import CHROMA_HOP, best_fit, chroma_of
from djnet.medley.loudness import in_blocks, integrated, power_stream
from djnet.medley.piecewise import Function, Piecewise
from djnet.processes import end_with
from djnet.records import FEATURES, FULL_SCALE, dequantised, quantised

VERSION = 8  # of the cached files
_ARRAYS = ("beats", "strengths", "mel", "chroma", "voices", "activations")
_OWN = ("path", "samples", "gain", "transpose", "never", "called")  # is not kept in the cache's facts
_FEWEST_BARS = 5  # clear ones, of a song whose bars are used
_SHORTEST_SECONDS = 4.0
_LONGEST_SECONDS = 3600.0
_PIECE_SECONDS = 60.0  # of a song, that are computed at once
_MONO_TO_STEREO_LU = 3.01  # what a mono recording gains when both loudspeakers play it
_NEAR = 1.1  # how far beats may be from a tempo that somebody gave, as a ratio
# A song in 4/4 whose beats have three parts can be read as 3/4 at 3/2 or 3 times its tempo. In log likelihood a minute,
# the right reading was 450 and 502 behind the wrong one in generated shuffles, and 646 or more in songs in 3/4.
_SHUFFLE_TEMPOS, _SHUFFLE_BEHIND, _SLOWEST_SHUFFLE_BPM = (2 / 3, 1 / 3), 600.0, 40.0


@dataclass(frozen=True, eq=False)  # one song is another only if it is the same object: arrays have no single answer
class Song:
    """An analysed song; its bars [B + 1] (seconds) are empty if its beat is not clear enough."""

    path: str
    content: str  # hash of the file
    sound: str  # hash of the samples
    seconds: float
    key: str
    loudness: float  # LUFS
    beats: np.ndarray = field(repr=False)  # [K, 2]: seconds, position in the bar
    strengths: np.ndarray = field(repr=False)  # probability of every beat: [K]
    mel: np.ndarray = field(repr=False)  # float16 [T, 128]
    chroma: np.ndarray = field(repr=False)  # float16 [F, 12], see `key.chroma_of`
    samples: np.ndarray = field(repr=False)  # int16 [N] at 22,050 Hz, on disk
    scale: float = 1.0  # the sample that is stored as 32,767
    voices: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float16), repr=False)  # [V], see `voices_of`
    activations: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.float16), repr=False)  # the tracker's
    readings: list[list[float]] = field(default_factory=list)  # metres: beats in a bar, bpm, log likelihood a minute
    gain: float = 0.0  # dB that it shall be louder than the other songs
    transpose: int | None = None  # semitones that it shall be higher, if somebody decided that
    never: tuple[tuple[float, float], ...] = ()  # spans in seconds that must not play
    called: str = ""  # in place of its name, where another song has the same

    @functools.cached_property
    def name(self) -> str:
        """Artist and title by the file's tags, else the file's name without its ending; as it may be shown."""
        return self.called or shown(audio.name_of(self.path))

    @functools.cached_property
    def _bars(self) -> tempo.Bars:
        bars = tempo.bars_of(self.beats, self.strengths)
        return bars if bars.clear.sum() >= _FEWEST_BARS else tempo.Bars(np.zeros(0), np.zeros(0, bool))

    @property
    def bars(self) -> np.ndarray:
        """Downbeats from the first bar with clear beats to the last: [B + 1]."""
        return self._bars.lines

    @property
    def clear(self) -> np.ndarray:
        """Which of the bars have clear and even beats: bool [B]."""
        return self._bars.clear

    def waveform(self, start: float, end: float) -> np.ndarray:
        """The samples between two times in seconds: float32 [N] at 22,050 Hz."""
        first, last = (round(time * SAMPLE_RATE_HZ) for time in (start, end))
        return dequantised(np.asarray(self.samples[first:last]), self.scale)

    def plays(self, start: float, end: float) -> bool:
        """Whether nothing between two times in seconds is among what must never play."""
        return all(last <= start or end <= first for first, last in self.never)

    @property
    def bpm(self) -> float:
        """Beats a minute; 0 without a beat."""
        if not len(self.bars):
            return 0.0
        beats = self.beats[:, 1].max()
        return float(60.0 * beats / np.median(np.diff(self.bars)[self.clear]))


def analyse(paths: Sequence[str], cache: Path, workers: int = 2) -> tuple[list[Song], list[Skipped]]:
    """Songs in the order of their paths, and the files left out; what is not in the cache is computed."""
    songs: list[Song] = []
    skipped: list[Skipped] = []
    first_path: dict[str, str] = {}  # by either hash
    folder = cache / "songs"
    with contextlib.suppress(OSError):  # a disk that is full or cannot be written: nothing is kept
        folder.mkdir(parents=True, exist_ok=True)
        remove_partial(folder)
    work = (joblib.delayed(_song)(path, folder, os.getpid()) for path in paths)
    results = joblib.Parallel(min(workers, len(paths)), return_as="generator", batch_size=1)(work)
    try:
        for path, song in zip(paths, tqdm(results, desc="analyse", total=len(paths), unit="song"), strict=True):
            if isinstance(song, str):
                skipped.append(Skipped(path, song))
            elif (same := first_path.get(song.content) or first_path.get(song.sound)) is not None:
                skipped.append(Skipped(path, f"is the same audio as {same!r}; one copy plays."))
            else:
                first_path[song.content] = first_path[song.sound] = path
                songs.append(song)
    except TerminatedWorkerError as error:
        raise UserError("The system ended a worker, mostly for lack of memory: try --workers 1.") from error
    return _told_apart(songs), skipped


def _told_apart(songs: Sequence[Song]) -> list[Song]:
    """The same songs; those that share a name are called by their files besides, and by their folders if need be."""
    names = Counter(song.name for song in songs)
    files = Counter((song.name, Path(song.path).name) for song in songs)
    called = []
    for song in songs:
        path = Path(song.path)
        file = path.name if files[song.name, path.name] == 1 else str(Path(path.parent.name, path.name))
        called.append(replace(song, called=f"{song.name} ({shown(file)})") if names[song.name] > 1 else song)
    return called


def has_tracker() -> bool:
    """Whether madmom, which the beat tracker needs, is installed."""
    try:
        madmom("features.downbeats")
    except MadmomMissingError:
        return False
    return True


def _song(path: str, folder: Path, parent: int) -> Song | str:
    """Runs in a worker: a song, or why it cannot be one; whatever is wrong with one song, the others play."""
    end_with(parent)
    try:
        return _analysed(path, folder)
    except audio.AudioError as error:
        return error.reason
    except Exception as error:  # what nobody has thought of
        return f"cannot be analysed ({type(error).__name__}: {error})."


def _analysed(path: str, folder: Path) -> Song | str:
    """A song from the cache, or else from its file; or why it cannot be one."""
    probe = audio.probe(path)
    settings = digest_json([VERSION, FEATURES, tracker.VERSION, has_tracker(), voices.is_installed()])[:8]
    cached = folder / f"{probe.content}-{settings}.npz"
    # Not there yet or damaged, which can make NumPy and zipfile say almost anything.
    with contextlib.suppress(Exception), np.load(cached, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in _ARRAYS}
        if (kept := read_array(cached.with_suffix(".npy"), mapped=True)) is not None:
            return Song(path, samples=kept, **json.loads(str(stored["facts"])), **arrays)
    if cached.exists():
        logging.getLogger(__name__).warning("%s: is damaged; the song is analysed again.", cached)
    if probe.seconds < _SHORTEST_SECONDS:
        return f"has {probe.seconds:.1f} s; a medley needs {_SHORTEST_SECONDS:g} s of a song."
    if probe.seconds > _LONGEST_SECONDS:
        return f"has {probe.seconds / 60:.0f} minutes, {_LONGEST_SECONDS / 60:g} are the most; cut a piece out of it."
    song = _measure(path, probe)
    with contextlib.suppress(OSError):  # a full disk: the song plays, and is analysed again the next time
        song = replace(song, samples=_keep(song, cached))
    return song


def _keep(song: Song, cached: Path) -> np.ndarray:
    """Write a song to the cache: -> its samples as they lie there."""
    facts = {name: value for name, value in asdict(song).items() if name not in (*_OWN, *_ARRAYS)}
    write_array(cached.with_suffix(".npy"), song.samples)
    with whole_file(cached) as partial, open(partial, "wb") as file:
        np.savez(file, facts=np.array(json.dumps(facts)), **{name: getattr(song, name) for name in _ARRAYS})
    return np.load(cached.with_suffix(".npy"), mmap_mode="r")


def _measure(path: str, probe: audio.Probe) -> Song:
    """Analyse a file while it is decoded."""
    streams = _streams()
    rates = sorted({rate for rate, _ in streams.values()})
    for blocks in audio.blocks_at(path, 0.0, None, rates):
        for rate, stream in streams.values():
            stream.add(blocks[rates.index(rate)])
    samples, scale = quantised(streams.pop("samples")[1].end())
    seconds = np.array_split(samples, 1 + len(samples) // SAMPLE_RATE_HZ)
    if max(second.std() for second in seconds) * scale < SILENCE * FULL_SCALE:
        raise audio.AudioError(path, "is silent.")
    rows = {name: stream.end() for name, (_, stream) in streams.items()}
    loudness = integrated(in_blocks(rows.pop("power")))
    readings: list[list[float]] = []
    if "activations" in rows:
        rows["activations"] = network.run_network(rows["activations"])
        beats, strengths, readings = _followed(rows["activations"], decoder.BEATS_PER_BAR)
    else:
        beats, strengths = fallback.track(rows["mel"])
    half: dict[str, Any] = {name: values.astype(np.float16) for name, values in rows.items()}
    return Song(
        path=path,
        content=probe.content,
        sound=probe.sound,
        seconds=len(samples) / SAMPLE_RATE_HZ,
        key=best_fit(rows["chroma"].mean(axis=0)),
        loudness=loudness + _MONO_TO_STEREO_LU,
        beats=tempo.smoothed(beats),
        strengths=strengths,
        samples=samples,
        scale=scale,
        readings=readings,
        **half,
    )


def _streams() -> dict[str, tuple[int, Piecewise]]:
    """What is computed of a song's samples, by its name: at which sample rate, and how."""

    def stream(function: Function, rate: int, hop: int, context: int) -> tuple[int, Piecewise]:
        return rate, Piecewise(function, hop, round(_PIECE_SECONDS * rate / hop), context)

    fine = tracker.ANALYSIS_RATE_HZ
    chroma = functools.partial(chroma_of, rate=SAMPLE_RATE_HZ)
    streams = {
        "samples": stream(lambda samples: samples, SAMPLE_RATE_HZ, 1, 0),
        "mel": stream(_half_log_mel, SAMPLE_RATE_HZ, HOP_SAMPLES, WINDOW_HOPS),
        "chroma": stream(chroma, SAMPLE_RATE_HZ, CHROMA_HOP, 1),
        "power": (fine, power_stream(fine)),
    }
    if has_tracker():
        streams["activations"] = stream(network.front_end, fine, network.HOP_SAMPLES, network.CONTEXT_HOPS)
    if voices.is_installed():
        streams["voices"] = stream(voices.voices_of, voices.RATE_HZ, voices.HOP_SAMPLES, voices.CONTEXT_HOPS)
    return streams


def _half_log_mel(samples: np.ndarray) -> np.ndarray:
    return log_mel(samples).astype(np.float16)


def _followed(
    activations: np.ndarray, meters: Sequence[int], bpm: float | None = None
) -> tuple[np.ndarray, np.ndarray, list[list[float]]]:
    """Beats in the likeliest of some metres, their strengths, and all readings: [T, 2] -> [K, 2], [K], see Song."""
    minutes = max(len(activations), 1) / network.FRAMES_PER_SECOND / 60

    def read(meter: int, tempo_: float | None) -> tuple[float, decoder.Reading]:
        near = (decoder.SLOWEST_BPM, decoder.FASTEST_BPM) if tempo_ is None else (tempo_ / _NEAR, tempo_ * _NEAR)
        reading = decoder.read(activations, meter, network.FRAMES_PER_SECOND, bpm=near)
        return float(reading.log_probability) / minutes, reading

    each = [(meter, *read(meter, bpm)) for meter in meters]
    best = max(each, key=lambda one: one[1])
    if best[0] == 3 and len(meters) > 1 and bpm is None:
        slower = [share * tempo.bpm(best[2].beats) for share in _SHUFFLE_TEMPOS]
        shuffles = [(4, *read(4, one)) for one in slower if one >= _SLOWEST_SHUFFLE_BPM]
        each += shuffles
        near = [one for one in shuffles if one[1] > best[1] - _SHUFFLE_BEHIND]
        best = max(near, key=lambda one: one[1], default=best)
    readings = [[float(meter), tempo.bpm(reading.beats), likelihood] for meter, likelihood, reading in each]
    beats = tempo.undoubled(best[2].beats)
    frames = np.round(beats[:, 0] * network.FRAMES_PER_SECOND).astype(int)
    return beats, activations[frames].max(axis=1), readings


def corrected(
    song: Song,
    bpm: float | None = None,
    meter: int | None = None,
    gain: float = 0.0,
    transpose: int | None = None,
    never: tuple[tuple[float, float], ...] = (),
) -> Song:
    """The song as somebody knows or wants it: beats near a tempo or in a metre, gain, pitch, and what never plays."""
    song = replace(song, gain=gain, transpose=transpose, never=never)
    if bpm is None and meter is None:
        return song
    if len(song.activations):
        meters = decoder.BEATS_PER_BAR if meter is None else (meter,)
        beats, strengths, _ = _followed(song.activations.astype(np.float32), meters, bpm)
    else:
        beats, strengths = fallback.track(song.mel, bpm, meter or 4)
    return replace(song, beats=tempo.smoothed(beats), strengths=strengths)
