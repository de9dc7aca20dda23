# Two commands matter: `make demo` and `make test`. Both start from a fresh clone and need no root.

VENV := .venv
BIN := $(VENV)/bin
QSIM := $(BIN)/qsim
# Two workers, each with whole modules. One: PYTEST_FLAGS="-n 0".
PYTEST_FLAGS ?=
# How many changes, and where: MUTANTS="50 qsim/analytic".
MUTANTS ?= 200

# Beside a change of pyproject.toml, a checkout that was moved or a Python that is gone means installing again.
ifneq ($(shell $(BIN)/python -c '' 2>/dev/null && cat $(VENV)/.home 2>/dev/null),$(shell pwd -P))
STALE := stale
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(VENV)/.installed ## Install qsim here and let it measure, predict and check this machine (a minute or two)
	$(QSIM) demo

.PHONY: test
test: $(VENV)/.installed-test ## Install what the tests need and run them (what measures or drives a browser: make test-all)
	$(MAKE) --no-print-directory --jobs=2 lint pytest  # types take one processor for a minute

.PHONY: pytest
pytest: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n 2 --dist loadscope -m "not slow" $(PYTEST_FLAGS)

.PHONY: test-all
test-all: test ## Run the tests, then the slow ones: on this machine's devices, in a browser, notebooks
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m slow $(PYTEST_FLAGS)

.PHONY: test-tools
test-tools: $(VENV)/.installed-test ## Run only the slow tests and those that need fio, nbdkit or a browser
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "slow or tools" $(PYTEST_FLAGS)

.PHONY: lint
lint: $(VENV)/.installed-test ## Check style, types, the direction of imports and the references
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/regenerate.py --check

.PHONY: format
format: $(VENV)/.installed-test ## Format the code
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

.PHONY: docs
docs: $(VENV)/.installed ## Write the generated parts of README and docs anew
	$(BIN)/python docs/regenerate.py

.PHONY: site
site: $(VENV)/.installed-test ## Build the pages as a site in build/site, without a network
	$(BIN)/python -m sphinx -q -W --keep-going docs build/site
	@echo "open build/site/index.html"

.PHONY: slides
slides: $(VENV)/.installed-test ## Make slides of the tutorials, explanations and theory in build/slides (PDFs by Chromium)
	$(BIN)/python -m sphinx -q -W --keep-going -b revealjs -t slides docs build/slides
	cd docs && ../$(BIN)/python -m doctools.slides ../build/slides

.PHONY: release-check
release-check: $(VENV)/.installed-test ## Build the release, check it, and run its wheel's demo in a clean environment
	.ci/release-check $(BIN)/python

.PHONY: mutants
mutants: $(VENV)/.installed-test ## Make 200 small changes in the code, one at a time, and list those that no test notices (an hour or more)
	$(BIN)/python -m pip install --quiet --prefer-binary --editable '.[mutants]'
	$(BIN)/python tests/mutants.py $(MUTANTS)

.PHONY: clean
clean: ## Remove the environment and what tools left behind
	rm -rf $(VENV) $(VENV).log build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.installed: pyproject.toml .ci/bootstrap $(STALE)
	@sh .ci/bootstrap $(VENV)
	@touch $@

$(VENV)/.installed-test: pyproject.toml .ci/bootstrap $(STALE)
	@sh .ci/bootstrap $(VENV) test
	@touch $(VENV)/.installed $@

.PHONY: stale
stale:
