# Everything starts from a machine that has Python >= 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Files with kernels, and the folder of the machine code that ships with the package.
KERNELS := $(shell grep -rlE '@kernel|numba' src --include='*.py')
MACHINE_CODE := src/unnaive/machine_code

# Whatever the shell says: processes that tests start read the bytecode that the first one has left.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test tests lint types contracts bench bench-scale quality papers fuzz bounds docs wheel clean

define install
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		($(PYTHON) -m pip install --user virtualenv && $(PYTHON) -m virtualenv $(VENV))
	@UNNAIVE_MACHINE_CODE=0 $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable ".[$(1)]" $(2)
	@touch $@
endef

$(VENV)/.demo: pyproject.toml
	$(call install,demo)

$(VENV)/.test: pyproject.toml papers/pyproject.toml
	$(call install,test,--editable ./papers)

$(VENV)/.bench: pyproject.toml papers/pyproject.toml
	$(call install,bench,--editable ./papers)

$(VENV)/.docs: pyproject.toml
	$(call install,docs)

# What has not changed is not compiled again.
define compile
	@echo "compiling kernels, once; a minute or two on two cores"
	@$(BIN)/python -m unnaive.build_kernels --into $(MACHINE_CODE) > /dev/null || \
		echo "that failed: kernels are compiled when they are first used"
	@touch $@
endef

$(VENV)/.demo-kernels: $(VENV)/.demo $(KERNELS)
	$(call compile)

$(VENV)/.test-kernels: $(VENV)/.test $(KERNELS)
	$(call compile)

$(VENV)/.bench-kernels: $(VENV)/.bench $(KERNELS)
	$(call compile)

demo: $(VENV)/.demo-kernels  ## train and compare models on german credit, outputs in demo/
	@$(BIN)/python examples/demo.py

test: lint types contracts tests  ## everything that must pass before a change lands

tests: $(VENV)/.test-kernels
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

contracts: $(VENV)/.test
	$(BIN)/lint-imports

bench: $(VENV)/.bench-kernels  ## speed against peers, side by side: make bench [DATA=folder]
	$(BIN)/python -m benchmarks.first
	$(BIN)/python -m benchmarks.speed $(if $(DATA),--data $(DATA))

bench-scale: $(VENV)/.bench  ## tables larger than memory: make bench-scale [ROWS=50000000]
	$(BIN)/python -m benchmarks.scale $(if $(ROWS),--rows $(ROWS))

quality: $(VENV)/.bench  ## accuracy and log loss on a folder of data sets: make quality DATA=folder
	$(BIN)/python -m benchmarks.quality --data $(DATA)

fuzz: $(VENV)/.test  ## load wrong model files: make fuzz [FILES=100000]
	PYTHONPATH=tests $(BIN)/python -m fuzz --files $(or $(FILES),100000)

bounds: $(VENV)/.test  ## the tests with every index of every kernel checked; much slower
	NUMBA_BOUNDSCHECK=1 SCIPY_ARRAY_API=1 \
		$(BIN)/python -m pytest -n 2 --dist worksteal $(TESTS)

wheel: $(VENV)/.test  ## a wheel with machine code, in dist/: make wheel [PROCESSOR=x86-64-v3]
	UNNAIVE_MACHINE_CODE=$(PROCESSOR) $(BIN)/python -m pip wheel --no-deps --wheel-dir dist .

docs: $(VENV)/.docs  ## the site, in docs/_build/html; warnings are errors, every link must lead somewhere
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

papers: $(VENV)/.test  ## the papers' experiments: make papers [DATA=folder], without a folder the quick sample
	$(BIN)/unnaive-papers all --jobs 2 $(if $(DATA),--data $(DATA),--quick)

clean:
	rm -rf $(VENV) $(MACHINE_CODE) demo .pytest_cache .mypy_cache .ruff_cache .import_linter_cache build dist docs/_build docs/gallery docs/reference/generated docs/reference/backreferences
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
