# Every target does its own set-up, from a bare checkout on Debian 12 or 13; docs/install.md says how.
.DEFAULT_GOAL := help
.PHONY: help demo test quick long setup lock clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: ## run agents on the built-in tasks, score every commit, write a report
	@started=$$(date +%s) && scripts/setup demo && \
	LOOPSCOPE_SETUP_SEC=$$(($$(date +%s) - started)) scripts/with-venv loopscope demo

test: ## every check: format, lint, types, all tests
	@scripts/setup test
	@scripts/with-venv scripts/check all

quick: ## the same without slow, sandbox and browser tests
	@scripts/setup test
	@scripts/with-venv scripts/check quick

long: ## only the tests that take minutes to hours: 2,000 kills, gigabytes of hostile output
	@scripts/setup test
	@scripts/with-venv scripts/check long

setup: ## only the set-up for all of the above
	@scripts/setup test

lock: ## renew scripts/constraints.txt, the versions that set-up installs
	@scripts/lock

clean: ## remove what set-up and checks made in this checkout
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} +
