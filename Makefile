# make demo: the main job against a small portal on this machine.  make test: the tests.  Nothing else is needed first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SCHEMAS := $(VENV)/github/schema.graphql $(VENV)/compose/schema.json
# Images of Python often set this; each of the tests' thousands of crawls would compile the project again
unexport PYTHONDONTWRITEBYTECODE

# What has templates that the tests render, and the SHA-256 of each wheel
TEMPLATES := ckan/2.10.11 ckan/2.11.6 ckan/2.12.0 udata-front/6.2.4
SHA256_ckan/2.10.11 := d92f020952888e043aea2fd8c4ec2c4b3dec0d4e918677fdb63243839fc76d93
SHA256_ckan/2.11.6 := dc005f2b289c67763f30a1d56f56baf64295e9e3887db26ba3c80d6b8759340f
SHA256_ckan/2.12.0 := 3b41cb4860286813fbcd18c57341e96edba266e2e492aeea92c4e03ce9e2934e
SHA256_udata-front/6.2.4 := d8df005f2602aaa606fc3f12ec2cf7128fffb13216a949f3e20704986fb8de40

.PHONY: help demo test test-slow lint docs pictures bench clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /make \1 — /p' Makefile

demo: $(VENV)/.runtime  ## crawl a small portal that starts and stops by itself, and show the files
	@$(BIN)/python tests/portal/demo.py

test: $(VENV)/.dev  ## run the tests, without the slow ones
	@$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

test-slow: $(VENV)/.dev  ## run the tests with browsers, Scrapyd, installations and many kills
	@$(BIN)/python -m pytest -n auto --dist loadfile -m slow

requests: $(VENV)/.dev  ## count the requests that each test makes, twice, and write tests/requested.csv anew
	@rm -f tests/requested.csv
	@for run in first second; do \
		$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow" --count-requests=tests/requested.csv || exit 1; \
	done

lint: $(VENV)/.dev  ## ruff and mypy
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy crawlers pipelines spiders tests/portal benchmarks docs/kind-template

docs: $(VENV)/.dev  ## build the documentation as a site, docs/_build/index.html; a warning is an error
	@$(BIN)/python -m sphinx -W --keep-going -q -b html -d .sphinx_cache docs docs/_build

pictures: $(VENV)/.dev  ## make the pictures of the README and the docs again, from real harvests; it needs Chromium and faketime
	@$(BIN)/python tests/pictures.py

bench: $(VENV)/.dev  ## measure speed and memory, as ratios in one run
	@$(BIN)/python benchmarks/run.py

clean:  ## remove what these made
	rm -rf $(VENV) output/demo docs/_build .sphinx_cache .pytest_cache .mypy_cache .ruff_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "Python's venv is missing. On Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/.runtime: requirements.txt | $(VENV)/bin/python
	@echo "installing requirements.txt into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.runtime | $(if $(shell command -v npm),$(SCHEMAS)) $(TEMPLATES:%=$(VENV)/templates/%/fetched)
	@echo "installing requirements-dev.txt into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

# Schemas that tests check against, GitHub's and that of compose.yaml; they are not ours to copy, and PyPI has neither
$(VENV)/github/schema.graphql: MEMBER := package/schema.graphql
$(VENV)/github/schema.graphql: PACKAGE := @octokit/graphql-schema@15.26.1
$(VENV)/github/schema.graphql: SHA512 := 4450c2d8ca5105de00c5246f51e04855e054ee88cdfd2c437c02d477b89560e49e10ade065aa91d8c18ecac8f8661db18f6458e5f400513f8eaaaee1593ada30
$(VENV)/compose/schema.json: MEMBER := package/schemas/compose.schema.json
$(VENV)/compose/schema.json: PACKAGE := dclint@3.1.0
$(VENV)/compose/schema.json: SHA512 := 69f4c67734455172b8c82a488845bf2ce47ef5338c10384d95d0e9e7a5425b39fb243983e39d4f7148bae3418694c1e06c7289d74ac3066e0fb697016e3aa55f
$(SCHEMAS): | $(VENV)/bin/python
	@command -v npm >/dev/null || { echo "npm is missing, which fetches $(PACKAGE) for the tests. On Debian: apt-get install npm"; exit 1; }
	@echo "fetching $(PACKAGE) into $(VENV) ..."
	@mkdir -p $(@D)
	@cd $(@D) && npm pack --silent $(PACKAGE) >/dev/null && mv *.tgz package.tgz
	@$(BIN)/python -c 'import hashlib, sys; sys.exit(hashlib.sha512(open(sys.argv[1], "rb").read()).hexdigest() != sys.argv[2])' $(@D)/package.tgz $(SHA512) || \
		{ rm $(@D)/package.tgz; echo "$(PACKAGE) is not the file that was expected: its SHA-512 differs"; exit 1; }
	@tar -xOzf $(@D)/package.tgz $(MEMBER) >$@.part && mv $@.part $@

# These templates are AGPL, so they are not here; nothing of the wheels is installed or run
$(VENV)/templates/%/fetched: | $(VENV)/bin/python
	@echo "fetching the templates of $(*D) $(*F) into $(VENV) ..."
	@mkdir -p $(@D)
	@echo "$(*D)==$(*F) --hash=sha256:$(SHA256_$*)" > $(@D)/pinned.txt
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r $(@D)/pinned.txt -d $(@D)
	@$(BIN)/python -c 'import sys, zipfile; file = zipfile.ZipFile(sys.argv[1]); file.extractall(sys.argv[2], [name for name in file.namelist() if "/templates/" in name])' $(@D)/*.whl $(@D)
	@rm $(@D)/*.whl
	@touch $@
