# Every target installs what it needs into .venv the first time; `make` alone lists the targets.

# The first Python of a fitting version that really runs: a broken shim may stand before a good one in the path.
FITS        := import sys; sys.exit(sys.version_info[:2] not in {(3, 11), (3, 12)})
PYTHON      ?= $(shell IFS=:; for name in python3.11 python3.12 python3; do for folder in $$PATH; do \
                 "$$folder/$$name" -c '$(FITS)' 2>/dev/null && echo "$$folder/$$name" && exit; done; done)
CONSTRAINTS ?= constraints.txt
VENV        ?= .venv
CORPUS      ?= small
AUDIO       ?=
DATA        ?= data
RUNS        ?= runs
RESULTS     ?= results/local
EPOCHS      ?= 60
SONGS       ?=
MEDLEY      ?= medley.wav
MINUTES     ?= 10
FLAGS       ?=

BIN       := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PIP       := $(BIN)/pip --quiet --quiet --disable-pip-version-check install --constraint $(CONSTRAINTS)
# Packages are checked against their hashes where we know them: on Linux, for the reference set of versions.
HASHED    := $(if $(filter Linux-x86_64,$(shell uname -sm | tr ' ' -)),$(wildcard $(CONSTRAINTS:.txt=-hashed.txt)))
SOURCES   := setup.py djnet preprocessing experiments tests benchmarks

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install medley studio report preprocess inspect train evaluate figures study mixes rwc render reproduce docs-tables \
  readme-tables weights test lint browser verify app hashes licences verify-downbeats stress mutants bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^## /{printf "\n%s\n", substr($$0, 4)} /^[a-z-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' Makefile

install: $(INSTALLED) ## install djnet and all that it needs into .venv

## Medleys and puzzles

medley: $(INSTALLED) ## make one piece of music out of a folder of songs: SONGS=folder MEDLEY=medley.wav
	@$(BIN)/djnet medley $(if $(SONGS),"$(SONGS)") --output="$(MEDLEY)" $(FLAGS)

studio: $(INSTALLED) ## make a medley by hand and ear, in the browser: SONGS=folder
	@$(BIN)/djnet studio $(if $(SONGS),"$(SONGS)") $(FLAGS)

report: $(INSTALLED) ## write RESULTS/report/index.html: two pages, with puzzles to play, medleys and the tables
	@$(BIN)/python -m experiments.report --data="$(DATA)" --results="$(RESULTS)" --medleys="$(RESULTS)/medleys" \
	  --output="$(RESULTS)/report" $(FLAGS)

## From music to tables

preprocess: $(INSTALLED) ## turn music into records in DATA: CORPUS=small|medium|full|rest|synthetic, or AUDIO=folder
	@$(BIN)/python -m preprocessing.build --output="$(DATA)" $(if $(AUDIO),--audio="$(AUDIO)",--corpus=$(CORPUS)) $(FLAGS)

inspect: $(INSTALLED) ## check every record in DATA, print counts and draw a few spectrograms
	@$(BIN)/python -m preprocessing.check_records "$(DATA)" $(FLAGS)

train: $(INSTALLED) ## train SEN on DATA with equal cuts, with cuts at downbeats and with two matrices: EPOCHS=60
	@$(BIN)/python -m experiments.train --experiment=table4/fixed,table4/downbeat,two_matrices/fixed --data="$(DATA)" --output="$(RUNS)" --epochs=$(EPOCHS) $(FLAGS)
	@echo "Trained: see $(RUNS)/. For more: make preprocess train CORPUS=medium EPOCHS=24, or $(BIN)/python -m experiments.train --help"

evaluate: $(INSTALLED) ## play the three games on the test split of DATA and write the tables to RESULTS
	@$(BIN)/python -m preprocessing.make_medleys --data="$(DATA)" || echo "The medley game is left out: the mixes could not be made (see above)."
	@$(BIN)/python -m experiments.evaluate --data="$(DATA)" --runs="$(RUNS)" --output="$(RESULTS)" $(FLAGS)
	@echo "Tables: $(RESULTS)/table*.csv; every puzzle's answer: $(RESULTS)/predictions/"

figures: $(INSTALLED) ## draw the figures from DATA, RUNS and the tables in RESULTS
	@$(BIN)/python -m experiments.plots --data="$(DATA)" --runs="$(RUNS)" --results="$(RESULTS)" $(FLAGS)

study: $(INSTALLED) ## compare ways to train SEN on the validation split of DATA: takes hours, can be stopped
	@$(BIN)/python -m experiments.study --data="$(DATA)" --runs="$(RUNS)/study" --output="$(RESULTS)" $(FLAGS)

## Music for the games

mixes: $(INSTALLED) ## mix test tracks of DATA into medleys whose order is known, for the medley game
	@$(BIN)/python -m preprocessing.make_medleys --data="$(DATA)" $(FLAGS)

rwc: $(INSTALLED) ## prepare RWC-P for the sequencing game, rendered from MIDI where there is no audio: RWC=folder
	@test -n "$(RWC)" || { echo "Say where RWC-P is: make rwc RWC=folder" >&2; exit 2; }
	@$(BIN)/python -m preprocessing.rwc --rwc="$(RWC)" --data="$(DATA)" $(FLAGS)

render: $(INSTALLED) ## render a folder of MIDI files with varied instruments: MIDI=folder AUDIO=output folder
	@test -n "$(MIDI)" -a -n "$(AUDIO)" || { echo "Name the folder of MIDI files and the one for the songs: make render MIDI=folder AUDIO=folder" >&2; exit 2; }
	@$(BIN)/python -m preprocessing.render_midi --midi="$(MIDI)" --output="$(AUDIO)" $(FLAGS)

## The published results in results/

reproduce: RESULTS = results
reproduce: $(INSTALLED) ## train every row of every table, evaluate and draw: takes hours, can be stopped; FLAGS=--dry_run
	@$(BIN)/python -m experiments.reproduce --data="$(DATA)" --runs="$(RUNS)" --output="$(RESULTS)" $(FLAGS)

docs-tables: $(INSTALLED) ## write the tables of README.md and docs/, and the model card, from results/*.csv
	@$(BIN)/python -m experiments.docs_tables

readme-tables: docs-tables ## the old name of docs-tables

weights: $(INSTALLED) ## ship a trained network: RUN=folder of a run NAME=sen-fixed
	@test -n "$(RUN)" -a -n "$(NAME)" || { echo "Name the run and what it shall be called: make weights RUN=folder NAME=sen-fixed" >&2; exit 2; }
	@mkdir -p djnet/weights/$(NAME) && cp "$(RUN)/run.json" djnet/weights/$(NAME)/ && \
	  $(BIN)/python -m experiments.export "$(RUN)" djnet/weights/$(NAME)/weights.npz

## Development

test: $(INSTALLED) ## run the tests, without a network
	@$(BIN)/python -m pytest -m "not verify" --numprocesses=auto --maxprocesses=4 --dist=loadfile $(FLAGS)

lint: $(INSTALLED) ## check style and types with ruff and mypy
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy $(SOURCES)

AXE := axe-core@4.14.0
browser: ## install Chromium and Firefox (as root, with apt-get) and axe-core (with npm) for the tests of the pages, or they are skipped
	@{ command -v chromium && command -v firefox-esr; } >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	  { apt-get -qq update; DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes chromium firefox-esr; }; } >/dev/null 2>&1 || \
	  echo "Chromium or Firefox is not here: tests of the pages will be skipped (Debian: apt-get install chromium firefox-esr)"
	@npm install --silent --no-save --no-package-lock $(AXE) >/dev/null 2>&1 || \
	  echo "No axe-core here (it comes with npm): the tests for barriers will be skipped"

verify: $(INSTALLED) ## run the slow tests on real music and the notebook, install the wheel, write RESULTS/sbom.json
	@$(PIP) --no-build-isolation --editable '.[notebook]'
	@mkdir -p "$(RESULTS)" && $(BIN)/python -m experiments.licences --sbom > "$(RESULTS)/sbom.json"
	@$(BIN)/python -m pytest -m verify $(FLAGS)

app: ## install the app alone with the steps of the Dockerfile, into .venv-app, and make a medley with it
	@PYTHON="$(PYTHON)" sh tests/app.sh .venv-app

hashes: $(INSTALLED) ## write constraints-hashed.txt: hashes of the packages of constraints.txt, as the package index states them
	@$(BIN)/python -m experiments.hashes

licences: $(INSTALLED) ## write docs/licences.md from what the installed packages say
	@$(BIN)/python -m experiments.licences

verify-downbeats: $(INSTALLED) ## compare our downbeats with madmom's on rendered RWC-P: RWC=folder
	@test -n "$(RWC)" || { echo "Say where RWC-P is: make verify-downbeats RWC=folder" >&2; exit 2; }
	@RWC="$(RWC)" $(BIN)/python -m pytest -q -s -m verify -k rendered tests/djnet/downbeats/test_against_madmom.py $(FLAGS)

stress: $(INSTALLED) ## kill jobs, fill the disk and damage files for about MINUTES=10, into RESULTS/stress.csv
	@$(BIN)/python -m tests.faults $(MINUTES) --output="$(RESULTS)/stress.csv" $(FLAGS)

mutants: $(INSTALLED) ## change the program line by line and name the changes that no test notices, into RESULTS/mutants.csv
	@$(BIN)/python -m tests.mutants --output="$(RESULTS)/mutants.csv" $(FLAGS)

bench: $(INSTALLED) ## measure speed as ratios against plain implementations, into RESULTS/speed.csv
	@$(BIN)/python -m benchmarks --output="$(RESULTS)" $(FLAGS)

clean: ## remove .venv; DATA and the download cache stay
	rm -rf $(VENV)

$(INSTALLED): setup.py $(CONSTRAINTS) $(HASHED)
	$(eval PYTHON := $(PYTHON))
	@test -n "$(PYTHON)" && "$(PYTHON)" -c '$(FITS)' || \
	  { echo "djnet needs Python 3.11 or 3.12, found $(or $(PYTHON),none in the path); say where one is: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@echo "Setting up $(VENV) (once, a few minutes)"
	@"$(PYTHON)" -m venv $(VENV)
	@$(if $(HASHED),$(BIN)/pip --quiet --quiet --disable-pip-version-check install --require-hashes -r $(HASHED),$(PIP) --upgrade pip setuptools wheel)
	@$(PIP) --no-build-isolation --editable '.[train,formats,studio,dev]'
	@touch $@
