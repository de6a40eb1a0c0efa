import pandas as pd
import pytest

from djnet.networks.models import build
from experiments.plots import __main__ as figures
from experiments.plots import charts, networks
from tests.djnet.networks.test_models import TINY


@pytest.fixture(scope="module")
def clips(records):
    return list(records.read_clips("test"))[:3]


def _is_drawn(figure, tmp_path):
    charts.save(figure, tmp_path, "it")
    assert (tmp_path / "it.png").read_bytes().startswith(b"\x89PNG")
    drawing = (tmp_path / "it.svg").read_text()
    assert "<svg" in drawing and "<dc:date>" not in drawing  # the same picture is the same file on every day


def test_pictures_of_music_and_networks(records, clips, tmp_path):
    models = {name: build(name, "compact", **TINY) for name in ("sen", "sn")}
    scale = records.mean, records.std
    for figure in (
        networks.draw_puzzle(clips[0]),
        networks.draw_similarity(models["sen"], clips, *scale),
        networks.draw_embeddings(models, clips, *scale),
        networks.draw_feature_maps(models["sen"], clips[0], *scale),
    ):
        _is_drawn(figure, tmp_path)


def _row(**values):
    row = {"protocol": "trimmed", "segmentation": "fixed", "method": "sen", "n": "3", "gap": "", "seed": "0"}
    return row | {"paper_global": "", "global": "0.5", "global_low": "0.4", "global_high": "0.6"} | values


def test_pictures_of_tables(tmp_path):
    sizes = pd.DataFrame([_row(n="3", paper_global="0.9"), _row(n="8"), _row(method="cin", **{"global": ""})])
    figure = charts.draw_sizes(pd.concat([sizes, sizes.assign(protocol="overlapping")]))
    assert [axes.get_title() for axes in figure.axes] == ["fixed cuts, trimmed", "fixed cuts, overlapping"]
    _is_drawn(figure, tmp_path)
    _is_drawn(charts.draw_boundary(pd.DataFrame([_row(), _row(gap="0.5"), _row(method="continuity")])), tmp_path)
    history = pd.DataFrame({"experiment": "table2/sen", "epoch": [0, 1], "valid_global": [0.2, 0.4]})
    protocols = [history.assign(protocol=protocol) for protocol in ("trimmed", "overlapping")]
    figure = charts.draw_learning(pd.concat(protocols))
    assert [axes.get_title() for axes in figure.axes] == ["equal cuts, trimmed", "equal cuts, overlapping"]
    _is_drawn(figure, tmp_path)
    scores = {"valid_global": 0.5, "accuracy": 0.6}
    base = {"variant": "base", "clips": 100, "epochs": 4} | scores
    half = {"variant": "half of the music", "clips": 50, "epochs": 8} | scores
    _is_drawn(
        charts.draw_corpus(pd.DataFrame([base, half, base | {"variant": "adam"}, base | {"epochs": 8}])), tmp_path
    )
    with pytest.raises(charts.MissingError, match="no variants with less music"):
        charts.draw_corpus(pd.DataFrame([base, half | {"epochs": 4}]))  # half the steps: not to be compared


def test_what_is_missing_is_said(records, tmp_path):
    drawn = figures.figures(records, tmp_path, tmp_path)
    with pytest.raises(charts.MissingError, match="no finished run"):
        drawn["similarity"]()
    with pytest.raises(charts.MissingError, match=r"table3\.csv is missing: make evaluate"):
        drawn["accuracy"]()
    with pytest.raises(charts.MissingError, match="no runs on these records"):
        drawn["learning"]()
    with pytest.raises(charts.MissingError, match="no rows that were played"):
        charts.draw_sizes(pd.DataFrame([_row(**{"global": ""})]))
