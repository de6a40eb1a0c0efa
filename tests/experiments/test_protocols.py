from djnet.constants import HOP_SAMPLES, WINDOW_SAMPLES
from experiments.plots.protocols import NOTES, draw, windows


def test_only_overlapping_windows_reach_into_the_neighbour():
    before, after = windows("trimmed")
    assert max(before) + WINDOW_SAMPLES == 0 == min(after)
    before, after = windows("overlapping")
    assert max(before) + WINDOW_SAMPLES - min(after) == WINDOW_SAMPLES * 3 // 4  # shared samples


def test_centred_frames_begin_two_hops_nearer_to_the_cut_than_trimmed_ones():
    before, after = windows("centred")
    assert max(before) + WINDOW_SAMPLES // 2 == 0 == min(after) + WINDOW_SAMPLES // 2  # centred on the edge
    assert [first + 2 * HOP_SAMPLES for first in after] == windows("trimmed")[1]


def test_the_picture_has_a_row_a_protocol():
    assert [row.get_title(loc="left").split(":")[0] for row in draw().axes] == list(NOTES)
