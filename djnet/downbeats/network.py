"""madmom's downbeat network, much faster: samples at 44,100 Hz -> probability of beat and downbeat in every frame.

The network is an ensemble of eight, each with three bidirectional layers of 25 LSTM units with peepholes. madmom runs
them one after the other, gate by gate in every frame. Here the inputs of many frames go through one matrix product, and
all networks and both directions step through the frames together, in double precision: small errors grow over the
frames. Weights and filters are madmom's own, read when they are needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.fft
import scipy.special

from djnet.downbeats.madmom import downbeat_networks, downbeat_processor, madmom

SAMPLE_RATE_HZ = 44_100
FRAMES_PER_SECOND = 100
HOP_SAMPLES = SAMPLE_RATE_HZ // FRAMES_PER_SECOND
CONTEXT_HOPS = 16  # on each side of a frame, that the front end looks at
_BLOCK_FRAMES = 64
_NETWORKS = 8
_UNITS = 25  # of a layer, in each direction
_FRAME_BYTES, _LAYER_BYTES = _NETWORKS * 2 * _UNITS * 4, 64 << 20  # of a layer's outputs: of a frame, and at most


@dataclass(frozen=True)
class _Resolution:
    """One of the three spectrograms."""

    window: np.ndarray  # [frame size]
    filters: np.ndarray  # [bins, bands], up to the highest bin that a filter uses
    difference: int  # frames back to the frame that is subtracted


@dataclass(frozen=True)
class _Layer:
    """A bidirectional LSTM layer of all networks: the forward sides of the eight, then the backward sides.

    Gates in the order input, forget, cell, output.
    """

    weights: np.ndarray  # float32 [2, 8, inputs, 4 * 25]
    bias: np.ndarray  # float32 [2, 8, 1, 4 * 25]
    recurrent: np.ndarray  # [2, 8, 25, 4 * 25]
    peepholes: np.ndarray  # [3, 2, 8, 25]: input, forget, output gate

    def of(self, networks: slice) -> "_Layer":
        """The same layer of some of the networks."""
        weights, bias, recurrent = (values[:, networks] for values in (self.weights, self.bias, self.recurrent))
        return _Layer(weights, bias, recurrent, self.peepholes[:, :, networks])


@dataclass(frozen=True)
class _Networks:
    layers: list[_Layer]
    weights: np.ndarray  # float32 [8, 50, 3]: no beat, beat, downbeat
    bias: np.ndarray  # float32 [8, 3]


def activations(samples: np.ndarray) -> np.ndarray:
    """Probability of a beat and of a downbeat, a hundred times a second: float32 [N] at 44,100 Hz -> float32 [T, 2]."""
    return run_network(front_end(samples))


def front_end(samples: np.ndarray) -> np.ndarray:
    """Three filtered log spectrograms, each beside its rise over time: float32 [N] -> float32 [T, 314]."""
    features = []
    for resolution in _resolutions():
        spectrum = _filtered(samples, resolution)
        rise = np.zeros_like(spectrum)
        back = resolution.difference
        np.subtract(spectrum[back:], spectrum[:-back], out=rise[back:])
        np.maximum(rise, 0, out=rise)
        features += [spectrum, rise]
    return np.concatenate(features, axis=1)


def run_network(features: np.ndarray) -> np.ndarray:
    """Mean output of the eight networks: float32 [T, 314] -> float32 [T, 2].

    They go through the whole of the music in both directions, and remember much of it: a song in pieces of a minute,
    with ten seconds around each, would come out by up to 0.2 differently. So long music has fewer networks at once.
    """
    networks = _networks()
    outputs = np.zeros((len(features), 3), np.float32)
    turns = min(_NETWORKS, -(-len(features) * _FRAME_BYTES // _LAYER_BYTES))
    at_once = -(-_NETWORKS // max(1, turns))
    for first in range(0, _NETWORKS, at_once):
        some = slice(first, first + at_once)
        frames = np.broadcast_to(features, (len(networks.weights[some]), *features.shape))
        for layer in networks.layers:
            frames = _lstm(frames, layer.of(some))
        for inputs, weights, bias in zip(frames, networks.weights[some], networks.bias[some], strict=True):
            outputs += scipy.special.softmax(inputs @ weights + bias, axis=1)
    return outputs[:, 1:] / _NETWORKS


def _lstm(inputs: np.ndarray, layer: _Layer) -> np.ndarray:
    """A layer of n networks, in both directions at once: float32 [n, T, inputs] -> float32 [n, T, 50], doubled.

    In blocks of frames, so that a frame takes a few kilobytes of memory.
    """
    networks, count, _ = inputs.shape
    outputs = np.empty((networks, count, 2, _UNITS), np.float32)
    recurrent = layer.recurrent.reshape(2 * networks, _UNITS, 4 * _UNITS)
    peepholes = layer.peepholes.reshape(3, 2 * networks, _UNITS)
    hidden, state = np.zeros((2, 2 * networks, _UNITS))
    for first in range(0, count, _BLOCK_FRAMES):
        last = min(first + _BLOCK_FRAMES, count)
        gates = np.empty((last - first, 4, 2, networks, _UNITS))
        blocks = inputs[:, first:last], inputs[:, count - last : count - first]
        for direction, block in enumerate(blocks):
            given = (block @ layer.weights[direction] + layer.bias[direction]).reshape(networks, -1, 4, _UNITS)
            gates[:, :, direction] = given[:, :: 1 - 2 * direction].transpose(1, 2, 0, 3)
        block = _recur(gates.reshape(-1, 4, 2 * networks, _UNITS), hidden, state, recurrent, peepholes)
        forward, backward = block.reshape(-1, 2, networks, _UNITS).transpose(1, 2, 0, 3)
        outputs[:, first:last, 0], outputs[:, count - last : count - first, 1] = forward, backward[:, ::-1]
        hidden = block[-1]
    return outputs.reshape(networks, count, 2 * _UNITS)


def _recur(
    given: np.ndarray, hidden: np.ndarray, state: np.ndarray, recurrent: np.ndarray, peepholes: np.ndarray
) -> np.ndarray:
    """LSTM units with peepholes, frame by frame: inputs of the gates [T, 4, L, 25] -> doubled outputs [T, L, 25].

    `hidden` [L, 25] is the output of the frame before, doubled; `state` [L, 25] is changed in place. The sigmoid of a
    gate is half of 1 + tanh(x / 2); the weights hold half of x already.
    """
    outputs = np.empty((len(given), *hidden.shape))
    gates, product = np.empty(given.shape[1:]), np.empty((len(hidden), 1, 4 * _UNITS))
    by_gate = product.reshape(len(hidden), 4, _UNITS).swapaxes(0, 1)
    (enter, keep, cell, leave), both, first_three = gates, gates[:2], gates[:3]
    seen = np.empty_like(both)
    for gates_given, output in zip(given, outputs, strict=True):
        np.matmul(hidden[:, None], recurrent, out=product)
        np.add(by_gate, gates_given, out=gates)
        np.multiply(peepholes[:2], state, out=seen)
        np.add(both, seen, out=both)
        np.tanh(first_three, out=first_three)
        np.add(both, 1.0, out=both)
        np.multiply(cell, enter, out=cell)
        np.multiply(state, keep, out=state)
        np.add(state, cell, out=state)
        np.multiply(state, 0.5, out=state)
        np.multiply(peepholes[2], state, out=enter)
        np.add(leave, enter, out=leave)
        np.tanh(leave, out=leave)
        np.add(leave, 1.0, out=leave)
        np.tanh(state, out=cell)
        hidden = np.multiply(leave, cell, out=output)
    return outputs


def _filtered(samples: np.ndarray, resolution: _Resolution) -> np.ndarray:
    """Log magnitudes of windows centred on every hundredth of a second: [N] -> [T, bands]."""
    size = len(resolution.window)
    frames = -(-len(samples) // HOP_SAMPLES)
    padded = np.zeros(frames * HOP_SAMPLES + size, np.float32)
    padded[size // 2 :][: len(samples)] = samples
    windows = np.lib.stride_tricks.sliding_window_view(padded, size)[::HOP_SAMPLES]
    bins, bands = resolution.filters.shape
    result = np.empty((frames, bands), np.float32)
    block = np.zeros((_BLOCK_FRAMES, size), np.float32)
    magnitudes = np.empty((_BLOCK_FRAMES, bins), np.float32)
    for first in range(0, frames, _BLOCK_FRAMES):
        count = min(_BLOCK_FRAMES, frames - first)
        np.multiply(windows[first : first + count], resolution.window, out=block[:count])
        spectrum = scipy.fft.rfft(block)[:, :bins]
        np.sqrt(np.square(spectrum.real) + np.square(spectrum.imag), out=magnitudes)
        np.matmul(magnitudes[:count], resolution.filters, out=result[first : first + count])
    result += 1.0
    return np.log10(result, out=result)


@cache
def _resolutions() -> list[_Resolution]:
    """Windows and filters, taken from madmom's own processors after they have run on a second of silence."""
    chain = downbeat_processor().processors[0]
    chain(madmom("audio.signal").Signal(np.zeros(SAMPLE_RATE_HZ, np.float32), sample_rate=SAMPLE_RATE_HZ))
    resolutions = []
    for branch in chain.processors[1].processors:
        frames, _, filtered, _, difference = branch.processors
        window = np.hanning(int(frames.frame_size))
        back = madmom("audio.spectrogram")._diff_frames(
            difference.diff_ratio, hop_size=HOP_SAMPLES, frame_size=len(window), window=window
        )
        filters = np.asarray(filtered.filterbank, np.float32)
        used = np.flatnonzero(filters.any(axis=1))[-1] + 1
        resolutions.append(_Resolution(window.astype(np.float32), filters[:used].copy(), back))
    return resolutions


@cache
def _networks() -> _Networks:
    """The eight networks of madmom's model files."""
    networks = [network.layers for network in downbeat_networks()]
    *recurrent, last = zip(*networks, strict=True)
    return _Networks(
        [_layer(layers, doubled=number > 0) for number, layers in enumerate(recurrent)],
        np.stack([layer.weights for layer in last]).astype(np.float32) / 2,
        np.stack([np.ravel(layer.bias) for layer in last]).astype(np.float32),
    )


def _layer(layers: Sequence[Any], doubled: bool) -> _Layer:
    """The same layer of all networks, with the halves that the sigmoids and doubled outputs of other layers need."""
    sides = [layer.fwd_layer for layer in layers] + [layer.bwd_layer for layer in layers]
    names = ("input_gate", "forget_gate", "cell", "output_gate")
    halves = np.repeat([0.5, 0.5, 1.0, 0.5], _UNITS)

    def gates(attribute: str) -> np.ndarray:
        return halves * [
            np.concatenate([getattr(getattr(side, name), attribute) for name in names], -1) for side in sides
        ]

    peepholes = [[getattr(side, name).peephole_weights for side in sides] for name in names if name != "cell"]
    weights, bias = gates("weights") / (1 + doubled), gates("bias")[:, None]
    return _Layer(
        weights.reshape(2, _NETWORKS, *weights.shape[1:]).astype(np.float32),
        bias.reshape(2, _NETWORKS, *bias.shape[1:]).astype(np.float32),
        gates("recurrent_weights").reshape(2, _NETWORKS, _UNITS, -1) / 2,
        np.array(peepholes, float).reshape(3, 2, _NETWORKS, _UNITS) / 2,
    )
