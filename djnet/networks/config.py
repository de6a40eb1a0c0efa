"""The size and the details of a network, and the three presets. No TensorFlow is needed to read them."""

from dataclasses import dataclass, fields, replace
from typing import Any

from djnet import constants

NAMES = ("sen", "sn", "cin", "ccsn", "tsn", "opn")
POOLINGS = ("mean", "max", "std")
EDGES = ("zeros", "repeated")
POOL_EDGES = ("end", "both")


@dataclass(frozen=True)
class NetworkConfig:
    """The size and the details of a network; the paper's values (section "Implementation Details")."""

    tower: tuple[int, ...] = (128, 256, 512)  # filters; the release has 128, 256, 256
    tower_size: int = 4
    stride: int = 1  # ablation: 2
    edges: str = "zeros"  # beyond a fragment's ends SEN and CCSN see zeros, or its first and last frame ("repeated")
    convnet: tuple[int, ...] = (64, 128, 256)  # of SEN (3 x 3) and CCSN (3)
    convnet_size: int = 3
    pool: int = 3
    pool_last: bool = True  # "followed by 3 by 3 maximum pooling"; the release does not pool after the last layer
    pool_edges: str = "end"  # blocks begin at the first frame; or beyond "both" ends, TensorFlow's "SAME", the release
    dense: tuple[int, ...] = (1024, 1024)
    similarity: str = "cosine"  # ablation: "inner_product"
    two_matrices: bool = False  # a variant of SEN: beside the embedded frames, the spectrograms' own are compared
    pooling: tuple[str, ...] = POOLINGS  # ablation: ("mean",) or ("max",)
    variance: bool = False  # the release pools the variance, the paper the standard deviation
    window_seconds: float = 0.0  # look only at the join: the end of the first, the beginning of the second; 0 for all
    batch_norm: bool = True
    dropout: float = 0.5

    def __post_init__(self) -> None:
        for name in ("tower", "convnet", "dense"):
            widths = getattr(self, name)
            if not isinstance(widths, tuple) or not widths or not all(isinstance(w, int) and w > 0 for w in widths):
                raise ValueError(f"{name} must be widths above 0 such as (64, 128), got {widths!r}.")
        if self.similarity not in ("cosine", "inner_product"):
            raise ValueError(f"similarity must be cosine or inner_product, got {self.similarity!r}.")
        if self.edges not in EDGES:
            raise ValueError(f"edges must be {' or '.join(EDGES)}, got {self.edges!r}.")
        if self.pool_edges not in POOL_EDGES:
            raise ValueError(f"pool_edges must be {' or '.join(POOL_EDGES)}, got {self.pool_edges!r}.")
        if self.two_matrices and self.stride > 1:
            raise ValueError("two_matrices needs stride 1: both matrices have a place a frame.")
        if self.stride < 1 or self.window_seconds < 0 or not 0 <= self.dropout < 1:
            raise ValueError(f"Impossible network: {self}.")

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "NetworkConfig":
        """A configuration from its fields as JSON has them, with lists in place of tuples."""
        listed: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
        return cls(**listed)

    @property
    def window_frames(self) -> int:
        """Length of the window at the join in frames."""
        return constants.seconds_to_hops(self.window_seconds)


PRESETS = {
    "paper": NetworkConfig(),
    # The same network at full time resolution, half as wide, that sees 1.5 s on each side of a join: it trains on two
    # CPU cores. 63 frames can be pooled by three twice without a remainder. Dropout does not help a network of this
    # size. Edges are repeated: with zeros behind the first fragment and before the second, the frames on both sides of
    # a join would not look alike (`make study`).
    "compact": NetworkConfig(
        tower=(64, 128, 256), convnet=(32, 64, 128), dense=(512, 512),
        window_seconds=1.463, edges="repeated", dropout=0.0,
    ),
    # The graph that the paper's authors released; `networks/release.py` reads its weights.
    "release": NetworkConfig(
        tower=(128, 256, 256), pool_last=False, pool_edges="both", pooling=("max", "mean", "std"), variance=True
    ),
}  # fmt: skip


def config_for(preset: str = "paper", **ablation: Any) -> NetworkConfig:
    """A preset with some of its fields changed."""
    if preset not in PRESETS:
        raise ValueError(f"Unknown preset {preset!r}; there are {', '.join(PRESETS)}.")
    if unknown := set(ablation) - {field.name for field in fields(NetworkConfig)}:
        raise ValueError(
            f"A network has no {min(unknown)!r}; it has {', '.join(field.name for field in fields(NetworkConfig))}."
        )
    return replace(PRESETS[preset], **ablation)
