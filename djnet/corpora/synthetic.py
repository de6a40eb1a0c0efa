"""A small generated band: bass, pad, lead, strings and drums play songs with verses and choruses, every song different.

Deterministic from a seed, with known beats and sections: for tests, and for machines that have no music at all.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from tqdm import tqdm

from djnet.annotations import Section
from djnet.audio.encode import sound_file
from djnet.constants import SAMPLE_RATE_HZ
from djnet.corpora import Corpus, Track, write_csv
from djnet.files import remove_partial
from djnet.rng import rng_for

MAJOR, MINOR = (0, 2, 4, 5, 7, 9, 11), (0, 2, 3, 5, 7, 8, 10)
# Degrees of the scale, a chord a bar.
PROGRESSIONS = ((0, 4, 5, 3), (0, 5, 3, 4), (5, 3, 0, 4), (0, 3, 1, 4), (0, 2, 3, 4), (3, 4, 2, 5), (1, 4, 0, 5))
FORM = ("intro", "verse", "chorus", "verse", "chorus", "bridge", "chorus", "outro")
BARS = {"intro": 2, "verse": 6, "chorus": 4, "bridge": 4, "outro": 2}
_TABLE = 2_048


@dataclass(frozen=True)
class GeneratedSong:
    """Samples [N] at 22,050 Hz, beats [K, 2] (seconds, position in the bar) and sections."""

    samples: np.ndarray
    beats: np.ndarray
    sections: list[Section]


def corpus(songs: int, seed: int, cache: Path) -> Corpus:
    """Songs as files in the cache, with `.beats.csv` and `.sections.csv` beside each."""
    folder = cache / "synthetic" / f"seed-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    remove_partial(folder)
    names = [f"song-{index:04d}" for index in range(songs)]
    missing = [index for index, name in enumerate(names) if not (folder / f"{name}.flac").is_file()]
    for index in tqdm(missing, desc="play", unit="song", disable=len(missing) < 20):
        _write(play(rng_for(seed, "song", index)), folder / names[index])
    return Corpus("synthetic", [Track(name, str(folder / f"{name}.flac"), "synthetic", "CC0-1.0") for name in names])


def play(rng: np.random.Generator) -> GeneratedSong:
    """One song of about a minute."""
    beat = 60.0 / rng.uniform(92, 150)
    meter = int(rng.choice([4, 4, 4, 3]))
    scale = np.array(MAJOR if rng.random() < 0.6 else MINOR)
    style = _Style(beat, meter, scale, root=45 + int(rng.integers(0, 12)))
    bars = sum(BARS[label] for label in FORM)
    band = _Band(rng, seconds=bars * meter * beat + 2.0)
    themes = {label: _compose(rng, meter) for label in ("verse", "chorus", "bridge")}
    sections, bar = [], 0
    for label in FORM:
        for place in range(BARS[label]):
            _play_bar(band, style, themes.get(label, themes["verse"]), label, place, bar + place)
        sections.append(Section(bar * meter * beat, (bar + BARS[label]) * meter * beat, label))
        bar += BARS[label]
    band.drone(style.root + 12, 0.12)
    ticks = np.arange(bars * meter)
    beats = np.stack([ticks * beat, ticks % meter + 1], axis=1)
    return GeneratedSong(band.mix(), beats, sections)


@dataclass(frozen=True)
class _Style:
    """What all sections of a song share: seconds a beat, beats a bar, and the key."""

    beat: float
    meter: int
    scale: np.ndarray  # [7]: half tones above the root
    root: int

    def pitch(self, step: int) -> int:
        """A step of the scale as MIDI counts pitches."""
        return self.root + int(self.scale[step % 7]) + 12 * (step // 7)


@dataclass(frozen=True)
class _Theme:
    """What a section is made of: its chords, and a tune of scale steps (or rests) for four bars, two a beat."""

    chords: tuple[int, ...]
    tune: np.ndarray


def _compose(rng: np.random.Generator, meter: int) -> _Theme:
    steps = np.cumsum(rng.choice([-2, -1, -1, 0, 1, 1, 2], size=4 * meter * 2)) % 10
    rests = rng.random(steps.shape) < 0.35
    return _Theme(PROGRESSIONS[rng.integers(len(PROGRESSIONS))], np.where(rests, -1, steps))


class _Band:
    """Instruments with a sound of their own in every song, playing into one track."""

    def __init__(self, rng: np.random.Generator, seconds: float):
        self._rng = rng
        self._track = np.zeros(int(seconds * SAMPLE_RATE_HZ), np.float32)
        self._tables = {name: _wave(rng, harmonics) for name, harmonics in (("bass", 6), ("pad", 9), ("lead", 14))}
        self._decay = {"bass": rng.uniform(0.3, 0.9), "pad": rng.uniform(2.0, 5.0), "lead": rng.uniform(0.15, 0.8)}
        self._attack = {"bass": 0.01, "pad": rng.uniform(0.05, 0.3), "lead": rng.uniform(0.005, 0.04)}
        self._detune = rng.uniform(0.0, 0.004)
        self._noise = rng.standard_normal(SAMPLE_RATE_HZ).astype(np.float32)

    def note(self, name: str, time: float, seconds: float, pitch: float, loudness: float) -> None:
        """A pitched note; `pitch` counts half tones as MIDI does."""
        first, t = self._place(time, seconds)
        frequency = 440.0 * 2 ** ((pitch - 69) / 12) * (1 + self._detune * self._rng.uniform(-1, 1))
        phase = (t * np.float32(frequency * _TABLE)).astype(np.int32) % _TABLE
        envelope = np.minimum(t / self._attack[name], 1.0) * np.exp(-t / self._decay[name])
        envelope *= np.minimum((t[-1] - t) / 0.01, 1.0) if len(t) else 1.0
        self._track[first : first + len(t)] += np.float32(loudness) * self._tables[name][phase] * envelope

    def drum(self, name: str, time: float, loudness: float) -> None:
        """A kick, a snare or a hat."""
        first, t = self._place(time, {"kick": 0.25, "snare": 0.2, "hat": 0.06}[name])
        if name == "kick":
            sound = np.sin(2 * np.pi * (50 * t + 8 * (1 - np.exp(-t * 30)))) * np.exp(-t * 14)
        else:
            place = int(self._rng.integers(0, SAMPLE_RATE_HZ // 2))
            noise = self._noise[place : place + len(t)]
            sound = noise * np.exp(-t * 18) if name == "snare" else np.diff(noise, prepend=0) * np.exp(-t * 60)
        self._track[first : first + len(t)] += np.float32(loudness) * sound.astype(np.float32)

    def drone(self, pitch: float, loudness: float) -> None:
        """Strings that hold a note through the whole song, slowly swelling and brightening."""
        t = np.arange(len(self._track), dtype=np.float64) / SAMPLE_RATE_HZ
        phase = (t * (440.0 * 2 ** ((pitch - 69) / 12) * _TABLE)).astype(np.int64) % _TABLE
        dark, bright = _wave(self._rng, 3), _wave(self._rng, 20)
        swell, shine = (
            0.5 + 0.5 * np.sin(2 * np.pi * (t / self._rng.uniform(14, 40) + self._rng.random())) for _ in range(2)
        )
        sound = dark[phase] * (1.0 - shine) + bright[phase] * shine
        self._track += (loudness * (0.3 + 0.7 * swell) * sound).astype(np.float32)

    def mix(self) -> np.ndarray:
        """The track with a little echo, at a fixed peak."""
        echo = int(SAMPLE_RATE_HZ * self._rng.uniform(0.03, 0.09))
        wet = self._track.copy()
        for times, gain in ((1, 0.3), (2, 0.15), (3, 0.08)):
            wet[times * echo :] += gain * self._track[: -times * echo]
        return (0.8 * wet / np.abs(wet).max()).astype(np.float32)

    def _place(self, time: float, seconds: float) -> tuple[int, np.ndarray]:
        first = int(time * SAMPLE_RATE_HZ)
        count = max(0, min(int(seconds * SAMPLE_RATE_HZ), len(self._track) - first))
        return first, np.arange(count, dtype=np.float32) / np.float32(SAMPLE_RATE_HZ)


def _wave(rng: np.random.Generator, harmonics: int) -> np.ndarray:
    """One period of a sound with overtones drawn at random: [2048]."""
    t = np.arange(_TABLE) / _TABLE
    strengths = rng.uniform(0.2, 1.0, harmonics) / np.arange(1, harmonics + 1) ** rng.uniform(0.8, 1.6)
    return (strengths[:, None] * np.sin(2 * np.pi * np.arange(1, harmonics + 1)[:, None] * t)).sum(0).astype(np.float32)


def _play_bar(band: _Band, style: _Style, theme: _Theme, label: str, place: int, bar: int) -> None:
    """Play one bar of a section; the drums grow through the section and fill its last bar.

    `band` plays; `style` has tempo and key, `theme` chords and tune; `label` names the section; `place` is the number
    of the bar in the section, `bar` its number in the song.
    """
    beat, meter, pitch = style.beat, style.meter, style.pitch
    time = bar * meter * beat
    chord = theme.chords[bar % 4]
    swell = 0.7 + 0.5 * (place / BARS[label])
    for step in (chord, chord + 2, chord + 4):
        band.note("pad", time, meter * beat * 1.05, pitch(step) + 12, 0.12 * swell)
    if label != "intro":
        for i in range(meter):
            band.note("bass", time + i * beat, beat * 0.95, pitch(chord) - 12, 0.3)
    if label in ("verse", "chorus", "bridge"):
        tune = theme.tune[(bar % 4) * meter * 2 :][: meter * 2]
        octave = 24 if label == "verse" else 31
        for i in np.flatnonzero(tune >= 0):
            band.note("lead", time + i * beat / 2, beat * 0.9, pitch(int(tune[i])) + octave, 0.16)
        for i in range(meter):
            band.drum("snare" if i % 2 else "kick", time + i * beat, 0.35)
            for half in (0.0, 0.5) if label == "chorus" else (0.5,):
                band.drum("hat", time + (i + half) * beat, 0.12 * swell)
    if place == BARS[label] - 1:
        for i in range(4):
            band.drum("snare", time + (meter - 1 + i / 4) * beat, 0.15 + 0.08 * i)


def _write(song: GeneratedSong, stem: Path) -> None:
    """Annotations first, sound last: a song whose sound is there is whole."""
    beats = [(f"{time:.4f}", str(int(position))) for time, position in song.beats]
    write_csv(stem.with_name(stem.name + ".beats.csv"), ("time", "position"), beats)
    sections = [(f"{section.start:.4f}", f"{section.end:.4f}", section.label) for section in song.sections]
    write_csv(stem.with_name(stem.name + ".sections.csv"), ("start", "end", "label"), sections)
    with sound_file(stem.with_name(stem.name + ".flac")) as partial:
        soundfile.write(partial, song.samples, SAMPLE_RATE_HZ, format="FLAC", subtype="PCM_16")
