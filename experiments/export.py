"""A trained run as a SavedModel that needs TensorFlow alone, for servers:

    python -m experiments.export RUN_FOLDER out --data=data

`embed` takes mel [B, T, 128], log-mel frames as `djnet.features.log_mel` gives them (frames of zeros are padding), and
answers with frames [B, S, T', C + 1], what the network keeps of each fragment: of its end and of its beginning (S = 2)
or, in networks without a window at the join, of the whole (S = 1). The last channel is 1 for a frame, 0 for padding.
`score` takes frames_a and frames_b of two fragments and answers with probability [B], that b follows a. So a fragment
is embedded once, however many others it is compared with.
"""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags

from djnet import spec
from djnet.records import Manifest
from preprocessing import job

_DATA = flags.DEFINE_string("data", "data", "Records that the run was trained on, for mean and deviation.")

TOLERANCE = 1e-4


def export(model: Any, mean: np.ndarray, std: np.ndarray, folder: Path) -> None:
    """Write a network of pairs, with mean and deviation of each mel bin [128], as a SavedModel."""
    import tensorflow as tf

    if len(model.inputs) != 2:
        raise ValueError(f"{model.name} compares {len(model.inputs)} fragments: only pairs have a score.")
    embedding, comparison = model.get_layer("embedding"), model.get_layer("comparison")
    sides = [model.get_layer(name) for name in ("end", "beginning")]
    if not sides[0].frames:
        sides = sides[:1]

    def embed(mel: tf.Tensor) -> dict[str, tf.Tensor]:
        real = tf.reduce_any(tf.not_equal(mel, 0), axis=-1, keepdims=True)
        normal = tf.where(real, (mel - mean) / std, 0.0)
        found = []
        for side in sides:
            x, valid = embedding(*side(normal))
            if x.shape.rank == 2:  # one vector for all frames
                x, valid = x[:, None], tf.ones_like(x[:, :1])
            found.append(tf.concat([x, valid[..., None]], axis=-1))
        return {"frames": tf.stack(found, axis=1)}

    def score(frames_a: tf.Tensor, frames_b: tf.Tensor) -> dict[str, tf.Tensor]:
        pieces = [frames_a[:, 0], frames_b[:, -1]]
        xs = [piece[:, 0, :-1] if is_vector else piece[..., :-1] for piece in pieces]
        logits = comparison(xs, [piece[..., -1] for piece in pieces])
        return {"probability": tf.nn.softmax(logits)[:, 1]}

    mels = tf.TensorSpec([None, None, spec.MEL_BINS], tf.float32, "mel")
    embed_graph = tf.function(embed, input_signature=[mels])
    shape = embed_graph.get_concrete_function().structured_outputs["frames"].shape
    is_vector = len(embedding(tf.zeros([1, 64, spec.MEL_BINS]), tf.ones([1, 64]))[0].shape) == 2
    kept = [tf.TensorSpec([None, shape[1], None, shape[3]], tf.float32, name) for name in ("frames_a", "frames_b")]
    module = tf.Module()
    module.model = model  # its variables are saved with it
    module.embed, module.score = embed_graph, tf.function(score, input_signature=kept)
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    tf.saved_model.save(module, str(partial), signatures={"embed": module.embed, "score": module.score})
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(partial, folder)


def difference(model: Any, mean: np.ndarray, std: np.ndarray, folder: Path) -> float:
    """How far the answers of an exported model are from those of the network, on made-up fragments of many lengths."""
    import tensorflow as tf

    served = tf.saved_model.load(str(folder)).signatures
    rng = np.random.default_rng(0)
    pairs = []
    for frames in rng.integers(70, 200, (8, 2)):
        pairs.append([(mean + std * rng.standard_normal((n, spec.MEL_BINS))).astype(np.float32) for n in frames])
    worst = 0.0
    for pair in pairs:
        a, b = (served["embed"](mel=tf.constant(mel[None]))["frames"] for mel in pair)
        found = served["score"](frames_a=a, frames_b=b)["probability"]
        expected = model([tf.constant((mel[None] - mean) / std, tf.float32) for mel in pair])
        worst = max(worst, float(tf.reduce_max(tf.abs(found - expected))))
    return worst


def main(argv: Sequence[str]) -> None:
    """Export, and compare what was written with the network."""
    if len(argv) != 3:
        raise job.JobError("Say which run and where to: python -m experiments.export RUN_FOLDER out --data=data")
    run_folder, folder = (Path(text).expanduser() for text in argv[1:])
    for name in ("best.keras", "run.json"):
        if not (run_folder / name).is_file():
            raise job.JobError(f"{run_folder} has no {name}: it is not the folder of a trained run.")
    if folder.exists() and not (folder / "saved_model.pb").is_file():
        raise job.JobError(f"{folder} is there and is not a SavedModel: choose another name.")
    manifest = Manifest.read(Path(_DATA.value).expanduser())
    facts = json.loads((run_folder / "run.json").read_text(encoding="ascii"))
    if facts["records"] != manifest.hash:
        raise job.JobError(f"{run_folder} was trained on other records than {manifest.folder}: say which with --data.")
    job.import_quietly("tensorflow")
    from djnet.pretrained import read_model

    try:
        model = read_model(run_folder / "best.keras")
        export(model, manifest.mean, manifest.std, folder)
    except ValueError as error:
        raise job.JobError(str(error)) from error
    apart = difference(model, manifest.mean, manifest.std, folder)
    if apart > TOLERANCE:
        raise job.JobError(f"{folder} answers otherwise than the network, by {apart:.2g}: do not use it.")
    print(f"{folder}: signatures embed and score, at most {apart:.1e} from the network.")


if __name__ == "__main__":
    job.run(main)
