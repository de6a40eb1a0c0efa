"""Tags of a medley that every player shows right: its title in any script, its songs as chapters, and a cover.

ID3v2 with CTOC and CHAP frames in mp3 and wav files, Vorbis comments with CHAPTER001 and so on in ogg and flac files.
The chapters of m4a files are written with their sound, see `audio.write`.
"""

import base64
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from djnet.errors import UserError
from djnet.files import whole_file

_FRONT_COVER = 3  # of the kinds of pictures that ID3v2 and flac have
Chapters = Sequence[tuple[float, str]]  # where a song begins, in seconds, and its name


def write(path: Path, title: str, chapters: Chapters, artists: Sequence[str] = (), cover: bytes = b"") -> None:
    """Put title, artists, comment, chapters and a cover (PNG) into a music file in place of its tags, or nothing."""
    import mutagen.id3
    import mutagen.mp4

    with whole_file(path) as partial:
        shutil.copyfile(path, partial)
        file = mutagen.File(partial)
        if file is None:
            raise UserError(f"{path}: cannot be tagged.")
        file.delete()
        if file.tags is None:
            file.add_tags()
        if path.suffix.lower() in (".mp3", ".wav"):
            _add_frames(file.tags, title, chapters, round(1000 * file.info.length))
            if artists:
                file.tags.add(mutagen.id3.TPE1(encoding=3, text=list(artists)))
            if cover:
                file.tags.add(mutagen.id3.APIC(encoding=3, mime="image/png", type=_FRONT_COVER, desc="", data=cover))
        elif path.suffix.lower() == ".m4a":
            file.tags.update({"\xa9nam": title, "\xa9cmt": _comment(chapters), "\xa9too": "djnet"})
            if artists:
                file.tags["\xa9ART"] = list(artists)
            if cover:
                file.tags["covr"] = [mutagen.mp4.MP4Cover(cover, mutagen.mp4.AtomDataType.PNG)]
        else:
            file.tags.update({"title": title, "comment": _comment(chapters), "encoder": "djnet"})
            if artists:
                file.tags["artist"] = list(artists)
            for number, (start, name) in enumerate(chapters, 1):
                seconds = f"{int(start // 3600):02d}:{int(start // 60 % 60):02d}:{start % 60:06.3f}"
                file.tags.update({f"CHAPTER{number:03d}": seconds, f"CHAPTER{number:03d}NAME": name})
            if cover:
                _add_picture(file, cover)
        file.save(partial)


def _add_picture(file: Any, cover: bytes) -> None:
    """A cover in a flac file, or in the comments of an ogg file."""
    from mutagen.flac import FLAC, Picture

    picture = Picture()
    picture.type, picture.mime, picture.data = _FRONT_COVER, "image/png", cover
    if isinstance(file, FLAC):
        file.add_picture(picture)
    else:
        file.tags["metadata_block_picture"] = base64.b64encode(picture.write()).decode("ascii")


def _comment(chapters: Chapters) -> str:
    return "Medley of " + ", ".join(name for _, name in chapters) if chapters else "The joins of a medley"


def _add_frames(tags: Any, title: str, chapters: Chapters, milliseconds: int) -> None:
    """ID3v2.4 frames; a chapter ends where the next begins."""
    from mutagen.id3 import CHAP, COMM, CTOC, TIT2, TSSE, CTOCFlags

    tags.add(TIT2(encoding=3, text=title))
    tags.add(TSSE(encoding=3, text="djnet"))
    tags.add(COMM(encoding=3, lang="eng", desc="", text=_comment(chapters)))
    names = [f"chapter{number}" for number in range(1, len(chapters) + 1)]
    if names:
        flags = CTOCFlags.TOP_LEVEL | CTOCFlags.ORDERED
        tags.add(
            CTOC(element_id="toc", flags=flags, child_element_ids=names, sub_frames=[TIT2(encoding=3, text=title)])
        )
    ends = [*(round(1000 * start) for start, _ in chapters[1:]), milliseconds]
    for element, (start, name), end in zip(names, chapters, ends, strict=False):
        times = {"start_time": round(1000 * start), "end_time": end, "start_offset": 2**32 - 1, "end_offset": 2**32 - 1}
        tags.add(CHAP(element_id=element, sub_frames=[TIT2(encoding=3, text=name)], **times))
