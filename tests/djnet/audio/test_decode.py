import os

import librosa
import numpy as np
import pytest
import soundfile

from djnet import audio
from djnet.constants import SAMPLE_RATE_HZ


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".ogg", ".mp3", ".aiff"])
def test_every_format_gives_the_same_sound(tmp_path, write_tone, suffix):
    whole = audio.load(write_tone(tmp_path / f"tone{suffix}", seconds=5))
    assert whole.dtype == np.float32 and whole.ndim == 1
    assert abs(len(whole) / SAMPLE_RATE_HZ - 5) < 0.06
    part = audio.load(tmp_path / f"tone{suffix}", start=2.0, seconds=1.5)
    assert len(part) == round(1.5 * SAMPLE_RATE_HZ)
    expected = whole[2 * SAMPLE_RATE_HZ :][: len(part)]
    assert np.abs(part - expected).max() < (1e-6 if suffix in (".wav", ".flac", ".aiff") else 0.05)


@pytest.mark.parametrize(("rate", "channels"), [(8_000, 1), (44_100, 2), (48_000, 2), (96_000, 6)])
def test_any_rate_and_channels_become_mono_at_our_rate(tmp_path, write_tone, rate, channels):
    path = write_tone(tmp_path / "tone.wav", seconds=4, rate=rate, channels=channels)
    ours = audio.load(path)
    theirs, _ = librosa.load(path, sr=SAMPLE_RATE_HZ)
    assert abs(len(ours) - len(theirs)) <= 1
    count = min(len(ours), len(theirs))
    assert np.abs(ours[:count] - theirs[:count]).max() < 1e-3


def test_a_part_is_the_same_part_at_another_rate(tmp_path, write_tone):
    path = write_tone(tmp_path / "tone.wav", seconds=6, rate=44_100, channels=2)
    whole, part = audio.load(path), audio.load(path, start=2.0, seconds=2.0)
    inside = slice(500, -500)  # the resampler's filter sees silence beyond the ends of the part
    assert np.abs(part - whole[2 * SAMPLE_RATE_HZ : 4 * SAMPLE_RATE_HZ])[inside].max() < 1e-4


def test_only_the_seconds_asked_for_are_read(tmp_path, monkeypatch):
    """A file of ten hours: neither its probe nor a clip of it decodes more than a few seconds."""
    path = tmp_path / "long.wav"
    block = np.random.default_rng(0).integers(0, 255, 8_000 * 600, dtype=np.uint8)
    with soundfile.SoundFile(path, "w", 8_000, 1, subtype="PCM_U8") as file:
        for _ in range(60):
            file.write((block.astype(np.float32) - 128) / 128)
    read: list[int] = []
    original = soundfile.SoundFile.read

    def counting(self, frames=-1, **options):
        read.append(frames)
        return original(self, frames, **options)

    monkeypatch.setattr(soundfile.SoundFile, "read", counting)
    assert audio.probe(path).seconds == pytest.approx(36_000)
    samples = audio.load(path, start=20_000, seconds=24)
    assert len(samples) == pytest.approx(24 * SAMPLE_RATE_HZ, abs=1)
    assert min(read) > 0 and sum(read) <= 8_000 * (24 + 6)


def _text(path):
    path.write_text("This is not music. " * 100)


def _cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


@pytest.mark.parametrize("suffix", [".mp3", ".wav", ".flac", ".ogg"])
def test_text_with_the_name_of_music(tmp_path, suffix):
    _text(tmp_path / f"song{suffix}")
    with pytest.raises(audio.AudioError, match="cannot be decoded"):
        audio.probe(tmp_path / f"song{suffix}")


@pytest.mark.parametrize("suffix", [".mp3", ".wav", ".flac", ".ogg"])
def test_empty_files(tmp_path, suffix):
    (tmp_path / f"song{suffix}").touch()
    with pytest.raises(audio.AudioError, match="is an empty file"):
        audio.probe(tmp_path / f"song{suffix}")


@pytest.mark.parametrize("suffix", [".ogg", ".mp3", ".flac", ".wav", ".aiff", ".au"])
def test_files_that_were_cut_off(tmp_path, write_tone, suffix):
    path = write_tone(tmp_path / f"song{suffix}")
    assert audio.probe(path).seconds == pytest.approx(30, abs=0.1)
    _cut(path)
    with pytest.raises(audio.AudioError, match=r"cut off|decoded"):
        audio.probe(path)


def test_a_wav_without_samples(tmp_path):
    soundfile.write(tmp_path / "none.wav", np.zeros(0), SAMPLE_RATE_HZ)
    with pytest.raises(audio.AudioError, match="has no samples"):
        audio.probe(tmp_path / "none.wav")
    with pytest.raises(audio.AudioError, match="nothing to read"):
        audio.load(tmp_path / "none.wav")


def test_samples_that_are_not_numbers(tmp_path):
    samples = np.zeros(SAMPLE_RATE_HZ, np.float32)
    samples[100] = np.nan
    soundfile.write(tmp_path / "nan.wav", samples, SAMPLE_RATE_HZ, subtype="FLOAT")
    with pytest.raises(audio.AudioError, match="not numbers"):
        audio.load(tmp_path / "nan.wav")


@pytest.mark.parametrize("largest", [1e25, -2e6])
def test_samples_out_of_all_range(tmp_path, largest):
    samples = np.zeros((SAMPLE_RATE_HZ, 2), np.float32)
    samples[100] = (largest, -largest)
    soundfile.write(tmp_path / "huge.wav", samples, SAMPLE_RATE_HZ, subtype="FLOAT")
    for read in (audio.load, audio.probe, lambda path: audio.load_stereo(path, 0.0, 1.0, 44_100)):
        with pytest.raises(audio.AudioError, match=r"samples as large as (1e\+25|2e\+06)"):
            read(tmp_path / "huge.wav")


@pytest.mark.parametrize("rate", [1, 7_999, 384_001, 2_000_000])
def test_sample_rates_that_no_music_has(tmp_path, rate):
    soundfile.write(tmp_path / "x.wav", np.zeros(5_000), rate)
    with pytest.raises(audio.AudioError, match=f"a sample rate of {rate} Hz; from 8 to 384 kHz are read"):
        audio.probe(tmp_path / "x.wav")


def test_more_channels_than_any_music_has(tmp_path):
    soundfile.write(tmp_path / "x.wav", np.zeros((100, 65)), SAMPLE_RATE_HZ)
    with pytest.raises(audio.AudioError, match="has 65 channels; 64 are the most"):
        audio.probe(tmp_path / "x.wav")


def test_an_mp3_file_beyond_a_gigabyte_is_refused_before_it_is_read(tmp_path):
    with open(tmp_path / "x.mp3", "wb") as file:
        file.truncate((1 << 30) + 1)  # takes no room on the disk
    with pytest.raises(audio.AudioError, match="has 1074 MB; mp3 files of up to 1074 are read"):
        audio.load(tmp_path / "x.mp3")


def test_the_highest_sample_rate(tmp_path, write_tone):
    path = write_tone(tmp_path / "x.wav", seconds=1, rate=384_000)
    assert len(audio.load(path)) == pytest.approx(SAMPLE_RATE_HZ, abs=1)


def test_a_wav_from_a_pipe_promises_nothing(tmp_path, write_tone):
    """Programs that write to a pipe do not know the length: they put the largest number there."""
    path = write_tone(tmp_path / "x.wav", seconds=2)
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 4 + data[8:40] + b"\xff" * 4 + data[44:])
    assert audio.probe(path).seconds == pytest.approx(2)


def test_a_flac_from_a_pipe_names_the_way_out(tmp_path, write_tone):
    path = write_tone(tmp_path / "x.flac", seconds=2)
    data = bytearray(path.read_bytes())
    data[21] &= 0xF0  # the number of samples, 36 bits
    data[22:26] = bytes(4)
    path.write_bytes(data)
    with pytest.raises(audio.AudioError, match="does not say how long it is; convert it"):
        audio.probe(path)


def test_a_few_missing_samples_at_the_end_are_silence(tmp_path, write_tone, monkeypatch):
    """What a file has by its probe can be loaded."""
    path = write_tone(tmp_path / "x.wav", seconds=2)
    original = soundfile.SoundFile.read
    present = 2 * SAMPLE_RATE_HZ - 1_000

    def short(self, frames=-1, **options):
        return original(self, min(frames, present - self.tell()), **options)

    monkeypatch.setattr(soundfile.SoundFile, "read", short)
    samples = audio.load(path)
    assert len(samples) == 2 * SAMPLE_RATE_HZ and not samples[present:].any() and samples[:present].any()


def test_a_start_beyond_the_end(tmp_path, write_tone):
    path = write_tone(tmp_path / "short.wav", seconds=2)
    with pytest.raises(audio.AudioError, match=r"nothing to read at 3 s, the file has 2\.0 s"):
        audio.load(path, start=3.0)


def test_files_that_cannot_be_opened(tmp_path, write_tone):
    with pytest.raises(audio.AudioError, match="No such file"):
        audio.load(tmp_path / "absent.wav")
    (tmp_path / "loop.wav").symlink_to(tmp_path / "loop.wav")
    with pytest.raises(audio.AudioError, match="cannot be read"):
        audio.load(tmp_path / "loop.wav")
    (tmp_path / "folder.wav").mkdir()
    with pytest.raises(audio.AudioError):
        audio.load(tmp_path / "folder.wav")


def test_a_file_without_permission(tmp_path, write_tone):
    path = write_tone(tmp_path / "secret.wav", seconds=1)
    path.chmod(0)
    tmp_path.chmod(0o755)
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    try:
        with pytest.raises(audio.AudioError, match=r"secret.wav': cannot be read"):
            audio.load(path)
    finally:
        os.seteuid(was)


def test_hashes_tell_copies_from_other_music(tmp_path, write_tone):
    first = write_tone(tmp_path / "a.wav", seconds=8)
    other = write_tone(tmp_path / "b.wav", seconds=8)
    copy = tmp_path / "copy.wav"
    copy.write_bytes(first.read_bytes())
    samples, rate = soundfile.read(first)
    soundfile.write(tmp_path / "same.flac", samples, rate)
    a, b, c, flac = map(audio.probe, (first, other, copy, tmp_path / "same.flac"))
    assert a == c
    assert a.content != b.content and a.sound != b.sound
    assert flac.content != a.content and flac.sound == a.sound


@pytest.mark.parametrize(("rate", "channels"), [(44_100, 2), (48_000, 1), (22_050, 6)])
def test_stereo_is_kept_as_it_was_mixed(tmp_path, rng, rate, channels):
    samples = 0.3 * rng.standard_normal((3 * rate, channels))
    soundfile.write(tmp_path / "x.wav", samples, rate, subtype="FLOAT")
    part = audio.load_stereo(tmp_path / "x.wav", 1.0, 1.0, 44_100)
    assert part.shape == (44_100, 2) and part.dtype == np.float32
    if channels == 2:
        np.testing.assert_allclose(part, samples[rate : 2 * rate], atol=1e-6)
    else:
        np.testing.assert_array_equal(part[:, 0], part[:, 1])
    assert len(audio.load_stereo(tmp_path / "x.wav", 2.5, 1.0, 44_100)) == 22_050
    with pytest.raises(audio.AudioError, match="cannot be read"):
        audio.load_stereo(tmp_path / "none.wav", 0.0, 1.0, 44_100)


@pytest.mark.parametrize("ending", ["ogg", "mp3", "flac"])
def test_a_part_lies_where_it_does_in_the_whole_file(tmp_path, rng, ending):
    soundfile.write(tmp_path / f"x.{ending}", 0.1 * rng.standard_normal((5 * 44_100, 2)), 44_100)
    whole = soundfile.read(tmp_path / f"x.{ending}", dtype="float32")[0]
    part = audio.load_stereo(tmp_path / f"x.{ending}", 3.5, 1.0, 44_100)
    np.testing.assert_allclose(part, whole[154_350 : 154_350 + 44_100], atol=1e-6)
    (mono,) = audio.load_at(tmp_path / f"x.{ending}", 3.5, 1.0, (44_100,))
    np.testing.assert_allclose(mono, part.mean(axis=1), atol=1e-6)


@pytest.mark.parametrize(
    ("encoding", "title", "expected"),
    [
        (0, b"Caf\xe9", "Caf\xe9"),
        (3, b"Caf\xe9 noir", "some song"),  # not UTF-8, as it says
        (1, b"\xff\xfeA", "some song"),  # half a character of UTF-16
        (9, b"abc", "some song"),  # no such encoding
        (0, b"two\nlines\x1b", "two lines"),
    ],
)
def test_names_come_from_tags_that_can_be_read(tmp_path, write_tone, encoding, title, expected):
    path = write_tone(tmp_path / "some_song.mp3", seconds=1)
    tag = b"TIT2" + (len(title) + 1).to_bytes(4, "big") + bytes(2) + bytes([encoding]) + title
    path.write_bytes(b"ID3\x03\0\0" + (len(tag)).to_bytes(4, "big") + tag + path.read_bytes())
    assert audio.title_of(path) == (expected, "")
    assert audio.name_of(path) == expected


def test_a_name_has_the_artist_in_front(tmp_path):
    with soundfile.SoundFile(tmp_path / "x.flac", "w", SAMPLE_RATE_HZ, 1) as sound:
        sound.title, sound.artist = "Some title", "Somebody"
        sound.write(np.zeros(1000))
    assert audio.name_of(tmp_path / "x.flac") == "Somebody - Some title"
    bad = tmp_path / os.fsdecode(b"caf\xe9.wav")
    assert audio.name_of(bad) == "caf?"
