# `make install` is all a checkout needs; `make check` is what CI runs.

VENV := .venv
BIN := $(VENV)/bin
PYTHON_NAMES := python3 python3.14 python3.13 python3.12 python3.11
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input install --quiet

# A virtual environment does not survive being copied or moved, so the name of its mark holds the folder.
MADE := $(VENV)/.made-$(shell pwd | cksum | cut -d' ' -f1)
RUN := $(VENV)/.run
DEV := $(VENV)/.dev
WARM := $(VENV)/.warm
KAFKA := $(VENV)/.kafka

# Tests start programs by the hundred, and none of them is to compile all sources anew.
unexport PYTHONDONTWRITEBYTECODE

LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url \
	--custom-compile-command 'make lock'

.PHONY: install dev demo test check format lint types imports docs nightly bench lock clean

install: $(RUN)

dev: $(DEV)

demo: install
	@$(BIN)/comity demo

# Before them Spark's classes are put into an archive, from which each of its many starts takes half the time.
# A process of tests has one session of Spark, which its files share; each wants two cores and two gigabytes, so there
# are few of them. Files of Spark come first, and many small ones last, so that no core is left without work.
# A cluster wants the machine for itself.
test: dev $(WARM) $(KAFKA)
	@status=0; \
	$(BIN)/python -m pytest -rs -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder \
		-m "not alone" || status=$$?; \
	$(BIN)/python -m pytest -rs -m alone tests || status=$$?; \
	exit $$status

check: lint types imports docs test

format: dev
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

lint: dev
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check

types: dev
	@$(BIN)/mypy

imports: dev
	@$(BIN)/lint-imports

# Generated pages say by themselves whether they still fit the code.
docs: dev
	@if [ -f docs/generate.py ]; then $(BIN)/python docs/generate.py --check; fi

nightly:
	@COMITY_PROFILE=nightly $(MAKE) --no-print-directory test

bench: dev
	@for file in benchmarks/[a-z]*.py; do \
		if grep -q '__main__' "$$file" && case "$$file" in *peers_*|*both_trees*) false;; esac; then echo "== $$file"; $(BIN)/python "$$file" || exit 1; fi; \
	done

# For maintainers, with uv: choose the versions anew.
lock:
	@$(LOCK) --group build --output-file requirements/build.txt
	@$(LOCK) pyproject.toml --output-file requirements/run.txt
	@$(LOCK) pyproject.toml --group dev --constraints requirements/run.txt --output-file requirements/dev.txt

clean:
	@rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(MADE):
	@set -e; found=; \
	for name in $(or $(PYTHON),$(PYTHON_NAMES)); do \
		if "$$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null; then found=$$name; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "Comity needs Python 3.11 to 3.14, and none of '$(or $(PYTHON),$(PYTHON_NAMES))' is one." >&2; \
		echo "Install one, or name it: make install PYTHON=/path/to/python3" >&2; exit 1; \
	fi; \
	if ! "$$found" -c 'import ensurepip, venv' 2>/dev/null; then \
		echo "$$found cannot make virtual environments: its modules venv and ensurepip are missing." >&2; \
		echo "On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$found" --version)"; \
	"$$found" -m venv --clear $(VENV)
	@touch $@

# Spark comes as a source package, so what builds it is installed first, from the lock as well.
$(RUN): $(MADE) requirements/build.txt requirements/build.cfg requirements/run.txt pyproject.toml
	@echo "Installing what Comity needs (the first time some 600 MB are fetched, mostly Spark)"
	@$(PIP) --require-hashes -r requirements/build.txt
	@DIST_EXTRA_CONFIG="$(CURDIR)/requirements/build.cfg" \
		$(PIP) --require-hashes --no-build-isolation --use-pep517 -r requirements/run.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): $(RUN) requirements/dev.txt
	@echo "Installing what its tests and checks need"
	@$(PIP) --require-hashes --no-build-isolation --use-pep517 -r requirements/dev.txt
	@touch $@

# The broker and Spark's connector, by Maven; where there is none, the tests that need them say so.
$(KAFKA): $(DEV) tests/kafka/broker.xml tests/kafka/connector.xml
	@$(BIN)/python -m tests.kafka.jars || echo "The tests of Kafka will try again."
	@touch $@

$(WARM): $(RUN)
	@$(BIN)/comity warm-up || echo "Spark starts as it did."
	@touch $@
