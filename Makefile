# Doxa: `make run` and `make test` are all a fresh machine needs.
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2
.DEFAULT_GOAL := help

.PHONY: help
help: ## Show what each target does
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Doxa needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1)."; \
	  echo "Name another with: make PYTHON=python3.12 run"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runtime: $(VENV)/.python requirements/runtime.txt pyproject.toml client/pyproject.toml
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/runtime.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e . -e client
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements/dev.txt
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	@touch $@

.PHONY: install run demo
install: $(VENV)/.runtime ## Make the virtual environment and install Doxa into it
run: $(VENV)/.runtime ## Install, migrate and serve on http://127.0.0.1:8000 (SQLite in ./doxa-data)
	@exec $(BIN)/doxa serve
demo: $(VENV)/.runtime ## Serve five simulated weeks of an agent, audited, with a report to read
	@exec $(BIN)/doxa demo

.PHONY: test test-long check lint types layers
test: $(VENV)/.dev ## The whole proof in small: lint, types, layers and every test on both databases
	@$(MAKE) --no-print-directory check
check: lint types layers ## What CI runs
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "not long"
test-long: $(VENV)/.dev ## The same suites with the large numbers
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup
lint: $(VENV)/.dev ## Ruff: style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
types: $(VENV)/.dev ## mypy --strict over everything, tests included
	$(BIN)/mypy
layers: $(VENV)/.dev ## Imports point down only
	$(BIN)/lint-imports

.PHONY: bench lock clean
bench: $(VENV)/.dev ## Measure speed as ratios in one run, and the auditor against labelled claims
	$(BIN)/python -m bench
lock: $(VENV)/.python ## Pin requirements anew (names, versions, hashes; no addresses)
	$(BIN)/python -m pip install --quiet uv
	cd requirements && ../$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-annotate --no-header -o runtime.txt runtime.in
	cd requirements && ../$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-annotate --no-header -c runtime.txt -o dev.txt dev.in
clean: ## Remove the virtual environment and caches (never your data)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
