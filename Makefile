# Every target prepares .venv by itself: all it takes is make and a python3 of 3.10 or newer.
#   make test ARGS="-k registry"      arguments go through to the tool behind a target
#   make test PYTHON=python3.13       another interpreter (for a new .venv)

.DEFAULT_GOAL := help
ARGS ?=
HOURS ?= 1
KILLS ?= 200
WORKERS ?= 2
SHARED ?= ../shared

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs
# What Python compiled is kept, whatever the shell says: workers and commands would compile all of src again.
TESTED := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1
NEEDS := pyproject.toml constraints.txt src/core/version.py
INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt
CHECKED := src tests benchmarks examples
EXAMPLES := 02_act_with_an_old_policy.py 04_adapt_to_a_new_environment.py 08_run_an_exported_policy.py \
	11_learn_from_old_samples.py

# `python3` if it is new enough, else the newest named one that is. Looked up only when needed.
find_python = for python in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
	$$python -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null \
	&& echo $$python && break; done
PYTHON ?= $(shell $(find_python))

# A .venv says where it was made: one that was moved, or lost its python, is made again.
MADE_IN := $(VENV)/.made-in
ifneq ($(shell test -x $(PY) && cat $(MADE_IN) 2>/dev/null),$(CURDIR))
$(STAMP): broken-venv
endif

.PHONY: help demo examples extras site story test coverage mutate apart house lint types stubs matrix conformance parity offline ratio ray bench docs fuzz slots kills threads walk clean broken-venv
broken-venv: ;

# The stamp is written last, so an interrupted installation is picked up by the next call.
$(STAMP): $(NEEDS)
	@test -n "$(PYTHON)" || { echo "rlconnect needs python3 of 3.10 or newer with venv." >&2; exit 2; }
	@rm -f $(STAMP) $(DOCS_STAMP)
	@test "$$(cat $(MADE_IN) 2>/dev/null)" = "$(CURDIR)" && $(PY) -c 'import pip' 2>/dev/null \
		|| { echo "making $(VENV) with $(PYTHON)"; $(PYTHON) -m venv --clear $(VENV) \
		&& echo "$(CURDIR)" > $(MADE_IN); }
	@echo "installing rlconnect and its tools into $(VENV) (once)"
	@$(INSTALL) -e '.[dev]'
	@touch $@

$(DOCS_STAMP): $(STAMP)
	@$(INSTALL) -e '.[dev,docs]'
	@touch $@

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

demo: $(STAMP)  ## inspect, act, adapt, migrate, prove: the whole story on a sample
	@$(PY) examples/demo.py

examples: $(STAMP)  ## run an example of each kind: load, adapt, export, learn; `make test` runs all of them
	@set -e; for each in $(EXAMPLES); do echo "examples/$$each"; $(PY) examples/$$each > /dev/null; done

extras: site  ## run the tests of every extra, in build/extras with all of them installed
	@$(TESTED) $(PY) -m tests.house.extras

story: $(STAMP)  ## the case study: adapt, graft, teach, train on, export, serve (minutes)
	@nice $(PY) examples/story/story.py $(ARGS)

test: $(STAMP)  ## run the test suite
	@$(TESTED) $(PY) -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

coverage: $(STAMP)  ## run the test suite, tell which lines and branches nothing ran, hold the floor
	@$(TESTED) $(PY) -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report=term $(ARGS)

mutate: $(STAMP)  ## put 60 mistakes into src, one at a time, and tell which the tests miss
	@$(PY) -m tests.house.mutate $(ARGS)

apart: $(STAMP)  ## delete bridge and all above it in a copy, and run the tests of core, legacy and v2
	@$(PY) -m tests.house.apart $(ARGS)

house: $(STAMP)  ## measure the house: lines, long files, circles, floors, private reaches
	@$(PY) -m tests.house.measures

lint: $(STAMP)  ## check style and formatting
	@$(BIN)/ruff check $(wildcard $(CHECKED))
	@$(BIN)/ruff format --check $(wildcard $(CHECKED))

types: $(STAMP)  ## check types, strictly
	@$(BIN)/mypy src

# The scoreboards lie beside the repository, read-only, on the machines that keep them.
# $(call scoreboard,folder to run in,script,arguments)
define scoreboard
	@if [ -f $(SHARED)/$(1)/$(2) ]; then \
		python="$$PWD/$(PY)"; mkdir -p build; out="$$PWD/build"; cd $(SHARED)/$(1) && \
		PYTHONDONTWRITEBYTECODE=1 RLC_PYTHON="$$python" "$$python" $(2) $(3) $(ARGS); \
	else echo "the shared scoreboard $(SHARED)/$(1)/$(2) is not here; nothing to do."; fi
endef

stubs: $(STAMP)  ## write what type checkers and editors read of the tables of names
	@$(PY) -m tests.typing.stubs

conformance: $(STAMP)  ## score the new stack against recorded RLlib behaviour
	$(call scoreboard,conformance/v2,compare.py)

parity: $(STAMP)  ## score the old stack against recorded RLlib behaviour
	$(call scoreboard,reference/legacy,parity.py)

offline: $(STAMP)  ## score the readers of recorded data against what Ray held when it wrote
	$(call scoreboard,reference/offline,replay.py)

matrix:  ## install, test and exchange checkpoints in every promised installation (slow)
	@$(or $(PYTHON),python3) tests/matrix/cells.py $(ARGS)

ratio: $(STAMP)  ## time rlconnect against Ray (RLC_RAY_PYTHON=a python that has Ray)
	$(call scoreboard,perf,ratio.py,--json "$$out/ratio.json")

ray: $(STAMP)  ## load every recorded policy in a real Ray (RLC_RAY_PYTHON=a python that has Ray)
	@OMP_NUM_THREADS=1 $(PY) -m tests.bridge.migrate.ray_table $(wildcard $(SHARED)/reference/legacy) $(ARGS)

bench: $(STAMP)  ## what we cost, as table and chart, and what became slower (RLC_RAY_PYTHON=a python that has Ray, AGAINST=revision)
	@nice $(PY) benchmarks/table.py $(ARGS)
	@nice $(PY) benchmarks/regressions.py $(if $(AGAINST),--against $(AGAINST))

site: $(DOCS_STAMP)  ## build the documentation into site/; `make test` checks it there
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict $(ARGS)

docs: site  ## build the documentation into site/, and check it
	@$(PY) -m pytest tests/docs/test_built.py tests/docs/test_excerpts.py
	@$(PY) -m tests.docs.contrast

fuzz: $(STAMP)  ## attack every loader and setter of state for HOURS (default 1)
	@$(PY) -m $(if $(GUIDED),tests.fuzz.coverage_guided,tests.fuzz --hours $(HOURS)) $(ARGS)

slots: $(STAMP)  ## put every gadget into every slot of every file; ARGS="--count 500" draws some
	@PYTHONPATH=. OMP_NUM_THREADS=1 $(PY) -m tests.trust.every_slot $(ARGS)

kills: $(STAMP)  ## kill saves of every kind, KILLS times each (default 200), and cut the power
	@PYTHONPATH=. OMP_NUM_THREADS=1 $(PY) -m tests.kill.kill --kills $(KILLS) --power 2 $(ARGS)

threads: $(STAMP)  ## share every recorded policy among 16 threads (ARGS="--seconds 0.5": quicker)
	@$(PY) tests/threads/stress.py tests/golden $(wildcard $(SHARED)/reference/legacy) $(ARGS)

walk: $(STAMP)  ## take every checkpoint the whole way: load, act, adapt, migrate, verify, export, save, commands
	@OMP_NUM_THREADS=1 $(PY) -m tests.walk.walk tests/golden $(wildcard $(SHARED)/reference/legacy) $(ARGS)

clean:  ## remove what was built and cached; .venv stays
	@rm -rf build dist site .coverage* *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
