from djnet.cli import text


def test_long_names_keep_their_end():
    assert text.short("a name", 24) == "a name"
    names = [text.short(f"The Band with a Long Name - {title}", 24) for title in ("Umbrellas", "Segfault")]
    assert {len(name) for name in names} == {24}
    assert names[0].endswith("Umbrellas") and names[1].endswith("Segfault")
