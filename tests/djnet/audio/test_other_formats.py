import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.signal import correlate

from djnet import audio
from djnet.audio import other_formats
from djnet.constants import SAMPLE_RATE_HZ
from djnet.medley import analysis
from djnet.medley.analysis import Song

av = pytest.importorskip("av")

RATE_HZ = 44_100
SECONDS = 6
BLANK: dict[str, Any] = {
    "key": "C", "loudness": -14.0, "beats": np.zeros((0, 2)), "strengths": np.zeros(0),
    "mel": np.zeros((0, 128), np.float16), "chroma": np.zeros((0, 12), np.float16), "samples": np.zeros(9, np.int16),
}  # fmt: skip
CODECS = {
    ".m4a": "aac", ".aac": "aac", ".mp4": "aac", ".mka": "aac", ".mov": "alac", ".wma": "wmav2", ".webm": "libopus",
    ".mkv": "libmp3lame", ".ac3": "ac3", ".wv": "wavpack",
}  # fmt: skip


@pytest.fixture
def samples(rng) -> np.ndarray:
    """Bursts of noise over a tone: [N, 2]."""
    time = np.arange(SECONDS * RATE_HZ) / RATE_HZ
    music = np.repeat(0.1 * np.sin(600 * np.pi * time)[:, None], 2, axis=1)
    for start in rng.integers(0, len(time) - 2000, 30):
        music[start : start + 2000] += 0.2 * rng.standard_normal((2000, 2)) * np.exp(-np.arange(2000) / 300)[:, None]
    return music.astype(np.float32)


def encode(path, samples, codec=None, **tags):
    """Write samples [N, 2] with FFmpeg."""
    name = {".wma": "asf", ".aac": "adts", ".mka": "matroska", ".mkv": "matroska", ".m4a": "ipod"}.get(path.suffix)
    with av.open(str(path), "w", format=name) as container:
        container.metadata.update(tags)
        stream = container.add_stream(codec or CODECS[path.suffix], rate=48_000 if codec == "libopus" else RATE_HZ)
        stream.layout, stream.bit_rate = "stereo", 128_000
        resampler = av.AudioResampler(format=stream.format, layout="stereo", rate=stream.rate)
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples).reshape(1, -1), format="flt", layout="stereo")
        frame.rate, frame.pts = RATE_HZ, 0
        for part in [*resampler.resample(frame), *resampler.resample(None)]:
            container.mux(stream.encode(part))
        container.mux(stream.encode(None))
    return path


def lag_of(decoded, samples) -> int:
    """By how many samples decoded music [N] comes late."""
    reference = samples.mean(axis=1)[: len(decoded)]
    return int(correlate(decoded[: len(reference)], reference, method="fft").argmax()) - (len(reference) - 1)


@pytest.mark.parametrize("suffix", CODECS)
def test_music_begins_where_it_does_in_the_wav(tmp_path, samples, suffix):
    """Encoders put a thousand samples or more in front; 5 ms are 220."""
    path = encode(tmp_path / f"x{suffix}", samples, CODECS[suffix])
    (decoded,) = audio.load_at(path, 0.0, None, (RATE_HZ,))
    assert abs(lag_of(decoded, samples)) <= 2
    assert audio.probe(path).seconds == pytest.approx(SECONDS, abs=0.06)
    part = audio.load_stereo(path, 2.0, 1.5, RATE_HZ)
    assert part.shape == (round(1.5 * RATE_HZ), 2)
    np.testing.assert_allclose(part.mean(axis=1), decoded[2 * RATE_HZ :][: len(part)], atol=1e-3)
    assert path.suffix in audio.READABLE and not audio.CONVERTIBLE


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="the program ffmpeg is not installed")
def test_the_program_ffmpeg_stands_in_for_pyav(tmp_path, samples, monkeypatch):
    path = encode(tmp_path / "x.m4a", samples, title="Some = title", artist="Somebody")
    by_pyav = audio.load(path)
    monkeypatch.setattr(other_formats, "_has_pyav", lambda: False)
    np.testing.assert_allclose(audio.load(path), by_pyav, atol=1e-4)
    assert audio.title_of(path) == ("Some = title", "Somebody")
    damage(path)
    with pytest.raises(audio.AudioError, match="cannot be decoded"):
        audio.probe(path)


def test_without_ffmpeg_the_fix_is_named(tmp_path, samples, monkeypatch):
    path = encode(tmp_path / "x.m4a", samples)
    monkeypatch.setattr(other_formats, "is_installed", lambda: False)
    with pytest.raises(audio.AudioError, match=r"x\.m4a': .*pip install djnet\[formats\]"):
        audio.load(path)


def damage(path, first=0.4, last=0.7):
    """Overwrite a part of a file."""
    data = bytearray(path.read_bytes())
    first, last = round(first * len(data)), round(last * len(data))
    data[first:last] = np.random.default_rng(0).bytes(last - first)
    path.write_bytes(data)


@pytest.mark.parametrize("suffix", CODECS)
def test_files_damaged_in_the_middle(tmp_path, samples, suffix):
    path = encode(tmp_path / f"x{suffix}", samples, CODECS[suffix])
    damage(path)
    with pytest.raises(audio.AudioError, match=r"damaged|cannot be decoded"):
        audio.probe(path)


def test_a_few_damaged_bytes_are_no_reason_to_leave_out_a_song(tmp_path, samples):
    path = encode(tmp_path / "x.m4a", samples)
    damage(path, 0.5, 0.505)
    (decoded,) = audio.load_at(path, 0.0, None, (RATE_HZ,))
    assert lag_of(decoded[4 * RATE_HZ :], samples[4 * RATE_HZ :]) == 0


def protect(path):
    """Say of an m4a file that it is encrypted."""
    data = path.read_bytes()
    place = data.index(b"stsd")
    path.write_bytes(data[: place + 16] + b"drms" + data[place + 20 :])


def test_protected_songs(tmp_path, samples):
    path = encode(tmp_path / "x.m4a", samples).rename(tmp_path / "x.m4p")
    protect(path)
    with pytest.raises(audio.AudioError, match=r"x\.m4p': is protected against copying \(DRM\)"):
        audio.probe(path)


def write_silent_film(path):
    """A second of pictures without sound."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 64
        stream.pix_fmt = "yuv420p"
        for _ in range(10):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), format="rgb24")))
        container.mux(stream.encode(None))


def test_a_video_without_sound(tmp_path):
    write_silent_film(tmp_path / "x.mp4")
    with pytest.raises(audio.AudioError, match="is a video without sound"):
        audio.probe(tmp_path / "x.mp4")


@pytest.mark.parametrize("content", [b"This is not music. " * 100, b"#EXTM3U\n#EXTINF:9,\nother.m4a\n", bytes(5000)])
def test_other_files_with_the_name_of_music(tmp_path, samples, content):
    encode(tmp_path / "other.m4a", samples)
    (tmp_path / "x.m4a").write_bytes(content)
    with pytest.raises(audio.AudioError, match="cannot be decoded"):
        audio.load(tmp_path / "x.m4a")


def test_the_first_bytes_count_more_than_the_name(tmp_path, samples):
    path = encode(tmp_path / "x.m4a", samples, title="Some title").rename(tmp_path / "x.mp3")
    assert len(audio.load(path)) == pytest.approx(SECONDS * SAMPLE_RATE_HZ, abs=1000)
    assert audio.title_of(path) == ("Some title", "")


def test_tags_in_a_broken_encoding_give_way_to_the_name(tmp_path, samples):
    path = encode(tmp_path / "my_song.m4a", samples, title="Caf\N{LATIN SMALL LETTER E WITH ACUTE}", artist="A\nB")
    assert audio.title_of(path) == ("Caf\N{LATIN SMALL LETTER E WITH ACUTE}", "A B")
    path.write_bytes(path.read_bytes().replace(b"Caf\xc3\xa9", b"Caf\xe9\xe9"))
    assert audio.title_of(path) == ("my song", "A B")


@pytest.mark.parametrize("pyav", [True, False])
def test_what_fills_the_disk_is_refused(tmp_path, samples, monkeypatch, pyav):
    if not pyav and shutil.which("ffmpeg") is None:
        pytest.skip("the program ffmpeg is not installed")
    monkeypatch.setattr(other_formats, "_has_pyav", lambda: pyav)
    monkeypatch.setattr(other_formats, "_LONGEST_SECONDS", SECONDS - 2.0)
    path = encode(tmp_path / "x.m4a", samples)
    with pytest.raises(audio.AudioError, match="is longer than 2 hours; cut a piece out of it"):
        audio.probe(path)


def test_what_is_wrong_is_named_and_the_others_are_analysed(tmp_path, samples, monkeypatch):
    """A damaged file of every format, a protected one, a film without sound, one that is missing: each by itself."""
    monkeypatch.setattr(analysis, "_measure", lambda path, probe: Song(path, probe.content, probe.sound, 6.0, **BLANK))
    reasons = {}
    for suffix in CODECS:
        damage(encode(tmp_path / f"damaged{suffix}", samples, CODECS[suffix]))
        reasons[f"damaged{suffix}"] = "damaged|cannot be decoded"
    protect(encode(tmp_path / "bought.m4a", samples).rename(tmp_path / "bought.m4p"))
    write_silent_film(tmp_path / "film.mp4")
    reasons |= {"bought.m4p": "DRM", "film.mp4": "video without sound", "gone.mp3": "No such file"}
    encode(tmp_path / "sound.m4a", samples)
    names = ["sound.m4a", *reasons]
    songs, skipped = analysis.analyse([str(tmp_path / name) for name in names], tmp_path / "cache", workers=1)
    assert [Path(song.path).name for song in songs] == ["sound.m4a"]
    assert [Path(item.path).name for item in skipped] == list(reasons)
    for item, reason in zip(skipped, reasons.values(), strict=True):
        assert re.search(reason, item.reason), item
