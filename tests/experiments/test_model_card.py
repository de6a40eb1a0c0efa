import json

import pytest

from experiments import model_card
from experiments.configs import Run

RUN = Run(epochs=40)
ROW = {"game": "jigsaw", "segmentation": "fixed", "n": "3", "method": "sen", "seed": "0", "run": RUN.hash}
ROW |= {"corpus": "free-medium", "trained_on": "free-medium 880db832", "pairwise": "0.923", "global": "0.8882"}


@pytest.fixture
def weights(tmp_path):
    (tmp_path / "sen-fixed").mkdir()
    about = {"run": RUN.to_json(), "corpus": {"name": "free-medium"}, "records": "880db8322af4", "finished": True}
    (tmp_path / "sen-fixed" / "run.json").write_text(json.dumps(about | {"hours": 0.5}))
    return tmp_path


def test_the_header_holds_the_results_of_each_network_and_of_no_other(weights):
    other = [ROW | {"seed": "1"}, ROW | {"run": ""}, ROW | {"method": "sen (greedy)"}, ROW | {"trained_on": "x"}]
    lines = model_card.header(weights, [*other, ROW, ROW, ROW | {"n": "8", "global": ""}])
    assert lines.count("  - task:") == 1 and '      name: "jigsaw, 3 equal pieces"' in lines
    assert lines[lines.index("      name: global accuracy") + 1] == "      value: 0.8882"
    assert {"license: apache-2.0", '- "free-medium"', '- name: "sen-fixed"', "    hours: 0.5"} <= set(lines)
    assert "  []" in model_card.header(weights, other)


def test_the_header_is_yaml(weights):
    yaml = pytest.importorskip("yaml")
    card = yaml.safe_load("\n".join(model_card.header(weights, [ROW])))
    (model,) = card["model-index"]
    assert model["name"] == "sen-fixed" and model["results"][0]["metrics"][1]["value"] == 0.8882


def test_a_header_replaces_the_older_one(weights):
    once = model_card.with_header("# Card\n\n---\ntext\n", weights, [ROW])
    assert once.startswith("---\nlicense: apache-2.0\n") and once.endswith("\n---\n\n# Card\n\n---\ntext\n")
    assert model_card.with_header(once, weights, [ROW]) == once
