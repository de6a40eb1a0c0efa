"""Which devices a training step runs on: tf.distribute's strategies by name."""

import tensorflow as tf


def strategy_for(name: str) -> tf.distribute.Strategy:
    """One device, all devices of this machine, several machines (TF_CONFIG says which), or a TPU."""
    if name == "auto":
        if tf.config.list_logical_devices("TPU"):
            name = "tpu"
        else:
            name = "mirrored" if len(tf.config.list_physical_devices("GPU")) > 1 else "one"
    if name == "mirrored":
        return tf.distribute.MirroredStrategy()
    if name == "multiworker":
        return tf.distribute.MultiWorkerMirroredStrategy()
    if name == "tpu":
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect(tpu="local")
        return tf.distribute.TPUStrategy(resolver)
    return tf.distribute.get_strategy()
