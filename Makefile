# Two things to know: `make demo` shows it work, `make test` checks all of it.
VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin

.PHONY: help demo test quick twin lint types bare bare-install bare-kernels bare-check lowest benchmark reproduce clean

help:            ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/'

demo: $(VENV)/.installed-demo  ## make .venv, install, run `leastways demo`
	$(BIN)/leastways demo

test: $(VENV)/.installed-test  ## make .venv with the test extras, run the whole test suite
	$(BIN)/python -m pytest -n auto --durations=25

# No processes, clusters, browsers, documentation pages or published baselines.
QUICK_TESTS = $(addprefix tests/,audit costs datasets evaluation feasibility golden io models plans recourse schema search testing) \
  $(wildcard tests/test_*.py)
quick: $(VENV)/.installed-test  ## the fast tests: to run after each change
	$(BIN)/python -m pytest -n auto -m "not slow and not real_data" $(QUICK_TESTS)

twin: $(VENV)/.installed-test  ## kernels interpreted == compiled == the stored cases of tests/golden
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m tests.golden check
	$(BIN)/python -m tests.golden check

lint: $(VENV)/.installed-test  ## ruff: style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test  ## mypy, strict
	$(BIN)/mypy

bare: bare-install bare-check  ## install the core alone in an environment of its own and use it

bare-install:
	rm -rf build/bare build/source && mkdir -p build/source
	cp -r pyproject.toml README.md LICENSE src build/source  # a copy: another install may be building here
	$(PYTHON) -m venv build/bare
	build/bare/bin/python -m pip install --quiet ./build/source

# Kernels are compiled on their first call and kept beside the sources, whichever environment calls them.
bare-kernels:
	PYTHONPATH=src:. build/bare/bin/python -m tests.recourse.fresh
	PYTHONPATH=src build/bare/bin/python examples/compare_methods.py

# What was installed must be whole; then the sources themselves, whose kernels may be compiled already.
bare-check:
	cd build && bare/bin/leastways --version && bare/bin/python -c "import leastways as lw; print(lw.datasets.load_credit(n=100).schema())"
	PYTHONPATH=src build/bare/bin/python tests/install/bare.py

# Tests whose own tools work with such old releases. Warnings of these are no errors; torch and dice-ml are left out.
LOWEST_TESTS = tests/costs tests/evaluation tests/study tests/recourse tests/baselines/test_face.py tests/cli/test_schema.py \
  $(addprefix tests/search/test_,loop.py oracle.py rest.py) $(addprefix tests/models/test_,encoder_table.py estimator.py) \
  $(addprefix tests/batch/test_,manifest.py sources.py) $(addprefix tests/server/,test_app.py test_jobs.py pages/test_person.py)
lowest:          ## install the oldest releases that pyproject.toml allows, and use them
	rm -rf build/lowest && $(PYTHON) -m venv build/lowest
	build/lowest/bin/python -m pip install --quiet --constraint tests/install/lowest.txt \
	  --editable '.[onnx,boost,skops,parquet,cluster,plots,study,server,postgres]' \
	  'highspy==1.11.0' pytest pytest-xdist hypothesis 'httpx<0.28' click==8.2.1
	build/lowest/bin/python -m pytest -n auto -W default $(LOWEST_TESTS)

benchmark: $(VENV)/.installed-test  ## speed and quality on the paper's people (needs LEASTWAYS_DATA)
	$(BIN)/python -m benchmarks.cols

reproduce: $(VENV)/.installed-test  ## every table and figure of the paper (needs LEASTWAYS_DATA; see docs/how-to/reproduce.md)
	$(BIN)/python -m experiments run --all
	$(BIN)/python -m experiments report --out docs/reproduction

clean:           ## remove the environment and caches
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# The stamps make a second run do nothing, so it works offline.
$(VENV)/.installed-demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[plots]'
	touch $@

$(VENV)/.installed-test: pyproject.toml requirements-dev.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -r requirements-dev.txt -e '.[test]'
	touch $@ $(VENV)/.installed-demo
