"""madmom's downbeat network, much faster: samples at 44,100 Hz -> probability of beat and downbeat in every frame.

The network is an ensemble of eight, each with three bidirectional layers of 25 LSTM units with peepholes. madmom runs
every unit frame by frame in Python. Here the inputs of all frames and both directions go through one matrix product,
and the recurrence that remains is compiled. Weights and filters are madmom's own, read when they are needed.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numba
import numpy as np
import scipy.fft
import scipy.special

from djnet.downbeats.madmom import downbeat_networks, downbeat_processor, madmom

SAMPLE_RATE_HZ = 44_100
FRAMES_PER_SECOND = 100
_HOP_SAMPLES = SAMPLE_RATE_HZ // FRAMES_PER_SECOND
_BLOCK_FRAMES = 64
_UNITS = 25

# Without NumPy's error model every division is checked for zero, and nothing around it is vectorised.
_compiled = numba.njit(cache=True, fastmath=True, nogil=True, error_model="numpy")


@dataclass(frozen=True)
class _Resolution:
    """One of the three spectrograms."""

    window: np.ndarray  # [frame size]
    filters: np.ndarray  # [bins, bands], up to the highest bin that a filter uses
    difference: int  # frames back to the frame that is subtracted


@dataclass(frozen=True)
class _Layer:
    """A bidirectional LSTM layer; gates in the order input, forget, cell, output; forward before backward."""

    weights: np.ndarray  # [inputs, 2 * 4 * 25]
    bias: np.ndarray  # [2 * 4 * 25]
    recurrent: np.ndarray  # [2, 25, 4 * 25]
    peepholes: np.ndarray  # [2, 3, 25]: input, forget, output gate


@dataclass(frozen=True)
class _Network:
    layers: list[_Layer]
    weights: np.ndarray  # [50, 3]: no beat, beat, downbeat
    bias: np.ndarray  # [3]


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

    The networks run one after the other, so that a frame takes a few kilobytes of memory and not eight times as much.
    """
    outputs = np.zeros((len(features), 3), np.float32)
    networks = _networks()
    for network in networks:
        inputs = features
        for layer in network.layers:
            gates = (inputs @ layer.weights + layer.bias).reshape(len(features), 2, 4 * _UNITS)
            inputs = np.empty((len(features), 2 * _UNITS), np.float32)
            _lstm(gates[:, 0], layer.recurrent[0], layer.peepholes[0], inputs[:, :_UNITS])
            _lstm(gates[::-1, 1], layer.recurrent[1], layer.peepholes[1], inputs[::-1, _UNITS:])
        outputs += scipy.special.softmax(inputs @ network.weights + network.bias, axis=1)
    return outputs[:, 1:] / len(networks)


def _filtered(samples: np.ndarray, resolution: _Resolution) -> np.ndarray:
    """Log magnitudes of windows centred on every hundredth of a second: [N] -> [T, bands]."""
    size = len(resolution.window)
    frames = -(-len(samples) // _HOP_SAMPLES)
    padded = np.zeros(frames * _HOP_SAMPLES + size, np.float32)
    padded[size // 2 :][: len(samples)] = samples
    windows = np.lib.stride_tricks.sliding_window_view(padded, size)[::_HOP_SAMPLES]
    bins, bands = resolution.filters.shape
    result = np.empty((frames, bands), np.float32)
    block = np.zeros((_BLOCK_FRAMES, size), np.float32)
    magnitudes = np.empty((_BLOCK_FRAMES, bins), np.float32)
    for first in range(0, frames, _BLOCK_FRAMES):
        count = min(_BLOCK_FRAMES, frames - first)
        np.multiply(windows[first : first + count], resolution.window, out=block[:count])
        _magnitudes(scipy.fft.rfft(block), magnitudes)
        np.matmul(magnitudes[:count], resolution.filters, out=result[first : first + count])
    result += 1.0
    return np.log10(result, out=result)


@_compiled
def _tanh(x):
    """tanh to the last bit of single precision, from exp(2 x) as the 64th power of a short series in double precision.

    Plain arithmetic, so that compilers vectorise it. Less precision is not enough: small errors grow over the frames.
    """
    limit = np.float64(9.5)
    y = min(max(np.float64(x), -limit), limit) * (2 / 64)
    e = y * (1 / 40320) + (1 / 5040)
    e = y * e + (1 / 720)
    e = y * e + (1 / 120)
    e = y * e + (1 / 24)
    e = y * e + (1 / 6)
    e = y * e + (1 / 2)
    e = y * e + 1.0
    e = y * e + 1.0
    for _ in range(6):
        e *= e
    return np.float32(1.0 - 2.0 / (e + 1.0))


@_compiled
def _lstm(inputs, recurrent, peepholes, out):
    """One direction of one LSTM layer with peepholes: inputs of the gates [T, 100] -> out [T, 25].

    The sigmoid of a gate is half of 1 + tanh(x / 2). Five hidden units at a time keep the gates in registers.
    """
    half = np.float32(0.5)
    hidden = np.zeros(25, np.float32)
    state = np.zeros(25, np.float32)
    gates = np.empty(100, np.float32)
    for t in range(len(inputs)):
        for k in range(100):
            gates[k] = inputs[t, k]
        for j in range(0, 25, 5):
            a, b, c, d, e = hidden[j], hidden[j + 1], hidden[j + 2], hidden[j + 3], hidden[j + 4]
            for k in range(100):
                gates[k] += (
                    (a * recurrent[j, k] + b * recurrent[j + 1, k])
                    + (c * recurrent[j + 2, k] + d * recurrent[j + 3, k])
                    + e * recurrent[j + 4, k]
                )
        for k in range(25):
            gates[k] = half * (gates[k] + peepholes[0, k] * state[k])
            gates[25 + k] = half * (gates[25 + k] + peepholes[1, k] * state[k])
        for k in range(75):
            gates[k] = _tanh(gates[k])
        for k in range(25):
            enter = half * gates[k] + half
            keep = half * gates[25 + k] + half
            state[k] = gates[50 + k] * enter + state[k] * keep
            gates[75 + k] = half * (gates[75 + k] + peepholes[2, k] * state[k])
        for k in range(25):
            hidden[k] = _tanh(state[k]) * (half * _tanh(gates[75 + k]) + half)
            out[t, k] = hidden[k]


@_compiled
def _magnitudes(spectrum, out):
    """Absolute values of the first bins: complex64 [frames, more] -> float32 [frames, bins]."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            real, imaginary = spectrum[i, k].real, spectrum[i, k].imag
            out[i, k] = np.sqrt(real * real + imaginary * imaginary)


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
            difference.diff_ratio, hop_size=_HOP_SAMPLES, frame_size=len(window), window=window
        )
        filters = np.asarray(filtered.filterbank, np.float32)
        used = np.flatnonzero(filters.any(axis=1))[-1] + 1
        resolutions.append(_Resolution(window.astype(np.float32), filters[:used].copy(), back))
    return resolutions


@cache
def _networks() -> list[_Network]:
    """The eight networks of madmom's model files."""
    networks = []
    for network in downbeat_networks():
        *recurrent, last = network.layers
        layers = [_layer(layer.fwd_layer, layer.bwd_layer) for layer in recurrent]
        networks.append(_Network(layers, np.asarray(last.weights, np.float32), np.ravel(last.bias).astype(np.float32)))
    return networks


def _layer(*sides: Any) -> _Layer:
    names = ("input_gate", "forget_gate", "cell", "output_gate")

    def gates(side: Any, attribute: str) -> np.ndarray:
        return np.concatenate([getattr(getattr(side, name), attribute) for name in names], axis=-1)

    peepholes = [[getattr(side, name).peephole_weights for name in names if name != "cell"] for side in sides]
    return _Layer(
        np.concatenate([gates(side, "weights") for side in sides], axis=1).astype(np.float32),
        np.concatenate([gates(side, "bias") for side in sides]).astype(np.float32),
        np.stack([gates(side, "recurrent_weights") for side in sides]).astype(np.float32),
        np.array(peepholes, np.float32),
    )
