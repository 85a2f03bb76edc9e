# Everything starts from a machine that has Python >= 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test tests lint types contracts bench bench-scale quality fuzz clean

define install
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		($(PYTHON) -m pip install --user virtualenv && $(PYTHON) -m virtualenv $(VENV))
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(1)]"
	@touch $@
endef

$(VENV)/.demo: pyproject.toml
	$(call install,demo)

$(VENV)/.test: pyproject.toml
	$(call install,test)

$(VENV)/.bench: pyproject.toml
	$(call install,bench)

demo: $(VENV)/.demo  ## train and compare models on german credit, outputs in demo/
	@$(BIN)/python examples/demo.py

test: lint types contracts tests  ## everything that must pass before a change lands

tests: $(VENV)/.test
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

contracts: $(VENV)/.test
	$(BIN)/lint-imports

bench: $(VENV)/.bench  ## speed against peers, side by side: make bench [DATA=folder]
	$(BIN)/python -m benchmarks.speed $(if $(DATA),--data $(DATA))

bench-scale: $(VENV)/.bench  ## tables larger than memory: make bench-scale [ROWS=50000000]
	$(BIN)/python -m benchmarks.scale $(if $(ROWS),--rows $(ROWS))

quality: $(VENV)/.bench  ## accuracy and log loss on a folder of data sets: make quality DATA=folder
	$(BIN)/python -m benchmarks.quality --data $(DATA)

fuzz: $(VENV)/.test  ## load wrong model files: make fuzz [FILES=100000]
	PYTHONPATH=tests $(BIN)/python -m fuzz --files $(or $(FILES),100000)

clean:
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .import_linter_cache build dist .numba_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
