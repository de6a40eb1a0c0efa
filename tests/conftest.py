"""Music for the tests: generated songs, and files that are wrong in every way."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import HealthCheck, settings

from djnet.constants import SAMPLE_RATE_HZ
from djnet.corpora import Corpus, synthetic
from djnet.records import Manifest
from tests.browser import HERE, chromium

SONGS = 12
settings.register_profile("djnet", deadline=None, suppress_health_check=[HealthCheck.too_slow])  # for busy machines
settings.load_profile("djnet")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20180202)


@pytest.fixture(scope="session")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def songs(cache) -> Corpus:
    return synthetic.corpus(SONGS, seed=0, cache=cache)


@pytest.fixture(scope="session")
def records(songs, cache, tmp_path_factory) -> Manifest:
    """Records of the generated songs."""
    from preprocessing.build import build  # the app's tests do without the jobs
    from preprocessing.clips import Settings

    return build(songs, tmp_path_factory.mktemp("records"), Settings(), cache).manifest


@pytest.fixture
def write_tone(rng):
    """Write a file of chords and noise: `write_tone(path, seconds=30, rate=22050, channels=1)`."""

    def write(path: Path, seconds: float = 30.0, rate: int = SAMPLE_RATE_HZ, channels: int = 1, **options) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        time = np.arange(int(seconds * rate)) / rate
        tone = sum(np.sin(2 * np.pi * f * time) for f in rng.uniform(100, 2000, 4)) * (1 + np.sin(time))
        samples = 0.05 * tone + 0.01 * rng.standard_normal(len(time))
        soundfile.write(path, np.repeat(samples[:, None], channels, axis=1), rate, **options)
        return path

    return write


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def watched(browser):
    """Open a page: `watched(path or address)`; at the end nothing may have gone wrong or left the machine.

    `allowed`: how what the console may say begins.
    """
    contexts, wrong = [], []

    def open_page(path, allowed="\0", **options):
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}} | options)
        contexts.append(context)
        page = context.new_page()
        loud = ("error", "warning")
        is_wrong = lambda message: message.type in loud and not message.text.startswith(allowed)  # noqa: E731
        page.on("console", lambda message: wrong.extend([message.text] if is_wrong(message) else []))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: wrong.extend([] if asked.url.startswith(HERE) else [asked.url]))
        page.goto(path if isinstance(path, str) else path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture(scope="session")
def report(records, tmp_path_factory) -> Path:
    """A report with something in every section, of the generated songs; one has a title that would be a script."""
    from tests.make_report import make

    return make(records, tmp_path_factory.mktemp("results"))
