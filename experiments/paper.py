"""What the paper reports: (pairwise, global) accuracy by table, to stand beside ours."""

# By model: n = 3, equal cuts.
TABLE2 = {
    "sn": (0.851, 0.825),
    "ccsn": (0.872, 0.840),
    "cin": (0.912, 0.864),
    "tsn": (0.911, 0.890),
    "opn": (0.929, 0.916),
    "sen": (0.996, 0.994),
}

# By segmentation, n and model.
TABLE3 = {
    ("fixed", 3, "sn"): (0.851, 0.825),
    ("fixed", 3, "cin"): (0.912, 0.864),
    ("fixed", 3, "sen"): (0.996, 0.994),
    ("fixed", 4, "sn"): (0.752, 0.641),
    ("fixed", 4, "cin"): (0.844, 0.722),
    ("fixed", 4, "sen"): (0.990, 0.982),
    ("fixed", 6, "sn"): (0.609, 0.304),
    ("fixed", 6, "cin"): (0.761, 0.455),
    ("fixed", 6, "sen"): (0.989, 0.977),
    ("fixed", 8, "sn"): (0.514, 0.110),
    ("fixed", 8, "cin"): (0.682, 0.229),
    ("fixed", 8, "sen"): (0.985, 0.953),
    ("downbeat", 3, "sn"): (0.781, 0.692),
    ("downbeat", 3, "cin"): (0.912, 0.863),
    ("downbeat", 3, "sen"): (0.995, 0.991),
    ("downbeat", 4, "sn"): (0.681, 0.472),
    ("downbeat", 4, "cin"): (0.871, 0.761),
    ("downbeat", 4, "sen"): (0.995, 0.987),
    ("downbeat", 6, "sn"): (0.536, 0.171),
    ("downbeat", 6, "cin"): (0.764, 0.499),
    ("downbeat", 6, "sen"): (0.991, 0.971),
    ("downbeat", 8, "sn"): (0.449, 0.056),
    ("downbeat", 8, "cin"): (0.680, 0.297),
    ("downbeat", 8, "sen"): (0.990, 0.961),
}

# By game and segmentation in training: SEN.
TABLE4 = {
    ("jigsaw", "fixed"): (0.985, 0.953),
    ("jigsaw", "downbeat"): (0.990, 0.961),
    ("sequencing", "fixed"): (0.789, 0.440),
    ("sequencing", "downbeat"): (0.937, 0.790),
    ("medley", "fixed"): (0.945, 0.688),
    ("medley", "downbeat"): (0.961, 0.750),
}

# By game and ablation: SEN trained on cuts at downbeats; the jigsaw with n = 8.
TABLE5 = {
    ("jigsaw", "inner_product"): (0.90, 0.69),
    ("jigsaw", "stride2"): (0.65, 0.17),
    ("jigsaw", "mean_pooling"): (0.96, 0.87),
    ("jigsaw", "max_pooling"): (0.98, 0.93),
    ("jigsaw", "r2r1"): (0.84, 0.57),
    ("jigsaw", "r1r3"): (0.97, 0.87),
    ("jigsaw", "r3r1"): (0.96, 0.86),
    ("jigsaw", "all"): (0.99, 0.96),
    ("sequencing", "inner_product"): (0.74, 0.38),
    ("sequencing", "stride2"): (0.54, 0.06),
    ("sequencing", "mean_pooling"): (0.81, 0.49),
    ("sequencing", "max_pooling"): (0.92, 0.76),
    ("sequencing", "r2r1"): (0.62, 0.22),
    ("sequencing", "r1r3"): (0.81, 0.46),
    ("sequencing", "r3r1"): (0.91, 0.69),
    ("sequencing", "all"): (0.94, 0.79),
    ("medley", "inner_product"): (0.88, 0.50),
    ("medley", "stride2"): (0.73, 0.13),
    ("medley", "mean_pooling"): (0.81, 0.56),
    ("medley", "max_pooling"): (0.93, 0.69),
    ("medley", "r2r1"): (0.86, 0.44),
    ("medley", "r1r3"): (0.93, 0.69),
    ("medley", "r3r1"): (0.90, 0.63),
    ("medley", "all"): (0.96, 0.75),
}
ABLATIONS = tuple(name for game, name in TABLE5 if game == "jigsaw")
