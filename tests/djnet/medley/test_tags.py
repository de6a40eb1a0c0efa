import base64

import mutagen
import numpy as np
import pytest
from mutagen.flac import FLAC, Picture
from mutagen.mp4 import MP4

from djnet import audio
from djnet.medley import tags

COVER = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
CHAPTERS = [(0.0, "F\u00eate"), (1.5, "\u6771\u4eac \u0394 \u041c\u043e\u0441\u043a\u0432\u0430")]


def cover_of(file) -> bytes:
    if isinstance(file, FLAC):
        return file.pictures[0].data
    if isinstance(file, MP4):
        return bytes(file["covr"][0])
    if "metadata_block_picture" in file:
        return Picture(base64.b64decode(file["metadata_block_picture"][0])).data
    return file.tags.getall("APIC")[0].data


@pytest.mark.parametrize("ending", ["mp3", "wav", "ogg", "flac", "m4a"])
def test_titles_and_chapters_are_right_in_every_script(tmp_path, rng, ending):
    if ending == "m4a":
        pytest.importorskip("av")
    path = tmp_path / f"x.{ending}"
    samples = (0.1 * rng.standard_normal((3 * 44_100, 2))).astype(np.float32)
    copies = []
    for _ in range(2):
        audio.write(path, samples, 44_100, "plain", "nothing", chapters=CHAPTERS)
        before = np.concatenate(list(audio.read_back(path)))
        tags.write(path, "F\u00eate \u97f3\u697d", CHAPTERS, ["Bj\u00f6rk", "\u6771"], COVER)
        np.testing.assert_array_equal(np.concatenate(list(audio.read_back(path))), before)
        copies.append(path.read_bytes())
    assert copies[0] == copies[1] and list(tmp_path.iterdir()) == [path]
    file = mutagen.File(path)
    assert cover_of(file) == COVER
    artists = file.tags["TPE1"].text if ending in ("mp3", "wav") else file["\xa9ART" if ending == "m4a" else "artist"]
    assert artists == ["Bj\u00f6rk", "\u6771"]
    if ending in ("mp3", "wav"):
        assert file.tags["TIT2"].text == ["F\u00eate \u97f3\u697d"]
        chapters = sorted(file.tags.getall("CHAP"), key=lambda frame: frame.start_time)
        assert [(frame.start_time / 1000, frame.sub_frames["TIT2"].text[0]) for frame in chapters] == CHAPTERS
        assert chapters[0].end_time == 1500 and chapters[1].end_time == pytest.approx(3000, abs=100)
        assert file.tags["CTOC:toc"].child_element_ids == ["chapter1", "chapter2"]
    elif ending == "m4a":
        assert file["\xa9nam"] == ["F\u00eate \u97f3\u697d"] and file["\xa9cmt"][0].startswith("Medley of F\u00eate, ")
        assert [(chapter.start, chapter.title) for chapter in file.chapters] == CHAPTERS
    else:
        assert file["title"] == ["F\u00eate \u97f3\u697d"] and file["comment"][0].startswith("Medley of F\u00eate, ")
        assert file["chapter002"] == ["00:00:01.500"] and file["chapter002name"] == [CHAPTERS[1][1]]


def test_a_preview_has_no_chapters(tmp_path, rng):
    path = tmp_path / "x.mp3"
    audio.write(path, (0.1 * rng.standard_normal((44_100, 2))).astype(np.float32), 44_100, "a", "b")
    tags.write(path, "only the joins", [])
    assert not mutagen.File(path).tags.getall("CHAP") and not mutagen.File(path).tags.getall("CTOC")
