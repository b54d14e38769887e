# make demo | test | check | bench | soak | wheel | docs | lock | clean
# Each target sets up what it needs; a second time nothing is installed again.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
PYTHON ?= python3
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)

.PHONY: setup demo test check bench soak wheel docs lock clean

setup: $(VENV)/ready

# Tools of the machine; scripts/tools installs only what is missing.
$(VENV)/tools: scripts/tools
	scripts/tools run
	@mkdir -p $(VENV) && touch $@

$(VENV)/packages: $(VENV)/tools requirements.lock
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

$(VENV)/ready: $(VENV)/packages pyproject.toml $(RUST_SOURCES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e '.[full]'
	@touch $@

# The twelve profiles, briefly, against a scratch file on this machine's own disk.
demo: $(VENV)/ready
	@mkdir -p demo/disk
	loadline run typical-12 demo/disk --quick --size 1G --store demo/runs --tag demo=yes
	@run=$$(ls demo/runs | tail -n 1); \
	loadline report "$$run" --store demo/runs -o demo/typical-12.csv >/dev/null; \
	echo "folder   demo/runs/$$run"; echo "csv      demo/typical-12.csv"

$(VENV)/test-tools: $(VENV)/tools
	scripts/tools test
	@touch $@

test: $(VENV)/ready $(VENV)/test-tools
	cargo test --workspace --locked --quiet
	pytest

check: $(VENV)/ready
	ruff format --check .
	ruff check .
	mypy
	lint-imports
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

bench: $(VENV)/ready
	python benches/run.py

# Long: fuzzing with many cases, a thousand kills.
soak: $(VENV)/ready $(VENV)/test-tools
	PROPTEST_CASES=20000 cargo test --workspace --locked --release --quiet
	LOADLINE_SOAK=1 pytest -m 'soak or not soak' --hypothesis-profile=soak

wheel: $(VENV)/packages
	maturin build --release --locked --sdist --out dist

# docs/reference is generated from the command line and the schema.
docs: $(VENV)/ready
	python scripts/reference.py docs/reference

lock:
	@d=$$(mktemp -d) && $(PYTHON) -m venv $$d && $$d/bin/pip install --quiet uv && \
	$$d/bin/uv pip compile --quiet pyproject.toml --extra full --extra dev --generate-hashes \
	    --universal --python-version 3.11 --no-annotate --no-header -o requirements.lock && rm -rf $$d
	cargo update --workspace

clean:
	rm -rf $(VENV) target dist demo python/loadline/_core*.so
