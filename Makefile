# `make demo` and `make test` need Python 3.11 or later, make and git; everything else is installed into .venv.

PYTHON ?= $(shell for p in python3.11 python3 python; do \
	if $$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$p; break; fi; done)
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2

# Small data only: uncompiled kernels are a hundred times slower. Hashing overflows on purpose, and numpy says so.
NOJIT_TESTS ?= tests/unit

.DEFAULT_GOAL := help
.PHONY: help demo test test-base test-lowest test-newest check slow bench nojit mutants format clean distclean

help:
	@echo "make demo    cluster a small set of trees and leave a report in arbora-demo/"
	@echo "make test    run the tests"
	@echo "make test-base, test-lowest, test-newest"
	@echo "             the main tests without extras, with the lowest versions, with the newest, on every Python found"
	@echo "make check   lint, types, docstrings and documentation"
	@echo "make slow    the statistical tests and those on large data"
	@echo "make bench   every benchmark; benchmarks/README.md describes them"
	@echo "make nojit   the unit tests with uncompiled kernels, and what they cover"
	@echo "make mutants plant known bugs one at a time, and see whether the quick tests find them"
	@echo "make format  put the code into the project's format"
	@echo "make clean   remove what was made; make distclean removes $(VENV) too"

# The package, with all its extras.
$(VENV)/.installed: pyproject.toml
	@test -x $(BIN)/python || test -n "$(PYTHON)" || { echo "make: no Python 3.11 or later found; set PYTHON=" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]"
	@touch $@

# The tools that tests and checks use.
$(VENV)/.tools: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

# Packages to compare with; a benchmark says which of them it missed.
$(VENV)/.bench: $(VENV)/.tools
	-$(BIN)/python -m pip install --quiet --group bench
	-$(BIN)/python -m pip install --quiet --no-deps bnpy==0.1.7
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/arbora demo

test: $(VENV)/.tools
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m "not slow"

# In environments of their own, one for each Python from 3.11 on that is found; see noxfile.py.
test-base: $(VENV)/.tools
	$(BIN)/python -m nox -s base

test-lowest: $(VENV)/.tools
	$(BIN)/python -m nox -s lowest_versions

test-newest: $(VENV)/.tools
	$(BIN)/python -m nox -s newest

check: $(VENV)/.tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python docs/check_docstrings.py
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

slow: $(VENV)/.tools
	$(BIN)/python -m pytest -m slow

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py

nojit: $(VENV)/.tools
	NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=brief $(BIN)/python -m coverage run -m pytest -m "not slow and not compiled" -W "ignore:overflow encountered:RuntimeWarning" $(NOJIT_TESTS)
	$(BIN)/python -m coverage report

mutants: $(VENV)/.tools
	$(BIN)/python -m tests.mutation

format: $(VENV)/.tools
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .nox .numba_cache .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage docs/_build build dist arbora-demo
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)
