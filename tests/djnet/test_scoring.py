from itertools import permutations

import keras
import numpy as np
import pytest
import tensorflow as tf

from djnet import constants, scoring
from djnet.dataset import Fragments
from djnet.networks.layers import unit_length
from djnet.networks.models import build
from djnet.ordering import best_order
from djnet.pairs import ORDERS, pairs_of, questions_for
from djnet.puzzles import Puzzle
from tests.djnet.networks.test_models import PAIRWISE, TINY


def _puzzles(count: int, n: int, sides: int, length: int) -> Fragments:
    rng = np.random.default_rng(0)
    frames = rng.standard_normal((count, n, sides, length, constants.MEL_BINS)).astype(np.float32)
    return Fragments(tf.constant(frames), tf.fill([count, n], length))


def _silence(n: int) -> Fragments:
    return Fragments(tf.zeros([1, n, 2, 63, 128]), tf.fill([1, n], 63))


@pytest.mark.parametrize("name", PAIRWISE)
@pytest.mark.parametrize("window", [0.0, 0.7])
def test_score_matrices_are_the_pair_models_answers(name, window):
    model = build(name, "compact", window_seconds=window, **TINY)
    frames = scoring.window_of(model)
    puzzles = _puzzles(2, 4, 2 if frames else 1, frames or 40)
    scores = scoring.score_batch(model, puzzles)
    assert scores.shape == (2, 4, 4) and not scores[:, range(4), range(4)].any()
    for a, b in permutations(range(4), 2):
        expected = model([puzzles.frames[:, a, 0], puzzles.frames[:, b, -1]])
        assert np.abs(scores[:, a, b] - expected).max() < 1e-5


@pytest.mark.parametrize("name", ["sen", "sn", "cin", "ccsn", "tsn", "opn"])
@pytest.mark.parametrize("window", [0.0, 0.7])
def test_sharing_embeddings_gives_the_loss_and_gradients_of_separate_questions(name, window):
    """One tower pass a fragment against a plain batch of questions, in training, with batch normalisation."""
    keras.utils.set_random_seed(1)
    model = build(name, "compact", window_seconds=window, dropout=0.0, **TINY)
    frames = scoring.window_of(model)
    puzzles = _puzzles(3, 3, 2 if frames else 1, frames or 40)
    questions = questions_for(name, pairs_of(3))

    def shared() -> tf.Tensor:
        embedded = scoring.embed(model, puzzles, padded=not frames, training=True)
        logits = scoring.answer(model, embedded, questions.fragments, training=True)
        return _loss(logits, questions.answers)

    def separate() -> tf.Tensor:
        """Every question embeds its own pieces; a piece of two questions stands in the batch twice."""
        embedding, comparison = model.get_layer("embedding"), model.get_layer("comparison")
        pieces = [
            tf.concat(
                [puzzles.frames[:, question[position], 0 if side == "end" else -1] for question in questions.fragments],
                axis=0,
            )
            for side, position in comparison.pieces
        ]
        x, _ = embedding(tf.concat(pieces, axis=0), None, training=True)
        logits = comparison(tf.split(x, len(pieces)), None, training=True)
        return _loss(tf.reshape(logits, [len(questions.answers), 3, -1]), questions.answers)

    results = []
    for run in (shared, separate):
        with tf.GradientTape() as tape:
            loss = run()
        results.append((loss, tape.gradient(loss, [v.value for v in model.trainable_variables])))
    (one, one_gradients), (two, two_gradients) = results
    assert abs(one - two) < 1e-4
    for a, b in zip(one_gradients, two_gradients, strict=True):
        assert np.abs(a - b).max() < 1e-4


def _loss(logits: tf.Tensor, answers: np.ndarray) -> tf.Tensor:
    labels = tf.broadcast_to(answers[:, None], tf.shape(logits)[:2])
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


def test_pairwise_models_order_by_the_best_sum():
    model = build("sen", "compact", **TINY)
    puzzles = _puzzles(3, 5, 2, scoring.window_of(model))
    orders = scoring.solve_batch(model, puzzles)
    assert orders == [best_order(scores).order for scores in scoring.score_batch(model, puzzles)]


@pytest.mark.parametrize("given", ORDERS)
def test_list_wise_models_order_by_their_own_rule(given, monkeypatch):
    """With perfect answers both find the order, however the pieces were shuffled."""
    right = tuple(int(place) for place in np.argsort(given))
    for name in ("tsn", "opn"):
        model = build(name, "compact", **TINY)

        def perfect(model, frames, lengths, questions):
            if model.name == "tsn":
                return np.array([[0.0, float(tuple(order) == right)] for order in questions.tolist()])
            return np.eye(6)[[ORDERS.index(given)]]

        monkeypatch.setattr(scoring, "answers", perfect)
        assert scoring.solve_batch(model, _silence(3)) == [right]


def test_list_wise_models_refuse_more_than_three():
    with pytest.raises(ValueError, match="tsn orders three fragments, not 4"):
        scoring.solve_batch(build("tsn", "compact", **TINY), _silence(4))


@pytest.mark.parametrize(
    ("name", "window", "stride"),
    [("sen", 0.0, 1), ("sen", 0.0, 2), ("sen", 0.7, 1), ("sn", 0.0, 1), ("cin", 0.0, 1), ("ccsn", 0.0, 1)],
)
def test_puzzles_of_any_sizes_are_scored_as_alone(name, window, stride, rng, monkeypatch):
    """In groups of a few, chosen by length, each puzzle and each pair gets the score it gets by itself."""
    model = build(name, "compact", window_seconds=window, stride=stride, **TINY)
    mean, std = rng.standard_normal(constants.MEL_BINS), rng.uniform(0.5, 2, constants.MEL_BINS)
    puzzles = [
        Puzzle(str(n), [rng.standard_normal((t, constants.MEL_BINS)) for t in rng.integers(20, 90, n)], tuple(range(n)))
        for n in (2, 4)
    ]
    monkeypatch.setattr(scoring, "_QUESTIONS_AT_ONCE", 4)
    monkeypatch.setattr(scoring, "_FRAGMENTS_AT_ONCE", 3)
    found = list(scoring.score_puzzles(model, puzzles, mean, std))
    for puzzle, scores in zip(puzzles, found, strict=True):
        assert scores.shape == (len(puzzle.fragments),) * 2
        normal = [((piece - mean) / std)[None].astype(np.float32) for piece in puzzle.fragments]
        for a, b in permutations(range(len(normal)), 2):
            assert scores[a, b] == pytest.approx(float(model([normal[a], normal[b]])[0]), abs=1e-5)


@pytest.mark.parametrize("window", [0.0, 0.7])
def test_matrices_are_those_that_the_network_sees(rng, window):
    model = build("sen", "compact", window_seconds=window, **TINY)
    pieces = [rng.standard_normal((frames, 128)).astype(np.float32) for frames in (90, 70, 80)]
    found = scoring.similarity_matrices(model, pieces)
    tower = model.get_layer("embedding")
    frames = 30 if window else 0
    end = tower(tf.constant(pieces[0][-frames:][None]))[0]
    beginning = tower(tf.constant(pieces[1][: frames or None][None]))[0]
    expected = tf.matmul(unit_length(end), unit_length(beginning), transpose_b=True)[0]
    assert found[0][1].shape == tuple(expected.shape)
    assert np.allclose(found[0][1], expected, atol=1e-5)
    assert len(found) == 3 and all(len(row) == 3 for row in found)


def test_other_networks_have_none(rng):
    with pytest.raises(ValueError, match="Only SEN"):
        scoring.similarity_matrices(build("sn", "compact", **TINY), [rng.standard_normal((90, 128))])


def test_a_fragment_that_sounds_like_padding_is_not_padding():
    """Frames of zeros, as SpecAugment leaves them, count as long as they lie inside the fragment's length."""
    model = build("sn", "compact", window_seconds=0.0, **TINY)
    frames = np.random.default_rng(0).standard_normal((1, 2, 1, 40, 128)).astype(np.float32)
    frames[:, :, :, 10:20] = 0.0
    whole = scoring.score_batch(model, Fragments(tf.constant(frames), tf.fill([1, 2], 40)))
    padded = np.concatenate([frames, np.zeros_like(frames)], axis=3)
    assert np.abs(whole - scoring.score_batch(model, Fragments(tf.constant(padded), tf.fill([1, 2], 40)))).max() < 1e-5
    assert np.abs(whole - scoring.score_batch(model, Fragments(tf.constant(frames), tf.fill([1, 2], 30)))).max() > 1e-5
