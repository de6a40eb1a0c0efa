"""Beats and downbeats of one file: printed, drawn, or as clicks over the music:

python -m preprocessing.downbeats song.ogg
python -m preprocessing.downbeats song.ogg --click=click.wav --plot=beats.png
"""

from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from absl import flags

from djnet import audio
from djnet.audio.encode import sound_file
from djnet.cli import job
from djnet.constants import SILENCE
from djnet.downbeats import decoder, network
from djnet.downbeats.tracker import ANALYSIS_RATE_HZ, activations, track
from djnet.errors import UserError
from djnet.files import whole_file

__all__ = ["track"]  # its old place


def why_sparse(samples: np.ndarray, sample_rate: int, beats: np.ndarray) -> str:
    """In words, why there are no or few beats; nothing if there are as many as music usually has."""
    seconds = len(samples) / sample_rate
    if seconds < 2.0:
        return f"only {seconds:.1f} s of music, too short for a bar"
    if samples.std() < SILENCE:
        return "the music is silent"
    if len(beats) == 0:
        return "no beat is clear enough"
    if len(beats) < seconds / 2:
        return f"there are clear beats in a part of the music only, {beats[0, 0]:.1f} to {beats[-1, 0]:.1f} s"
    return ""


def with_clicks(samples: np.ndarray, sample_rate: int, beats: np.ndarray) -> np.ndarray:
    """The music with a click on every beat, higher and louder on downbeats: [N] -> [N]."""
    import librosa

    mixed = 0.6 * samples
    for is_downbeat, frequency, loudness in ((True, 1760.0, 0.4), (False, 1175.0, 0.25)):
        times = beats[(beats[:, 1] == 1) == is_downbeat, 0]
        mixed += loudness * librosa.clicks(
            times=times, sr=sample_rate, click_freq=frequency, click_duration=0.03, length=len(samples)
        )
    return np.clip(mixed, -1.0, 1.0)


def draw(probabilities: np.ndarray, beats: np.ndarray, offset: float, path: Path) -> None:
    """Draw activations [T, 2] with the beats that were chosen."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3), layout="constrained")
    axes = figure.subplots()
    seconds = offset + np.arange(len(probabilities)) / network.FRAMES_PER_SECOND
    for column, color, label in ((0, "#0072b2", "beat"), (1, "#d55e00", "downbeat")):
        axes.plot(seconds, probabilities[:, column], color=color, linewidth=0.8, label=f"{label}, probability")
        chosen = beats[(beats[:, 1] == 1) == column, 0]
        axes.vlines(chosen, -0.08 * (column + 1), 0, color=color, linewidth=2.0, label=label)
    axes.set(xlabel="seconds", ylim=(-0.18, 1.02), xlim=(offset, max(offset + 0.1, seconds[-1] if len(seconds) else 0)))
    figure.legend(loc="outside upper center", ncols=4, fontsize=8)
    with whole_file(path) as partial:
        figure.savefig(partial, format="png", dpi=120)


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("click", None, "Write the music with a click on every beat to this wav file.")
    flags.DEFINE_string("plot", None, "Draw the activations and the beats into this png file.")
    flags.DEFINE_float("start", 0.0, "Begin at this second.", lower_bound=0.0)
    flags.DEFINE_float("seconds", None, "Only that many seconds.", lower_bound=0.0)


def main(given: Any, song: str) -> None:
    """Print the beats of one file."""
    for path in filter(None, (given.click, given.plot)):
        if not Path(path).parent.is_dir():
            raise UserError(f"{path}: there is no folder {Path(path).parent}.")
    (samples,) = audio.load_at(song, given.start, given.seconds, (ANALYSIS_RATE_HZ,))
    probabilities = activations(samples, ANALYSIS_RATE_HZ)
    local = decoder.decode(probabilities, network.FRAMES_PER_SECOND)
    beats = np.stack([local[:, 0] + given.start, local[:, 1]], axis=1)
    for time, position in beats:
        print(f"{time:.2f}\t{int(position)}")
    if reason := why_sparse(samples, ANALYSIS_RATE_HZ, local):
        print(f"# {reason}")
    if given.click:
        with sound_file(Path(given.click)) as partial:
            soundfile.write(partial, with_clicks(samples, ANALYSIS_RATE_HZ, local), ANALYSIS_RATE_HZ, format="WAV")
    if given.plot:
        draw(probabilities, beats, given.start, Path(given.plot))


if __name__ == "__main__":
    job.run(main, define_flags, "SONG")
