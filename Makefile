# The commands of this project. Each sets up what it needs: Python 3.11 or later and make are enough to start with.

PYTHON  ?= python3
OUT     ?= urls.jsonl
SCRAPYD ?= http://localhost:6800/
VENV    := .venv
BIN     := $(VENV)/bin

# Values given on the command line reach the shell through the environment, so that a URL may hold &, ? and quotes.
export URL OUT SCRAPYD

.DEFAULT_GOAL := help
.PHONY: help venv crawl test check bench deploy clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-7s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo '  make crawl URL=https://example.com/robots.txt OUT=pages.csv ARGS="-a strict=true -a errors=errors.jsonl"'
	@echo '  make test ARGS="-k gzip -x"'
	@echo '  make bench FULL=1'
	@echo '  make deploy SCRAPYD=http://scrapyd.example.com:6800/'

venv: $(VENV)/.test ## Create .venv with the project and what its tests need

crawl: $(VENV)/.run ## Crawl URL= into OUT= (urls.jsonl); without URL= the example site that comes along
	@if [ -n "$$URL" ]; then \
		exec $(BIN)/python -m scrapy crawl sitemap -a url="$$URL" -O "$$OUT" $(ARGS); \
	else \
		exec $(BIN)/python example/crawl.py "$$OUT" $(ARGS); \
	fi

test: $(VENV)/.test ## Run the tests; ARGS= goes to pytest
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal $(ARGS)

check: $(VENV)/.dev ## Lint, formatting and types
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	$(BIN)/python -m mypy

bench: $(VENV)/.test .venv-bench/.bench ## Measure speed and memory beside other programs; FULL=1 for the full size
	$(BIN)/python -m benchmarks.run $(if $(FULL),--full) $(ARGS)

deploy: $(VENV)/.deploy ## Bring the project to the Scrapyd at SCRAPYD=; to several, where it names several
	@version=$$(date +%s); for url in $$SCRAPYD; do \
		SCRAPYD="$${url%/}/" $(BIN)/python -m scrapyd_client.deploy make --version "$$version" || exit; \
	done

clean: ## Remove what the other targets made, except what was crawled
	rm -rf $(VENV) .venv-bench build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps. A virtual environment is made anew only where there is none that works.

$(VENV)/.run: pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.12 ...")'
	@echo 'Setting up $(VENV), which takes half a minute the first time' >&2
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.run
	@echo 'Installing what the tests need' >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

$(VENV)/.dev: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(VENV)/.deploy: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[deploy]'
	@touch $@

# The programs that we are measured against have an environment of their own, and do without what cannot be installed.
.venv-bench/.bench: pyproject.toml
	@.venv-bench/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv-bench
	@$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["bench"], sep="\n")' \
	| while read -r peer; do \
		echo "Installing $$peer into .venv-bench"; \
		.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check "$$peer" || echo "Not installed: $$peer" >&2; \
	done
	@touch $@
