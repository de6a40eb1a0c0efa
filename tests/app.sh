#!/bin/sh
# The steps of the Dockerfile without Docker: the app alone in an empty environment, and a medley made with it.
set -eu
environment=$1
steps=$(sed -n "s/^RUN \(pip install [^&]*\) && .*/\1/p" Dockerfile)
test -n "$steps" || { echo "Dockerfile: no step that installs djnet" >&2; exit 1; }
rm -rf "$environment"
"${PYTHON:-python3}" -m venv "$environment"
sh -c "$environment/bin/$(echo "$steps" | sed "s|/source|.|")" >/dev/null
songs=$(mktemp -d)
trap 'rm -rf "$songs"' EXIT
"$environment/bin/python" -c "
import sys
from pathlib import Path
from djnet.corpora import synthetic
synthetic.corpus(3, seed=0, cache=Path(sys.argv[1]))" "$songs"
find "$songs" -name '*.wav' -o -name '*.flac' | xargs "$environment/bin/djnet" medley --output="$songs/medley.mp3" --cache="$songs/cache"
test -s "$songs/medley.mp3"
du -sm "$environment"
