# make demo: the main job against a small portal on this machine.  make test: the tests.  Nothing else is needed first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Images of Python often set this; each of the tests' thousands of crawls would compile the project again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-slow lint bench clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /make \1 — /p' Makefile

demo: $(VENV)/.runtime  ## crawl a small portal that starts and stops by itself, and show the files
	@$(BIN)/python tests/portal/demo.py

test: $(VENV)/.dev  ## run the tests, without the slow ones
	@$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

test-slow: $(VENV)/.dev  ## run the tests with browsers, Scrapyd, installations and many kills
	@$(BIN)/python -m pytest -n auto --dist loadfile -m slow

lint: $(VENV)/.dev  ## ruff and mypy
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy crawlers pipelines spiders tests/portal benchmarks docs/kind-template

bench: $(VENV)/.dev  ## measure speed and memory, as ratios in one run
	@$(BIN)/python benchmarks/run.py

clean:  ## remove what these made
	rm -rf $(VENV) output/demo .pytest_cache .mypy_cache .ruff_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "Python's venv is missing. On Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/.runtime: requirements.txt | $(VENV)/bin/python
	@echo "installing requirements.txt into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.runtime
	@echo "installing requirements-dev.txt into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@
