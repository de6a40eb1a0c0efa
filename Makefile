# Every target installs what it needs into .venv the first time; `make` alone lists the targets.
PYTHON      ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
CONSTRAINTS ?= constraints.txt
VENV        ?= .venv
CORPUS      ?= small
AUDIO       ?=
DATA        ?= data
RUNS        ?= runs
RESULTS     ?= results
EPOCHS      ?= 30
SONGS       ?=
MEDLEY      ?= medley.wav
MINUTES     ?= 10
FLAGS       ?=

BIN       := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PIP       := $(BIN)/pip --quiet --quiet --disable-pip-version-check install --constraint $(CONSTRAINTS)
SOURCES   := setup.py djnet preprocessing experiments tests benchmarks

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help preprocess train evaluate reproduce study figures mixes rwc render inspect readme-tables test lint bench verify verify-downbeats madmom clean medley report browser stress

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | sort | \
	  awk -F '\t' '{printf "  make %-17s %s\n", $$1, $$2}'

preprocess: $(INSTALLED) ## music -> records in DATA: CORPUS=small|medium|full|synthetic, or AUDIO=a folder of yours
	@$(BIN)/python -m preprocessing.build --output="$(DATA)" $(if $(AUDIO),--audio="$(AUDIO)",--corpus=$(CORPUS)) $(FLAGS)

train: $(INSTALLED) ## train SEN on what is in DATA, cut at equal lengths and at downbeats: EPOCHS=30
	@$(BIN)/python -m experiments.train --experiment=table4/fixed,table4/downbeat --data="$(DATA)" --output="$(RUNS)" --epochs=$(EPOCHS) $(FLAGS)
	@echo "Trained: see $(RUNS)/. For more: make preprocess train CORPUS=medium EPOCHS=40, or $(BIN)/python -m experiments.train --help"

evaluate: $(INSTALLED) ## play the games on the test split with what is in RUNS, write the tables to RESULTS
	@$(BIN)/python -m preprocessing.make_medleys --data="$(DATA)" || true
	@$(BIN)/python -m experiments.evaluate --data="$(DATA)" --runs="$(RUNS)" --output="$(RESULTS)" $(FLAGS)
	@echo "Tables: $(RESULTS)/table*.csv; every puzzle's answer: $(RESULTS)/predictions/"

reproduce: $(INSTALLED) ## train every row of every table on DATA, evaluate and draw all; hours, can be stopped; FLAGS=--dry_run
	@$(BIN)/python -m experiments.reproduce --data="$(DATA)" --runs="$(RUNS)" --output="$(RESULTS)" $(FLAGS)

study: $(INSTALLED) ## compare ways to train SEN on the validation split of DATA, write RESULTS/study.csv; hours, can be stopped
	@$(BIN)/python -m experiments.study --data="$(DATA)" --runs="$(RUNS)/study" --output="$(RESULTS)" $(FLAGS)

figures: $(INSTALLED) ## draw the figures from DATA, RUNS and the tables in RESULTS
	@$(BIN)/python -m experiments.plots --data="$(DATA)" --runs="$(RUNS)" --results="$(RESULTS)" $(FLAGS)

mixes: $(INSTALLED) ## mix test tracks of DATA to medleys with a known order
	@$(BIN)/python -m preprocessing.make_medleys --data="$(DATA)" $(FLAGS)

rwc: $(INSTALLED) ## make RWC-P ready for sequencing, rendered where there is no audio: RWC=its folder
	@test -n "$(RWC)" || { echo "Say where RWC-P is: make rwc RWC=folder" >&2; exit 2; }
	@$(BIN)/python -m preprocessing.rwc --rwc="$(RWC)" --data="$(DATA)" $(FLAGS)

render: $(INSTALLED) ## play a folder of notes with instruments of many kinds: MIDI=folder AUDIO=folder for the songs
	@test -n "$(MIDI)" -a -n "$(AUDIO)" || { echo "Say where the notes are and the songs go: make render MIDI=folder AUDIO=folder" >&2; exit 2; }
	@$(BIN)/python -m preprocessing.render_midi --midi="$(MIDI)" --output="$(AUDIO)" $(FLAGS)

medley: $(INSTALLED) ## one piece of music out of many songs: SONGS=a folder of yours (none: free recordings), MEDLEY=medley.wav
	@$(BIN)/djnet medley $(if $(SONGS),"$(SONGS)") --output="$(MEDLEY)" $(FLAGS)

report: $(INSTALLED) ## write a page to see, hear and play: RESULTS/report/index.html
	@$(BIN)/python -m experiments.report --data="$(DATA)" --results="$(RESULTS)" --medleys="$(RESULTS)/medleys" \
	  --output="$(RESULTS)/report" $(FLAGS)

inspect: $(INSTALLED) ## check every shard in DATA, show counts, draw a few spectrograms
	@$(BIN)/python -m preprocessing.check_records "$(DATA)" $(FLAGS)

browser: ## install Chromium for the tests of the pages (as root, with apt-get); without it they are skipped
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	  { apt-get -qq update; DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes chromium; }; } >/dev/null 2>&1 || \
	  echo "No Chromium here: the tests of the pages will be skipped (Debian: apt-get install chromium)"

test: $(INSTALLED) ## run the tests (no network needed)
	@$(BIN)/python -m pytest -m "not verify" --numprocesses=auto --maxprocesses=4 --dist=loadfile $(FLAGS)

verify: $(INSTALLED) ## run the slow checks on real music
	@$(BIN)/python -m pytest -m verify $(FLAGS)

verify-downbeats: $(INSTALLED) ## compare our downbeats with madmom's on rendered RWC-P: RWC=its folder
	@test -n "$(RWC)" || { echo "Say where RWC-P is: make verify-downbeats RWC=folder" >&2; exit 2; }
	@$(BIN)/python -m preprocessing.verify_downbeats --rwc="$(RWC)" $(FLAGS)

lint: $(INSTALLED) ## ruff and mypy
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy $(SOURCES)

bench: $(INSTALLED) ## measure speed, as ratios against the plain way
	@$(BIN)/python -m benchmarks $(FLAGS)

stress: $(INSTALLED) ## break things on purpose for MINUTES=10 and count what was lost
	@$(BIN)/python -m tests.faults $(MINUTES) $(FLAGS)

readme-tables: $(INSTALLED) ## write the tables of README.md anew from results/
	@$(BIN)/python -m experiments.docs_tables

madmom: $(INSTALLED) ## build the downbeat tracker again, for example after installing a compiler
	@rm -f $(VENV)/.madmom
	@$(MAKE) --no-print-directory $(VENV)/.madmom

clean: ## remove .venv; DATA and the download cache stay
	rm -rf $(VENV)

$(INSTALLED): setup.py $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] not in {(3, 11), (3, 12)})' || \
	  { echo "djnet needs Python 3.11 or 3.12, found $$($(PYTHON) --version); say which with make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@echo "Setting up $(VENV) (once, a few minutes)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade pip setuptools wheel cython numpy
	@$(MAKE) --no-print-directory $(VENV)/.madmom
	@$(PIP) --no-build-isolation --editable '.[dev]'
	@touch $@

# madmom does not say that its build needs Cython and NumPy, so both come first and isolation is off.
$(VENV)/.madmom:
	@if ! command -v $${CC:-cc} >/dev/null; then \
	  echo "No C compiler: madmom is left out, so downbeat games are off and fixed-length games work. Install one (Debian: build-essential), then: make madmom" >&2; \
	elif $(PIP) --no-build-isolation madmom 2>$(VENV)/madmom.log; then touch $@; \
	else echo "madmom did not build (see $(VENV)/madmom.log): downbeat games are off and fixed-length games work. To try again: make madmom" >&2; fi
