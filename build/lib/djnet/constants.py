"""The numbers of the paper's features and clips, each once; the rest is derived.

Time inside the library is counted in hops of 512 samples: frame t of a spectrogram is centred on hop t.
"""

SAMPLE_RATE_HZ = 22_050
WINDOW_SAMPLES = 2_048
HOP_SAMPLES = 512
MEL_BINS = 128
LOG_GAIN = 10_000.0  # log(1 + gain * power), from the authors' release

CLIP_SECONDS = 24.0
JIGSAW_SIZES = (3, 4, 6, 8)

HOPS_PER_SECOND = SAMPLE_RATE_HZ / HOP_SAMPLES
CLIP_HOPS = int(CLIP_SECONDS * HOPS_PER_SECOND)  # 1,033: the whole hops that fit into a clip
WINDOW_HOPS = WINDOW_SAMPLES // HOP_SAMPLES

# A clip is silent below this standard deviation of its samples (-60 dB of full scale).
SILENCE = 1e-3


def hops_to_seconds(hops: float) -> float:
    """Time of a hop in seconds."""
    return hops / HOPS_PER_SECOND


def seconds_to_hops(seconds: float) -> int:
    """The hop nearest to a time in seconds."""
    return round(seconds * HOPS_PER_SECOND)
