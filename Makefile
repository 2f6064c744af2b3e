# Two commands for a fresh clone on a machine with python3, its venv module and make:
#   make demo   installs into .venv and takes a DGX-1 from its description to checked numbers
#   make test   installs into .venv and runs every gate
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test nightly docs lint install clean

# The stamps say which of the two installs is there: the product alone, or with the developers' tools.
$(VENV)/product: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/developer: $(VENV)/product
	$(BIN)/python -m pip install --quiet --group dev
	touch $@

install: $(VENV)/product

demo: $(VENV)/product
	$(BIN)/roundelay run examples/dgx1.rly

lint: $(VENV)/developer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest -n auto --dist worksteal -m 'not slow and not nightly'
	$(BIN)/pytest -n auto --dist worksteal -m slow

# Hours of fuzzing in the place of minutes.
nightly: $(VENV)/developer
	$(BIN)/pytest -m nightly

docs: $(VENV)/product
	$(BIN)/python docs/generate_language.py
	$(BIN)/python docs/generate_tutorial.py

clean:
	rm -rf $(VENV) build dist *.egg-info
