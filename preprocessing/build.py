"""Turn music into records: `make preprocess`, or

    python -m preprocessing.build --corpus=small --output=data
    python -m preprocessing.build --audio=~/Music --output=data

Run again after an interruption, it goes on where it stopped; run again on the same music, it does nothing.
"""

import itertools
import logging
import os
import sys
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from absl import flags
from tqdm import tqdm

from djnet import audio, storage
from djnet.cli import job
from djnet.constants import CLIP_SECONDS, JIGSAW_SIZES
from djnet.corpora import TRACK_LIST, Corpus, Skipped, Track, folder, free, synthetic, write_csv, write_skipped
from djnet.downbeats import tracker
from djnet.downbeats.madmom import MadmomMissingError, madmom
from djnet.errors import UserError, shown
from djnet.files import digest_json, locked, remove_partial
from djnet.records import FEATURES, MANIFEST, SPLITS, VERSION, Clip, Manifest, RecordsError
from preprocessing import duplicates, splits
from preprocessing.clips import Planned, Settings, choose_starts, prepare
from preprocessing.cluster import NAMES, Engine, engine_for
from preprocessing.shards import Part, Parts, write_shards

log = logging.getLogger("preprocess")
_NOT_OF_ONE_FILE = (OSError, MemoryError, MadmomMissingError)  # the disk or the machine: all else leaves one file out


@dataclass(frozen=True)
class Summary:
    """What a run did."""

    manifest: Manifest
    skipped: list[Skipped]


def build(
    corpus: Corpus,
    output: Path,
    settings: Settings,
    cache: Path,
    compress: bool = False,
    engine: Engine = itertools.starmap,
) -> Summary:
    """Turn a corpus into records below `output`, going on from what an earlier run left there.

    corpus, settings: which music, and how it is cut.
    cache: where beats and fingerprints are kept.
    compress: whether shards are compressed.
    engine: what runs the work, by default this process.
    """
    output.mkdir(parents=True, exist_ok=True)
    with locked(output):
        remove_partial(cache / "beats")
        tracks, skipped = _plan(corpus, settings, cache, engine)
        skipped = corpus.skipped + skipped
        about = {
            "corpus": {
                "name": corpus.name,
                "hash": digest_json(sorted([track.content, track.id, track.group] for track in tracks)),
            },
            "settings": asdict(settings)
            | {"split": list(settings.split), "beats_version": tracker.VERSION, "pieces_version": duplicates.VERSION},
        }
        parts = Parts(output)
        write_tracks(output / TRACK_LIST, tracks, corpus)
        if (found := _finished(output, about, compress)) is not None:
            log.info("%s is up to date.", output)
            parts.remove()
            paths = {track.id: track.path for track in tracks}
            skipped += [Skipped(paths[name], reason) for name, reason in found.content["unusable"]]
            write_skipped(output / "skipped.csv", skipped)
            return Summary(found, skipped)
        done = _prepare_all(tracks, settings, cache, parts, engine)
        failed = [(track, part.error) for track, part in zip(tracks, done, strict=True) if part.error]
        skipped += [Skipped(track.path, reason) for track, reason in failed]
        write_skipped(output / "skipped.csv", skipped)
        if not any(part.clips for part in done):
            parts.remove()
            raise UserError(
                f"No music that can be used in {corpus.name}: {_reasons(skipped)}. See {output}/skipped.csv."
            )
        write_shards(
            output, parts, done, about | {"unusable": [[track.id, reason] for track, reason in failed]}, compress
        )
        return Summary(Manifest.read(output), skipped)


def write_tracks(path: Path, tracks: list[Planned], corpus: Corpus) -> None:
    """List the tracks with their files on this machine: mixes and the report play them."""
    licences = {track.id: track.licence for track in corpus.tracks}
    rows = [(track.id, track.path, track.group, track.split, licences[track.id]) for track in tracks]
    write_csv(path, ("track", "path", "group", "split", "licence"), rows)


def _plan(corpus: Corpus, settings: Settings, cache: Path, engine: Engine) -> tuple[list[Planned], list[Skipped]]:
    """Look at every file: -> tracks to use, and what is left out."""
    ordered = sorted(corpus.tracks, key=lambda track: track.id)
    probes = dict(
        tqdm(engine(_probe, ((track.path,) for track in ordered)), desc="look", total=len(ordered), unit="file")
    )
    kept: list[tuple[Track, audio.Probe]] = []
    skipped: list[Skipped] = []
    first_of: dict[str, str] = {}
    for track in ordered:
        probe = probes[track.path]
        if isinstance(probe, str):
            skipped.append(Skipped(track.path, probe))
        elif probe.seconds < CLIP_SECONDS:
            skipped.append(Skipped(track.path, f"has {probe.seconds:.1f} s, a clip needs {CLIP_SECONDS:g} s."))
        elif (same := first_of.get(probe.content) or first_of.get(probe.sound)) is not None:
            skipped.append(Skipped(track.path, f"is the same audio as {same!r}; one copy is kept."))
        else:
            first_of[probe.content] = first_of[probe.sound] = track.path
            kept.append((track, probe))
    pieces = duplicates.find({probe.content: track.path for track, probe in kept}, cache, engine)
    for piece in pieces:
        names = ", ".join(track.id for track, probe in kept if probe.content in piece)
        log.info("One piece, so in one split: %s", shown(names))
    by_group = settings.split_by == "group"
    keys = duplicates.split_keys(
        {probe.content: track.group if by_group else probe.content for track, probe in kept}, pieces
    )
    assigned = splits.assign(list(keys.values()), settings.split)
    tracks = [
        Planned(
            track.id,
            track.path,
            track.group,
            probe.content,
            probe.seconds,
            assigned[keys[probe.content]],
            choose_starts(probe.seconds, probe.content, settings),
        )
        for track, probe in kept
    ]
    return tracks, skipped


def _probe(path: str) -> tuple[str, audio.Probe | str]:
    """Runs in a worker: a file's length and hashes, or the reason why it cannot be used."""
    try:
        with storage.local_copy(path) as local:
            return path, audio.probe(local)
    except Exception as error:
        return path, _why_left_out(error)


def _why_left_out(error: Exception) -> str:
    """The reason in words why a file cannot be used; an error that is not of this file alone is raised again."""
    if isinstance(error, audio.AudioError):
        return error.reason
    if isinstance(error, _NOT_OF_ONE_FILE):
        raise error
    return f"cannot be used ({type(error).__name__}: {error})."


def _finished(output: Path, about: dict, compress: bool) -> Manifest | None:
    """The manifest in a folder if it is of just this music and these settings, with every shard in order."""
    try:
        manifest = Manifest.read(output)
        if any(manifest.content.get(name) != value for name, value in (about | {"gzip": compress}).items()):
            log.info("%s holds other records (%s); they are replaced.", output, manifest.corpus)
            return None
        for split in SPLITS:
            manifest.shards(split)
        return manifest
    except RecordsError as error:
        if (output / MANIFEST).exists():
            log.warning("%s", error)
        return None


def _prepare_all(tracks: list[Planned], settings: Settings, cache: Path, parts: Parts, engine: Engine) -> list[Part]:
    """Records of every track, one part each; parts of an earlier run are kept."""
    keys = [_part_key(track, settings) for track in tracks]
    done = {key: part for key in keys if (part := parts.find(key)) is not None}
    todo = [(key, track) for key, track in zip(keys, tracks, strict=True) if key not in done]
    results = engine(_prepare, ((key, track, settings, cache) for key, track in todo))
    split_of = {key: track.split for key, track in todo}
    with tqdm(desc="clips", total=sum(len(track.starts) for track in tracks), unit="clip") as bar:
        bar.update(sum(part.clips + part.silent for part in done.values()))
        for key, clips, silent, error in results:
            done[key] = parts.add(key, split_of[key], clips, silent, error)
            bar.update(len(clips) + silent)
    return [done[key] for key in keys]


def _prepare(key: str, track: Planned, settings: Settings, cache: Path) -> tuple[str, list[Clip], int, str]:
    """Runs in a worker: everything of a track but the writing, and no TensorFlow."""
    try:
        with storage.local_copy(track.path) as local:
            prepared = prepare(replace(track, path=local), settings, cache)
    except Exception as error:
        return key, [], 0, _why_left_out(error)
    return key, prepared.clips, prepared.silent, "" if prepared.clips else "is silent or constant."


def _part_key(track: Planned, settings: Settings) -> str:
    """A name that changes with anything a track's records depend on; it begins with the content's hash."""
    facts = [VERSION, FEATURES, tracker.VERSION, settings.margin_seconds, settings.downbeats, settings.seed]
    facts += [track.id, track.group, track.split, track.starts]
    return f"{track.content}-{digest_json(facts)[:12]}"


def _reasons(skipped: list[Skipped]) -> str:
    if not skipped:
        return "there are no music files"
    common = Counter(item.reason for item in skipped).most_common(1)[0]
    return f"{len(skipped)} files left out, the first reason is: {common[0].rstrip('.')}"


def _games(content: dict) -> Counter[str]:
    """How many clips there are for each game, in all splits; games of downbeats that no clip has count too."""
    counts = sum((Counter(content["splits"][split]["games"]) for split in SPLITS), Counter[str]())
    if content["settings"]["downbeats"]:
        counts.update({f"downbeat/{n}": 0 for n in JIGSAW_SIZES})
    return counts


def _corpus(given: Any, cache: Path) -> Corpus:
    """The corpus that the flags ask for."""
    if given.audio is not None and storage.is_address(given.audio):
        return folder.corpus_at(given.audio)
    if given.audio is not None:
        where = Path(given.audio).expanduser()
        if not given.audio or not where.is_dir():
            raise UserError(f"--audio={given.audio}: there is no such folder.")
        try:
            return folder.corpus(where)
        except ValueError as error:
            raise UserError(str(error)) from error
    if given.corpus == "synthetic":
        return synthetic.corpus(given.songs, given.seed, cache)
    return free.corpus(given.corpus, cache)


def _settings(given: Any) -> Settings:
    try:
        shares = tuple(float(share) for share in given.split)
    except ValueError as error:
        raise UserError(f"--split={','.join(given.split)}: three numbers are needed.") from error
    try:
        return Settings(
            given.seed,
            given.clips_per_track,
            given.margin_seconds,
            given.first_only,
            shares,
            given.split_by,
            given.downbeats and _can_find_downbeats(),
        )
    except ValueError as error:
        raise UserError(str(error)) from error


def _can_find_downbeats() -> bool:
    """Whether madmom is there; one line if it is not."""
    try:
        madmom("features.downbeats")
    except MadmomMissingError as error:
        log.warning("%s", error)
        return False
    return True


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string(
        "audio", None, "A folder of your own music, or an address such as s3://bucket/music, in place of --corpus."
    )
    flags.DEFINE_enum(
        "corpus",
        "small",
        [*free.SETS, free.REST, "synthetic"],
        "Free recordings in three sizes, or those of full that medium lacks (rest), or generated songs.",
    )
    flags.DEFINE_string("output", "data", "Folder for the records, or an address such as s3://bucket/data.")
    flags.DEFINE_string("cache", "~/.cache/djnet", "Folder for downloads and other things worth keeping.")
    flags.DEFINE_integer("seed", 0, "Seed of everything that is drawn at random.")
    flags.DEFINE_integer("songs", 60, "Number of generated songs, with --corpus=synthetic.", lower_bound=1)
    flags.DEFINE_integer("clips_per_track", 10, "At most that many clips of 24 s from a track.")
    flags.DEFINE_float("margin_seconds", 3.0, "Music kept before and after a clip, so that training can shift it.")
    flags.DEFINE_bool("first_only", False, "Only the first 24 s of a track, as in the paper.")
    flags.DEFINE_list("split", ["0.62", "0.19", "0.19"], "Shares of training, validation and test.")
    flags.DEFINE_enum("split_by", "track", ["track", "group"], "What must not stand in two splits.")
    flags.DEFINE_bool("downbeats", True, "Find downbeats, for games that are cut at them.")
    flags.DEFINE_bool("gzip", False, "Compress the shards.")
    flags.DEFINE_integer("workers", os.cpu_count() or 1, "Processes that decode music.", lower_bound=1)
    flags.DEFINE_enum("engine", "local", NAMES, "What runs the work: this machine, a Dask or a Ray cluster.")
    flags.DEFINE_string("scheduler", "", "Address of the cluster's scheduler, for example tcp://host:8786.")


def main(given: Any) -> None:
    """Read the flags, build, and say what was done."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr, force=True)
    settings = _settings(given)
    cache = Path(given.cache).expanduser()
    output: Path | str = Path(given.output).expanduser()
    local = Path(output)
    if storage.is_address(given.output):
        output = given.output.rstrip("/")
        local = cache / "records" / digest_json(output)[:16]
    engine = engine_for(given.engine, given.workers, given.scheduler)
    summary = build(_corpus(given, cache), local, settings, cache, compress=given.gzip, engine=engine)
    if local != output:
        storage.publish(local, str(output))
    content = summary.manifest.content
    counts = ", ".join(f"{split} {content['splits'][split]['clips']}" for split in SPLITS)
    print(f"{output}: {content['corpus']['name']}, clips: {counts}; {content['silent_clips']} silent clips left out.")
    for name, count in _games(content).items():
        if count < (clips := _games(content)["fixed/3"]):
            print(f"{clips - count} clips cannot be cut for {name}: too few downbeats.")
    if summary.skipped:
        print(f"{len(summary.skipped)} files were left out: {output}/skipped.csv says which and why.")


if __name__ == "__main__":
    job.run(main, define_flags)
