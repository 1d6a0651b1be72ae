# Each target is one or two plain commands; README.md lists them for machines without make.
PYTHON ?= python3
BIN := .venv/bin
# The order is that of the files, and not of the numbers of tests that keep together. Five on two
# cores, because tests wait for a good part of their time: for a limit, a page, a worker of a class.
PYTEST := $(BIN)/python -m pytest -n 5 --dist loadgroup --no-loadscope-reorder

# Thousands of processes start in the tests: each reads what Python has compiled, wherever the
# environment forbids to write it.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help setup system-packages notebooks book page check lab grade test test-long test-gpu bench lint demo clean

help:            ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*##/\t/' | expand -t 14

# In JupyterLab: its news, and what nbgrader shows to those who make assignments.
UNWANTED := @jupyterlab/apputils-extension:announcements @jupyter/nbgrader

.NOTPARALLEL:    # system packages come before the environment, and the environment before its use

.venv/.ready: requirements.txt pyproject.toml
	@echo "Setting up .venv with the packages of requirements.txt: half a minute to five minutes, once"
	$(PYTHON) -m venv .venv
	$(BIN)/python .ci/install requirements.txt
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --config-settings editable_mode=compat --editable .
	for each in $(UNWANTED); do $(BIN)/jupyter labextension disable --level=sys_prefix $$each 2> /dev/null; done
	touch $@

.venv/.ready-tests: .venv/.ready requirements-tests.txt
	$(BIN)/python .ci/install requirements.txt requirements-tests.txt
	touch $@

setup: .venv/.ready  ## the environment, in .venv

system-packages:
	@PYTHON=$(PYTHON) .ci/system-packages

notebooks: setup  ## solutions/ -> notebooks/ and the learner's side of the checks
	$(BIN)/python -m autograder release

# The book's cache of executed pages does not notice when what they import or read changes.
_build/.executed: $(shell find solutions book -name "*.py") $(wildcard book/texts/* book/measured/*)
	rm -rf _build/.jupyter_cache
	mkdir -p _build
	touch $@

book: setup _build/.executed  ## the HTML book, from clean, warnings are errors
	$(BIN)/jupyter-book build --all -W --keep-going .

# `make page ch07` and `make page PAGE=ch07_layers` are the same.
ifeq ($(firstword $(MAKECMDGOALS)),page)
PAGE ?= $(word 2,$(MAKECMDGOALS))
$(filter-out page,$(MAKECMDGOALS)):
	@:
endif

page: setup _build/.executed  ## one page of the book alone: make page ch07
	$(BIN)/python -m autograder page $(PAGE)

check: .venv/.ready-tests  ## what concerns one thing: EXERCISE=softmax, ATTACK=fork_bomb or PAGE=ch07
	$(BIN)/python -m autograder check $(if $(EXERCISE),--exercise $(EXERCISE)) $(if $(ATTACK),--attack $(ATTACK)) $(if $(PAGE),--page $(PAGE))

lab: setup       ## your own copies in work/, opened in JupyterLab
	$(BIN)/python -m autograder work
	$(BIN)/jupyter lab --notebook-dir work

grade: setup     ## grade your own copies in work/
	$(BIN)/python -m autograder grade-work

demo: setup      ## everything once: notebooks, a translator trained, book, a sample class graded
	$(BIN)/python -m autograder demo

lint: .venv/.ready-tests  ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

test: system-packages lint  ## what must stay true
	$(PYTEST) -m "not long"

# Six parts, each meant to take less than an hour.
test-long: test-long-attacks test-long-grader test-long-book test-long-family test-long-course test-long-hub  ## the same, whole; each part alone: test-long-attacks, -grader, -book, -family, -course, -hub

ATTACKS := $(addprefix tests/autograder/grading/,test_attacks.py test_fuzz.py)
# Claims of chapter 13, which take as long as those of all other chapters together.
FAMILY := $(wildcard tests/book/test_family_*.py) tests/book/test_examine.py
test-long-attacks test-long-grader test-long-book test-long-family test-long-course test-long-hub: system-packages .venv/.ready-tests
test-long-attacks:
	$(PYTEST) $(ATTACKS)
test-long-grader:
	$(PYTEST) tests/autograder $(addprefix --ignore=,$(ATTACKS))
test-long-book:
	$(PYTEST) tests/book $(addprefix --ignore=,$(FAMILY))
test-long-family:
	$(PYTEST) $(FAMILY)
test-long-course:
	$(PYTEST) tests $(addprefix --ignore=tests/,autograder book hub)
test-long-hub:
	$(PYTEST) tests/hub

test-gpu: .venv/.ready-tests  ## what only a machine with a GPU can try
	$(BIN)/python -m pytest -m gpu tests/solutions tests/book

bench: setup     ## what grading and training cost, ours beside stock
	$(BIN)/python -m autograder bench
	$(BIN)/python -m solutions.translator.measure.bench
	$(BIN)/python -m book.experiments.cost.gpu_predictions

clean:           ## removes what is generated and not committed; never work/
	rm -rf _build autograder/submitted autograder/autograded autograder/feedback autograder/reports autograder/gradebook.db
