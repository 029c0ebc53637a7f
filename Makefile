# What a person types. Every target says what it does; `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STACKWRIGHT := $(BIN)/stackwright
# Two Pythons do not share an environment.
WHOSE := import sys; print(sys.base_prefix, sys.version)
PYTEST := $(BIN)/pytest
# Minutes that a ring may take; .ci/run sets tighter ones.
UNIT_MINUTES ?= 10
RUNTIME_MINUTES ?= 15
FUNCTIONAL_MINUTES ?= 30
CHARTS_MINUTES ?= 10
E2E_MINUTES ?= 30
# The parts of `make everything`; none means all.
PARTS ?=
CHAOS_MINUTES ?= 60

# Tests on an API server wait for it as much as they compute, so there are two workers for each core. Tests are handed out
# one by one, so that none has much left when the others are done; those that need a server of their own go to one worker.
WORKERS ?= $(shell echo $$((2 * $$(nproc))))
# The rings that take longest name what takes longest in them.
SLOWEST := --durations=15 --durations-min=5

# When their time is up, tests are interrupted as by Ctrl-C: they say what failed, and take down what they started.
INTERRUPT := timeout --foreground --signal=INT --kill-after=3m

.DEFAULT_GOAL := help
.PHONY: help up down setup binaries lint format unit runtime functional charts fast test e2e chaos mutants everything crds options package lock benchmarks clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

up: setup ## A Kubernetes on this machine with a cloud in it (needs root)
	@$(STACKWRIGHT) up --yes

down: setup ## End it, and remove everything that it made
	@$(STACKWRIGHT) down

setup: $(VENV)/installed ## Make the Python environment in .venv

$(VENV)/installed: requirements.lock pyproject.toml
	@echo "==> Python environment in $(VENV), of $$(command -v $(PYTHON))"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Stackwright needs Python 3.11 or newer; set PYTHON=/path/to/python3.11 (found: $$($(PYTHON) --version 2>&1))" >&2; exit 1; }
	@if [ "$$($(PYTHON) -c '$(WHOSE)')" != "$$($(BIN)/python3 -c '$(WHOSE)' 2>&1)" ]; then rm -rf $(VENV); fi
	@$(PYTHON) -m venv $(VENV) || { echo "python3 has no venv module; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

binaries: setup ## Get the Kubernetes binaries: named directory, cache, download or build
	@echo "==> Kubernetes binaries"
	@$(STACKWRIGHT) local binaries

lint: setup ## ruff, mypy strict, and the import contracts
	@echo "==> lint"
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: setup ## Format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

unit: setup ## Ring 1: pure functions
	@echo "==> ring 1: unit"
	@$(INTERRUPT) $(UNIT_MINUTES)m $(PYTEST) -q -n auto tests/unit

runtime: setup ## Ring 2: the Kubernetes runtime on a server that injects faults
	@echo "==> ring 2: runtime"
	@$(INTERRUPT) $(RUNTIME_MINUTES)m $(PYTEST) -q -n auto tests/runtime

# Without the binaries the tests say why they are skipped; in CI a skip is a failure.
functional: setup ## Ring 3: controllers on a real API server
	@echo "==> ring 3: functional"
	@$(MAKE) --no-print-directory binaries || [ -z "$$CI" ]
	@$(INTERRUPT) $(FUNCTIONAL_MINUTES)m $(PYTEST) -q $(SLOWEST) -n $(WORKERS) --dist=loadgroup tests/functional

# The built images are tried where they are built; CI builds them, a person may with `stackwright image build`.
charts: setup ## Ring 4: charts with the real helm, and the images
	@echo "==> ring 4: charts and images"
	@$(MAKE) --no-print-directory binaries || [ -z "$$CI" ]
	@[ -z "$$CI" ] || { $(STACKWRIGHT) image build --yes && $(STACKWRIGHT) image build --yes ansible-runner; }
	@$(INTERRUPT) $(CHARTS_MINUTES)m $(PYTEST) -q -n auto tests/charts tests/images

fast: lint unit runtime ## What to run all the time: lint and rings 1 and 2

test: lint unit runtime functional charts ## Everything that needs no running cluster: lint and rings 1 to 4

e2e: setup ## Ring 5: a real cluster on this machine with a whole cloud in it, brought up and taken down (needs root)
	@echo "==> ring 5: end to end"
	@$(MAKE) --no-print-directory binaries || [ -z "$$CI" ]
	@$(INTERRUPT) $(E2E_MINUTES)m $(PYTEST) -q $(SLOWEST) tests/e2e

chaos: setup ## What takes longer: three replicas, kills, loss of everything, fuzzed resources, an upgrade (needs root)
	@echo "==> chaos"
	@$(MAKE) --no-print-directory binaries || [ -z "$$CI" ]
	@$(INTERRUPT) $(CHAOS_MINUTES)m $(PYTEST) -q tests/chaos

# Each mutant is one wrong change of the product; the tests that it names have to fail of it.
mutants: setup ## Break the product in known ways, and see that a test notices each
	@echo "==> mutants"
	@$(MAKE) --no-print-directory binaries
	@$(BIN)/python -m tests.mutants

# Run it before an issue is called done: these parts take long and rarely break, so CI does not run them for each change.
everything: setup ## What CI does not run: all that takes long, part by part, with a summary at the end (needs root)
	@$(MAKE) --no-print-directory binaries
	@$(STACKWRIGHT) image build --yes
	@$(STACKWRIGHT) image build --yes ansible-runner
	@$(BIN)/python -m tests.everything $(PARTS)

crds: setup ## Write anew from the code: CRDs, permissions, the charts' blueprints and schemas, the reference pages
	@$(STACKWRIGHT) crds --write charts/stackwright/crds
	@$(BIN)/python -m stackwright.controllers.permissions charts/stackwright/files/permissions.yaml
	@$(BIN)/python -m stackwright.controllers.chart_files charts
	@$(BIN)/python -m stackwright.cli.reference docs/reference charts

options: setup ## List the options of the services anew, from the built image (needs root)
	@$(BIN)/python -m tests.images.write_options

package: setup ## Versioned packages of all charts, in dist/
	@$(STACKWRIGHT) local binaries helm
	@$(STACKWRIGHT) chart package --destination dist

lock: setup ## Pin anew what is not pinned yet: our own libraries, and those of the services' folders
	@$(BIN)/pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  --python-version 3.11 --extra dev pyproject.toml -o requirements.lock
	@grep -E '^[A-Za-z0-9]' requirements.lock | sed 's/ \\$$//' > $(VENV)/constraints.txt
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  --python-version 3.13 --constraint $(VENV)/constraints.txt pyproject.toml -o images/operator/requirements.txt
	@$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --no-annotate --python-version 3.13 \
	  --python-platform linux images/ansible-runner/packages.txt -o images/ansible-runner/requirements.txt
	@$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --no-annotate --python-version 3.13 \
	  --python-platform linux images/tempest/packages.txt -o images/tempest/requirements.txt
	@$(BIN)/python -m stackwright.local.images.locking

benchmarks: binaries ## Measure what we promise, beside what it is compared with
	@for program in benchmarks/[a-z]*.py; do echo "==> $$program"; $(BIN)/python $$program || exit 1; done

clean: ## Remove what these targets made in the checkout
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist *.egg-info
