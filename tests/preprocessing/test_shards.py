import hashlib
import json
from dataclasses import asdict
from typing import Any

import pytest

from djnet.files import write_json
from djnet.records import RecordsError
from preprocessing.shards import Part, Parts, _moments


def test_a_part_whose_sums_are_not_finite_is_made_again(tmp_path):
    parts = Parts(tmp_path)
    parts.folder.mkdir()
    for sums, is_kept in (([1.0, 2.0], True), ([1.0, float("inf")], False)):
        part = Part("key", "train", silent=1, frames=1, sums=sums, squares=[1.0, 2.0])
        (parts.folder / "key.json").write_text(json.dumps(asdict(part)))
        assert (parts.find("key") is not None) == is_kept


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_moments_that_are_not_finite_are_never_written():
    with pytest.raises(RecordsError, match="not finite"):
        _moments([Part("key", "train", frames=1, sums=[1e200], squares=[float("inf")])])


def test_a_part_that_is_damaged_is_made_again(tmp_path):
    parts = Parts(tmp_path)
    whole = parts.add("key", "train", [], 3, "is silent.")
    assert parts.find("key") == whole
    path = tmp_path / ".parts" / "key.json"
    changes: tuple[dict[str, Any], ...] = (
        {"frames": "many"},
        {"games": []},
        {"sums": [1.0]},
        {"sums": None},
        {"other": 1},
        {"sums": [10**400]},
    )
    for change in changes:
        path.write_text(json.dumps(asdict(whole) | change))
        assert parts.find("key") is None, change
    path.write_text("[" * 100_000)
    assert parts.find("key") is None


def test_damaged_records_of_a_part_are_made_again(tmp_path):
    parts = Parts(tmp_path)
    part = Part("key", "train", clips=1, bytes=4, sha256=hashlib.sha256(b"clip").hexdigest())
    (tmp_path / ".parts").mkdir()
    write_json(tmp_path / ".parts" / "key.json", asdict(part))
    parts.records("key").write_bytes(b"clip")
    assert parts.find("key") is not None
    parts.records("key").write_bytes(b"clap")  # of the same size
    assert parts.find("key") is None
