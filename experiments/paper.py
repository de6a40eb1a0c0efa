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

# By ablation: the jigsaw with n = 8, cut at downbeats.
TABLE5_PUZZLE = {
    "inner_product": (0.90, 0.69),
    "stride2": (0.65, 0.17),
    "mean_pooling": (0.96, 0.87),
    "max_pooling": (0.98, 0.93),
    "r2r1": (0.84, 0.57),
    "r1r3": (0.97, 0.87),
    "r3r1": (0.96, 0.86),
    "all": (0.99, 0.96),
}
