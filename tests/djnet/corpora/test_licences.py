import pytest

from djnet.corpora import licences


@pytest.mark.parametrize(
    ("licence", "free", "noncommercial"),
    [
        ("CC-BY-SA-3.0", True, False),
        ("GPL-2+", True, False),
        ("public-domain", True, False),
        ("CC0", True, False),
        ("Expat or GPL-2", True, False),
        ("CC-BY-NC-4.0", False, True),
        ("CC-BY-NC-SA-3.0", False, True),
        ("CC-BY-ND-3.0", False, False),
        ("CC-BY-NC-ND-3.0", False, False),
        ("see copyright file", False, False),
        ("Drascula-License", False, False),
        ("own", False, False),
        ("", False, False),
    ],
)
def test_only_licences_that_are_known_to_allow_it_count(licence, free, noncommercial):
    assert licences.may_be_published(licence) == free
    assert licences.is_noncommercial(licence) == noncommercial
