"""A trained run as a SavedModel that needs TensorFlow alone, for servers:

    python -m experiments.export RUN_FOLDER out

or, by its name, a network of the package (sen-downbeat).

`embed` takes mel [B, T, 128], log-mel frames as `djnet.features.log_mel` gives them (silence is 0; frames of -1 behind
the others are padding), and answers with frames [B, S, T', C + 1], what the network keeps of each fragment: of its end
and of its beginning (S = 2) or, in networks without a window at the join, of the whole (S = 1). The last channel is 1
for a frame, 0 for padding. `score` takes frames_a and frames_b of two fragments and answers with probability [B], that
b follows a. So a fragment is embedded once, however many others it is compared with.

    python -m experiments.export RUN_FOLDER RUN_FOLDER/weights.npz

writes the weights of a SEN for NumPy, with which `djnet.load` needs no TensorFlow (`make weights` does so for the
networks of the package).

With --litert=pair.tflite the network is also written as one file for LiteRT, for phones and small machines: it takes
a and b, log-mel [1, T, 128] of two fragments without padding, and answers with output_0 [1], the same probability.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from absl import flags, logging

import djnet
from djnet import constants
from djnet.cli import job
from djnet.errors import UserError
from djnet.files import whole_file
from djnet.networks import inference
from djnet.rng import rng_for

if TYPE_CHECKING:
    import keras

    from djnet.pretrained import Scorer

Answer = Callable[[np.ndarray, np.ndarray], Any]  # log-mels [T, 128] of two fragments -> [1]

TOLERANCE = 1e-4


def export(scorer: "Scorer", folder: Path) -> None:
    """Write a network of pairs, with the mean and deviation of each mel bin, as a SavedModel."""
    import tensorflow as tf

    model = scorer.model
    if len(model.inputs) != 2:
        raise ValueError(f"{model.name} compares {len(model.inputs)} fragments: only pairs have a score.")
    embedding, comparison = model.get_layer("embedding"), model.get_layer("comparison")
    sides = [model.get_layer(name) for name in ("end", "beginning")]
    if not sides[0].frames:
        sides = sides[:1]

    def embed(mel: tf.Tensor) -> dict[str, tf.Tensor]:
        real = tf.reduce_any(mel >= 0, axis=-1, keepdims=True)
        normal = tf.where(real, (mel - scorer.mean) / scorer.std, 0.0)
        frames = []
        for side in sides:
            x, valid = embedding(*side(normal))
            if x.shape.rank == 2:  # one vector for all frames
                x, valid = x[:, None], tf.ones_like(x[:, :1])
            frames.append(tf.concat([x, valid[..., None]], axis=-1))
        return {"frames": tf.stack(frames, axis=1)}

    def score(frames_a: tf.Tensor, frames_b: tf.Tensor) -> dict[str, tf.Tensor]:
        pieces = [frames_a[:, 0], frames_b[:, -1]]
        xs = [piece[:, 0, :-1] if is_vector else piece[..., :-1] for piece in pieces]
        logits = comparison(xs, [piece[..., -1] for piece in pieces])
        return {"probability": tf.nn.softmax(logits)[:, 1]}

    mels = tf.TensorSpec([None, None, constants.MEL_BINS], tf.float32, "mel")
    embed_graph = tf.function(embed, input_signature=[mels])
    shape = embed_graph.get_concrete_function().structured_outputs["frames"].shape
    is_vector = len(embedding(tf.zeros([1, 64, constants.MEL_BINS]), tf.ones([1, 64]))[0].shape) == 2
    kept = [tf.TensorSpec([None, shape[1], None, shape[3]], tf.float32, name) for name in ("frames_a", "frames_b")]
    module = tf.Module()
    module.model = model  # its variables are saved with it
    module.embed, module.score = embed_graph, tf.function(score, input_signature=kept)
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    tf.saved_model.save(module, str(partial), signatures={"embed": module.embed, "score": module.score})
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(partial, folder)


def export_litert(scorer: "Scorer", path: Path) -> None:
    """Write a network of pairs, with the mean and deviation of each mel bin, as a LiteRT file."""
    import keras

    inputs = [keras.Input((None, constants.MEL_BINS), name=name) for name in ("a", "b")]
    normal = keras.layers.Normalization(mean=scorer.mean, variance=np.square(scorer.std))
    whole = keras.Model(inputs, scorer.model([normal(x) for x in inputs]))
    with whole_file(path) as partial:
        saved = partial.with_name(f"{partial.name}.tflite")  # Keras insists on the ending
        whole.export(str(saved), format="litert", verbose=False)
        os.replace(saved, partial)


def to_numpy(model: "keras.Model") -> inference.Sen:
    """A SEN with its batch normalisation folded into the kernels."""
    if model.name != "sen":
        raise ValueError(f"{model.name} does not run in NumPy: only sen does.")
    embedding, comparison = model.get_layer("embedding"), model.get_layer("comparison")

    def folded(layer: Any, norm: Any) -> inference.Layer:
        if norm is None:
            return np.array(layer.kernel), np.array(layer.bias)
        scale, bias = norm.affine(norm.mean, norm.variance)
        return np.array(layer.kernel * scale), np.array(bias)

    def blocks(layers: Any) -> list[inference.Layer]:
        return [folded(block, block.normalise if block.batch_norm else None) for block in layers]

    dense = [folded(layer, norm) for _, layer, norm in comparison.classifier.steps]
    return inference.Sen(embedding.config, blocks(embedding.blocks), blocks(comparison.blocks), dense)


def export_numpy(scorer: "Scorer", path: Path) -> None:
    """Write the weights of a SEN for NumPy."""
    with whole_file(path) as partial, open(partial, "wb") as file:
        inference.write(file, to_numpy(scorer.model))


def served(folder: Path) -> Answer:
    """What a SavedModel answers."""
    import tensorflow as tf

    embed, score = (tf.saved_model.load(str(folder)).signatures[name] for name in ("embed", "score"))

    def answer(*pair: np.ndarray) -> Any:
        a, b = (embed(mel=tf.constant(mel[None]))["frames"] for mel in pair)
        return score(frames_a=a, frames_b=b)["probability"]

    return answer


def litert(path: Path) -> Answer:
    """What a LiteRT file answers."""
    import tensorflow as tf

    run = tf.lite.Interpreter(str(path)).get_signature_runner()
    return lambda a, b: run(a=a[None], b=b[None])["output_0"]


def in_numpy(scorer: "Scorer", path: Path) -> Answer:
    """What a file of weights for NumPy answers."""
    network = inference.read(path)
    return lambda *pair: network.scores([(mel - scorer.mean) / scorer.std for mel in pair])[0, 1:]


def compare(scorer: "Scorer", answer: Answer) -> tuple[np.ndarray, np.ndarray]:
    """Answers of what was exported and of the network itself, for made-up fragments of many lengths: -> [P] each."""
    exported, expected = [], []
    for i in range(12):
        # Log-mel frames that change slowly, as music does, cut in two; every other pair the wrong way round.
        rng = rng_for(0, "pair", i)
        frames = np.cumsum(rng.standard_normal((400, constants.MEL_BINS)), axis=0)
        frames = scorer.mean + scorer.std * (frames - frames.mean(axis=0)) / frames.std(axis=0)
        frames = np.maximum(frames, 0.0).astype(np.float32)
        start, cut, end = rng.integers(100), rng.integers(170, 230), rng.integers(300, 400)
        pair = [frames[start:cut], frames[cut:end]][:: -1 if i % 2 else 1]
        exported.append(answer(*pair)[0])
        expected.append(scorer.model([(mel[None] - scorer.mean) / scorer.std for mel in pair])[0])
    return np.array(exported), np.array(expected)


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("litert", None, "Also write the network as one LiteRT file of that name (.tflite).")


def main(given: Any, run: str, output: str) -> None:
    """Export, and compare what was written with the network."""
    folder = Path(output).expanduser()
    for_numpy = folder.suffix == ".npz"
    if given.litert is not None and not given.litert.endswith(".tflite"):
        raise UserError(f"--litert={given.litert}: the name must end in .tflite.")
    if folder.exists() and not for_numpy and not (folder / "saved_model.pb").is_file():
        raise UserError(f"{folder} is there and is not a SavedModel: choose another name.")
    job.import_quietly("tensorflow")
    logging.set_verbosity(logging.ERROR)  # TensorFlow's notes on how it saves
    try:
        scorer = djnet.load(run)
        (export_numpy if for_numpy else export)(scorer, folder)
    except (FileNotFoundError, ValueError) as error:
        raise UserError(str(error)) from error
    if for_numpy:
        _check(scorer, in_numpy(scorer, folder), f"{folder}: weights for NumPy")
    else:
        _check(scorer, served(folder), f"{folder}: signatures embed and score")
    if given.litert:
        path = Path(given.litert).expanduser()
        with job.quiet():
            export_litert(scorer, path)
            answer = litert(path)
        _check(scorer, answer, f"{path}: inputs a and b")


def _check(scorer: "Scorer", answer: Answer, what: str) -> None:
    """Compare what was written with the network, and say so."""
    exported, expected = compare(scorer, answer)
    if (apart := float(np.abs(exported - expected).max())) > TOLERANCE:
        raise UserError(f"{what}: answers otherwise than the network, by {apart:.2g}: do not use it.")
    answers = f"{len(expected)} answers from {expected.min():.2g} to {expected.max():.2g}"
    print(f"{what}; {answers}, at most {apart:.1e} from the network.")


if __name__ == "__main__":
    job.run(main, define_flags, "RUN_FOLDER OUTPUT")
