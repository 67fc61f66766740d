# Every target sets up what it needs: a virtual environment in .venv, made anew when pyproject.toml changes.
#   make demo   trains the digits classifier and writes demo.svg
#   make bench  runs the benchmarks beside other libraries and C; writes benchmarks/results/ (as much as two hours);
#               ROWS picks rows, MINUTES stops it after so many
#   make docs   writes the documentation to docs/_build/html; warnings are errors
#   make release  builds a wheel and a source archive and tries them out as a user would; CONTRIBUTING.md says how
#   make test      runs a sample of the tests, every feature touched, in a few minutes; SEED=... draws the same sample again,
#                  SHARE=0.5 one of half of the cases of each test
#   make test-all  runs all tests and doctests
#   make test-packages  adopts packages of NumPy code (tests/packages), which it installs in an environment of their own
#   make test-autograd  runs HIPS/autograd's own test suite, from its source distribution, on wengert.compat.autograd
#   make test-dependents  runs typical uses of packages that depend on autograd (tests/compat), in an environment of their own
#   make test-tasks  runs functions as tasks of Dask and Ray, on two processes, in an environment of their own
#   make test-emulated CPU=aarch64  runs a sample of the native engine's tests under qemu; Nehalem: an x86-64 without AVX
#   make torture   runs damaged files, calls without memory, forks and kills at length (tests/torture); SEED=... COUNT=... SECONDS=...
#   make fuzz      runs random programs until it is stopped (tests/fuzz); SECONDS=... SEED=... CLASSES=arrays,regions
# Both tests take ENGINES=numpy,python, which picks the engines that tests run on; ENGINES=all installs and tests all of them.
# TESTS=tests/engines runs those of a folder or file; VENV=... names another environment.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: bench demo docs fuzz release test test-all test-autograd test-emulated test-dependents test-packages test-tasks torture lint types clean

demo: $(VENV)/.installed
	$(BIN)/wengert demo

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/$(if $(ROWS),run.py $(ROWS),page.py $(if $(MINUTES),--minutes $(MINUTES)))

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --jobs 2 docs docs/_build/html

# The frameworks that are asked for by name, or by "all"; without ENGINES their tests are skipped.
FRAMEWORKS := jax tensorflow torch
# a release of which there is a build for CPUs only; with it, the extra asks for nothing more
RELEASE_torch := torch==2.13.0
comma := ,
WANTED = $(if $(filter all,$(ENGINES)),$(FRAMEWORKS),$(filter $(FRAMEWORKS),$(subst $(comma), ,$(ENGINES))))

TESTED = $(VENV)/.installed-dev $(WANTED:%=$(VENV)/.installed-%)
PYTEST = $(if $(ENGINES),WENGERT_TEST_ENGINES="$(ENGINES)" )$(BIN)/python -m pytest -n $(WORKERS)
WORKERS ?= 2

test: $(TESTED)
	$(PYTEST) --sample=$(or $(SEED),drawn) $(if $(SHARE),--share=$(SHARE)) $(TESTS) $(OPTIONS)

test-all: $(TESTED)
	$(PYTEST) $(TESTS)

# one by one, without what they require: some ask for releases of NumPy that are long gone, and work with ours
test-packages:
	$(PYTHON) -m venv $(VENV)-packages
	$(VENV)-packages/bin/python -m pip install --quiet --editable '.[dev]'
	$(VENV)-packages/bin/python -m pip install --quiet --no-deps --requirement tests/packages/requirements.txt
	$(VENV)-packages/bin/python -m pip install --quiet pandas pint scikit-learn xarray
	$(VENV)-packages/bin/python -m pytest tests/packages tests/test_neighbours.py

# Its tests of NumPy's ufuncs beside xarray's arrays need xarray. The two tests left out expect what we do differentiate to be
# refused: the real transform of an odd number of elements, and a function that writes to its argument.
AUTOGRAD := autograd-1.9.1
test-autograd: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet scipy xarray
	$(BIN)/python -m pip download --quiet --no-deps --no-binary :all: --dest $(VENV)/$(AUTOGRAD) autograd==1.9.1
	tar -xzf $(VENV)/$(AUTOGRAD)/$(AUTOGRAD).tar.gz -C $(VENV)/$(AUTOGRAD)
	cd $(VENV)/$(AUTOGRAD)/$(AUTOGRAD)/tests && $(abspath $(BIN))/python -m wengert.compat.autograd -m pytest -q \
		-p no:xdist -c /dev/null --rootdir=. --deselect test_fft.py::test_rfftn_odd_not_implemented \
		--deselect test_graphs.py::test_assignment_raises_error

# packages that depend on autograd, each a program in tests/compat/test_dependents.py
test-dependents:
	$(PYTHON) -m venv $(VENV)-dependents
	$(VENV)-dependents/bin/python -m pip install --quiet --editable '.[dev]' --requirement tests/compat/requirements.txt
	$(VENV)-dependents/bin/python -m pytest tests/compat/test_dependents.py

# functions as tasks of Dask and Ray, each on two processes
test-tasks:
	$(PYTHON) -m venv $(VENV)-tasks
	$(VENV)-tasks/bin/python -m pip install --quiet --editable '.[dev]' distributed ray
	$(VENV)-tasks/bin/python -m pytest tests/test_tasks.py tests/programs/test_pickling.py \
		tests/engines/jax/test_many_machines.py

test-emulated: $(VENV)/.installed-dev
	$(BIN)/python tools/emulated.py $(or $(CPU),aarch64)

fuzz: $(TESTED)
	$(if $(ENGINES),WENGERT_TEST_ENGINES="$(ENGINES)" )$(BIN)/python -m tests.fuzz $(if $(SEED),--seed $(SEED)) \
		$(if $(CLASSES),--classes $(CLASSES)) $(if $(SECONDS),--seconds $(SECONDS)) $(FUZZ)

torture: $(VENV)/.installed-dev
	$(BIN)/python -m tests.torture all $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) \
		$(if $(SECONDS),--seconds $(SECONDS))

release: $(VENV)/.installed-release
	$(BIN)/python -m tools.release $(RELEASE_torch)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The engines of the frameworks are nothing without their types: they are checked where all are asked for, and installed.
types: $(TESTED)
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(if $(filter all,$(ENGINES)),$(BIN)/pyright --project pyright_frameworks.json --pythonpath $(BIN)/python)

clean:
	rm -rf $(VENV) dist docs/_build docs/_generated docs/ops docs/primitives

# The stamps are written last, so that an install that was cut off is done again.
$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet $(RELEASE_torch) --editable '.[bench]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-release: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	touch $@ $(VENV)/.installed

$(FRAMEWORKS:%=$(VENV)/.installed-%): $(VENV)/.installed-%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet $(RELEASE_$*) --editable '.[$*]'
	touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Wengert needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
