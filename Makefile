# make demo | test | check | bench | soak | wheel | docs | pictures | lock | clean
# Each target sets up what it needs; a second time nothing is installed again.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
MACHINE_PATH := $(PATH)
export PATH := $(CURDIR)/$(BIN):$(MACHINE_PATH)
PYTHON ?= python3
DEMO_LIMITS ?= --quick --size 1G
DEMO_EMULATED_LIMITS ?= --quick

# Scripts of an environment hold its path: in a tree that was moved it is made anew.
$(shell place="$$(cat $(VENV)/place 2>/dev/null)"; [ -z "$$place" ] || [ "$$place" = "$(CURDIR)" ] || rm -rf $(VENV))

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)

.PHONY: setup demo test check bench soak wheel docs pictures lock clean

setup: $(VENV)/ready

# Tools of the machine; scripts/tools installs only what is missing.
$(VENV)/tools: scripts/tools
	@PATH="$(MACHINE_PATH)" scripts/tools run
	@mkdir -p $(VENV) && touch $@

# An environment without pip was left half made, or its Python has gone: it is made anew.
$(VENV)/packages: $(VENV)/tools requirements.lock
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
	    echo "making the virtual environment $(VENV)"; \
	    PATH="$(MACHINE_PATH)" $(PYTHON) -m venv --clear $(VENV); \
	    echo "$(CURDIR)" >$(VENV)/place; \
	    touch $(VENV)/tools; }
	@echo "installing the packages of requirements.lock"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

$(VENV)/ready: $(VENV)/packages pyproject.toml $(RUST_SOURCES)
	@echo "building the Rust core (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e '.[full]'
	@touch $@

# The twelve profiles, briefly, against a scratch file on this machine's own disk, and against an emulated office server.
demo: $(VENV)/ready
	@mkdir -p demo/disk
	loadline run typical-12 demo/disk $(DEMO_LIMITS) --store demo/runs --tag demo=yes
	loadline run typical-12 emulated:dl360-g6-p410i $(DEMO_EMULATED_LIMITS) --store demo/runs --tag demo=yes
	@runs=$$(ls demo/runs | tail -n 2); \
	loadline report $$runs --store demo/runs -o demo/typical-12.csv >/dev/null; \
	loadline report $$runs --store demo/runs -o demo/typical-12.html >/dev/null; \
	for run in $$runs; do echo "folder   demo/runs/$$run"; done; \
	echo "csv      demo/typical-12.csv"; echo "page     demo/typical-12.html"

$(VENV)/test-tools: $(VENV)/tools
	@scripts/tools test
	@touch $@

test: $(VENV)/ready $(VENV)/test-tools
	cargo test --workspace --locked --quiet
	pytest

$(VENV)/check-tools: $(VENV)/tools
	@scripts/tools check
	@touch $@

check: $(VENV)/ready $(VENV)/check-tools
	ruff format --check .
	ruff check .
	mypy
	lint-imports
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

bench: $(VENV)/ready $(VENV)/test-tools
	python benches/run.py

# Long: fuzzing with many cases, a thousand kills.
soak: $(VENV)/ready $(VENV)/test-tools
	PROPTEST_CASES=20000 cargo test --workspace --locked --release --quiet
	pytest -m '' --hypothesis-profile=soak

wheel: $(VENV)/packages
	@rm -rf dist
	maturin build --release --locked --sdist --out dist

# docs/reference is generated from the command line and the schema.
docs: $(VENV)/ready
	python scripts/reference.py docs/reference

# From a run of two minutes below /tmp.
pictures: $(VENV)/ready $(VENV)/test-tools
	python scripts/pictures.py docs/pictures

# Keeps what is pinned already; to take the newest of everything, remove requirements.lock first.
lock:
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	$(PYTHON) -m venv "$$folder"; \
	"$$folder/bin/pip" install --quiet --disable-pip-version-check uv; \
	"$$folder/bin/uv" pip compile --quiet pyproject.toml --extra full --extra dev --generate-hashes \
	    --universal --python-version 3.11 --no-annotate --no-header -o requirements.lock
	cargo update --workspace --quiet

clean:
	rm -rf $(VENV) target dist demo python/loadline/_core*.so
