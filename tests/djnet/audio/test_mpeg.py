"""Mp3 files as they are found: without a length, between tags of all kinds, with more or less than they promise."""

import io

import numpy as np
import pytest
import soundfile

from djnet import audio

RATE_HZ = 44_100
FRAME_SAMPLES = 1152
ENCODER_AND_DECODER_DELAY = 576 + 529  # samples that are left out at the beginning with an Info header


def _encode(samples, rate=RATE_HZ, **options) -> bytes:
    """An mp3 file with an Info or Xing header in its first frame."""
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format="MP3", **options)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def mp3() -> bytes:
    """Ten seconds of noise, stereo."""
    return _encode(0.1 * np.random.default_rng(0).standard_normal((10 * RATE_HZ, 2)))


def _split(data: bytes) -> tuple[bytes, bytes]:
    """The frame with the length, and the frames with the sound."""
    place = data.index(data[:2], data.index(b"LAME") + 36)
    return data[:place], data[place:]


def _id3v2(content: bytes, version: int = 3) -> bytes:
    size = bytes(len(content) >> shift & 0x7F for shift in (21, 14, 7, 0))
    return b"ID3" + bytes([version, 0, 0]) + size + content


def _id3v2_frame(name: bytes, content: bytes) -> bytes:
    return name + len(content).to_bytes(4, "big") + bytes(2) + content


def _load(path, data: bytes) -> np.ndarray:
    """All samples of a file with this content, which are as many as its probe says: [N, 2]."""
    path.write_bytes(data)
    seconds = audio.probe(path).seconds
    samples = audio.load_stereo(path, 0.0, 1e6, RATE_HZ)
    assert len(samples) == round(seconds * RATE_HZ)
    return samples


@pytest.mark.parametrize(("rate", "channels"), [(8_000, 1), (22_050, 1), (24_000, 2), (44_100, 1), (48_000, 2)])
def test_a_file_without_a_length_is_read_to_its_end(tmp_path, rng, rate, channels):
    samples = 0.1 * rng.standard_normal((3 * rate, channels))
    data = _encode(samples, rate)
    (tmp_path / "x.mp3").write_bytes(_split(data)[1])
    whole = audio.load_stereo(tmp_path / "x.mp3", 0.0, 100.0, rate)[:, :channels]
    expected = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)[0]
    np.testing.assert_allclose(whole[ENCODER_AND_DECODER_DELAY:][: len(expected)], expected, atol=1e-5)
    assert 0 <= len(whole) - ENCODER_AND_DECODER_DELAY - len(expected) < 2 * FRAME_SAMPLES
    assert audio.probe(tmp_path / "x.mp3").seconds == len(whole) / rate
    part = audio.load_stereo(tmp_path / "x.mp3", 1.5, 1.0, rate)
    np.testing.assert_allclose(part[:, :channels], whole[round(1.5 * rate) :][:rate], atol=1e-6)


@pytest.mark.parametrize("loud_first", [True, False])
def test_a_variable_bit_rate_without_a_length(tmp_path, rng, loud_first):
    """The first frame says nothing of the others: libsndfile takes the file for much shorter or longer than it is."""
    loudness = np.repeat([0.3, 0.0] if loud_first else [0.0, 0.3], 5 * RATE_HZ)[:, None]
    data = _encode(loudness * rng.standard_normal((10 * RATE_HZ, 2)), bitrate_mode="VARIABLE")
    sound = _split(data)[1]
    if loud_first:
        sound = sound[sound.index(sound[:2], 3_000) :]  # encoders begin with small frames
    estimated = soundfile.info(io.BytesIO(sound)).duration
    assert abs(estimated - 10) > 2
    samples = _load(tmp_path / "x.mp3", sound)
    assert len(samples) == pytest.approx(10 * RATE_HZ, abs=8 * FRAME_SAMPLES)
    halves = np.abs(samples).mean(axis=1).reshape(-1, FRAME_SAMPLES).mean(axis=1)
    assert (halves > 0.1).mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("size", [0, 1, 117, 127, 128, 4_086, 100_001])
@pytest.mark.parametrize("has_header", [True, False])
def test_tags_around_the_sound_change_nothing(tmp_path, rng, mp3, size, has_header):
    sound = mp3 if has_header else _split(mp3)[1]
    expected = _load(tmp_path / "plain.mp3", sound)
    cover = bytes(rng.integers(0, 256, size, dtype=np.uint8))
    ape = b"APETAGEX" + (2_000).to_bytes(4, "little") + len(cover).to_bytes(4, "little") + bytes(16) + cover
    tagged = _id3v2(cover) + bytes(size % 1000) + sound + ape + b"TAG" + bytes(125)
    np.testing.assert_array_equal(_load(tmp_path / "tagged.mp3", tagged), expected)
    plain, copy = audio.probe(tmp_path / "plain.mp3"), audio.probe(tmp_path / "tagged.mp3")
    assert copy.sound == plain.sound and copy.content != plain.content


@pytest.mark.parametrize(
    "tag",
    [
        _id3v2(_id3v2_frame(b"APIC", b"\3image/\xff\xfe\xff" + bytes(300))),  # no end of the mime type
        _id3v2(_id3v2_frame(b"APIC", b"\0image/jpeg\0\3\0" + b"\xff\xfb\x90\x64" * 200)),  # looks like frames
        _id3v2(b"APIC" + b"\xff" * 6 + b"\0image/jpeg\0"),  # a frame that is longer than its tag
        _id3v2(b"\xff" * 50, version=4),
        b"ID3\3\0\0" + b"\x7f" * 4 + bytes(100),  # a tag that is longer than the file
        b"ID3",
        b"\0" * 5_000,
    ],
)
def test_broken_tags_do_not_stop_the_music(tmp_path, mp3, tag):
    sound = _split(mp3)[1]
    expected = _load(tmp_path / "plain.mp3", sound)
    np.testing.assert_array_equal(_load(tmp_path / "tagged.mp3", tag + sound), expected)


def test_half_a_frame_before_an_id3v1_tag(tmp_path, mp3, capfd):
    sound = _split(mp3)[1]
    expected = _load(tmp_path / "plain.mp3", sound)
    title = _id3v2(_id3v2_frame(b"TIT2", b"\0Some title") + _id3v2_frame(b"TPE1", b"\0Somebody"))
    samples = _load(tmp_path / "half.mp3", title + sound[:-200] + b"TAG" + bytes(125))
    np.testing.assert_array_equal(samples, expected[: len(samples)])
    assert len(expected) - len(samples) == FRAME_SAMPLES
    assert audio.title_of(tmp_path / "half.mp3") == ("Some title", "Somebody")
    assert capfd.readouterr().err == ""


def test_files_put_together(tmp_path, mp3):
    """The header of the first promises less than there is, and there are tags in the middle."""
    one = len(_load(tmp_path / "one.mp3", mp3))
    both = len(_load(tmp_path / "both.mp3", mp3 + b"TAG" + bytes(125) + _id3v2(bytes(50_000)) + _split(mp3)[1]))
    assert both == pytest.approx(2 * one, abs=3 * FRAME_SAMPLES)


@pytest.mark.parametrize("kind", ["Xing", "VBRI"])
def test_a_file_with_less_than_its_header_promises(tmp_path, mp3, kind):
    header, sound = _split(mp3)
    count = int.from_bytes(header[header.index(b"Xing") + 8 :][:4], "big")
    if kind == "VBRI":
        vbri = b"VBRI" + bytes(6) + len(mp3).to_bytes(4, "big") + count.to_bytes(4, "big")
        header = header[:4] + bytes(32) + vbri + bytes(len(header) - 36 - len(vbri))
    assert len(_load(tmp_path / "x.mp3", header + sound)) == pytest.approx(10 * RATE_HZ, abs=3 * FRAME_SAMPLES)
    (tmp_path / "x.mp3").write_bytes(header + sound[: len(sound) // 2])
    for read in (audio.probe, audio.load):
        with pytest.raises(audio.AudioError, match=r"cut off or damaged: it has 5\.0 s of the 10\.0 s in its header"):
            read(tmp_path / "x.mp3")


def test_a_file_that_promises_nothing_has_what_is_there(tmp_path, mp3):
    sound = _split(mp3)[1]
    expected = _load(tmp_path / "whole.mp3", sound)
    samples = _load(tmp_path / "cut.mp3", sound[: len(sound) // 2])
    assert len(samples) == pytest.approx(len(expected) / 2, abs=FRAME_SAMPLES)
    np.testing.assert_array_equal(samples, expected[: len(samples)])


@pytest.mark.parametrize("has_header", [True, False])
@pytest.mark.parametrize("where", ["middle", "end"])
@pytest.mark.parametrize("junk", ["noise", "zeros"])
def test_damage_is_named(tmp_path, rng, mp3, has_header, where, junk):
    data = mp3 if has_header else _split(mp3)[1]
    size, place = len(data) // 4, len(data) // 2 if where == "middle" else len(data) * 3 // 4
    wrong = rng.bytes(size) if junk == "noise" else bytes(size)
    (tmp_path / "x.mp3").write_bytes(data[:place] + wrong + data[place + size :])
    for read in (audio.probe, audio.load):
        with pytest.raises(audio.AudioError, match="damaged"):
            read(tmp_path / "x.mp3")


def test_a_few_wrong_bytes_are_played_over(tmp_path, rng, mp3, capfd):
    sound = _split(mp3)[1]
    expected = _load(tmp_path / "whole.mp3", sound)
    place = len(sound) // 2
    samples = _load(tmp_path / "x.mp3", sound[:place] + rng.bytes(50) + sound[place + 50 :])
    assert abs(len(samples) - len(expected)) <= 2 * FRAME_SAMPLES
    np.testing.assert_array_equal(samples[: 4 * RATE_HZ], expected[: 4 * RATE_HZ])
    assert capfd.readouterr().err == ""


def test_the_content_counts_not_the_name(tmp_path, mp3, write_tone):
    expected = _load(tmp_path / "x.mp3", _split(mp3)[1])
    np.testing.assert_array_equal(_load(tmp_path / "x.ogg", _split(mp3)[1]), expected)
    wav = write_tone(tmp_path / "x.wav", seconds=2)
    wav.rename(tmp_path / "wav.mp3")
    assert audio.probe(tmp_path / "wav.mp3").seconds == pytest.approx(2)
