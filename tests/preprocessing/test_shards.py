import json
from dataclasses import asdict

import pytest

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
