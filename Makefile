# `make demo` and `make test` do all of their set-up: a virtual environment in the checkout, versions pinned.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
JOBS   ?= 2

EXTRAS := report,serve
SPARK  := $(EXTRAS),spark
SWEEP  := .build/demo

# A command with a sign of life every few seconds; what it prints itself, its exit code and ctrl-C pass through.
told = (for n in $$(seq 8 8 1800); do sleep 8; echo "  ... $$n s"; done) & ticks=$$!; \
	trap 'kill $$ticks 2>/dev/null; exit 130' INT TERM; \
	$(1); status=$$?; kill $$ticks 2>/dev/null; exit $$status

# Tests start many processes, each of which would compile every module anew; the caches are in .gitignore.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check lint types floors unit coverage coverage-all slow spark cross-checks hashes conformance conformance-walk interop interop-short migration peer-suites twins hostile walks bench docs site wheel clean

help:            ## this list
	@awk -F ':[^#]*## *' '/^[a-z-]+:[^#]*##/ { printf "%-14s %s\n", $$1, $$2 }' Makefile

$(VENV)/.runtime: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("groupsim needs Python 3.11 or newer; this is " + sys.version.split()[0] + " (try: make PYTHON=python3.12)") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) (once) ..."
	@$(call told,$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]')
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(VENV)/.spark: $(VENV)/.runtime
	@echo "installing Spark (once) ..."
	@$(call told,$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[$(SPARK)]')
	@touch $@

demo: $(VENV)/.runtime  ## replay a real incident, then sweep a rolling deploy on Spark
	@$(BIN)/groupsim run demo
	@echo
	@echo "One run shows what happened; which setting to choose takes many: a rolling deploy, 18 settings, 20 seeds each."
	@$(MAKE) --no-print-directory $(VENV)/.spark
	@rm -rf $(SWEEP)
	@$(BIN)/groupsim sweep rolling-deploy-small --out $(SWEEP)
	@$(BIN)/groupsim report $(SWEEP)

# The types, which take longest, beside the others; a make that can keeps what each prints together.
test: $(VENV)/.dev  ## everything CI runs: lint, types, floors, tests
	@$(MAKE) --no-print-directory -j$(JOBS) $(if $(filter output-sync,$(.FEATURES)),-O) check
	@$(MAKE) --no-print-directory unit

check: lint types floors  ## lint, types, floors: what needs no test

lint: $(VENV)/.dev  ## ruff, its format, the house's rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python tools/house_rules.py

types: $(VENV)/.dev  ## mypy --strict over the assembled package and the conformance suite
	@$(BIN)/python tools/assemble.py --links .build/links
	@$(BIN)/mypy -p groupsim
	@$(BIN)/mypy tests/conformance
	@$(BIN)/mypy tools/*.py

# Run inside the assembled tree: import-linter looks in the working directory first.
floors: $(VENV)/.dev  ## a room imports only from floors below it
	@$(BIN)/python tools/assemble.py .build/assembled
	@cd .build/assembled && $(CURDIR)/$(BIN)/lint-imports --no-logo --config $(CURDIR)/pyproject.toml

QUICK   := not slow and not interop
# Each worker has one half of the list and gives of it when the other has come to its end: what a module's tests share is
# made once, and no core is left alone.
HALVES  := -n $(JOBS) --dist worksteal
COVERED := protocol eventloop assignors coordinator members
ROOMS   := tests/assignors tests/coordinator tests/eventloop tests/members tests/protocol

unit: $(VENV)/.dev  ## the quick tests alone
	@$(BIN)/python -m pytest -q $(HALVES) -m '$(QUICK)'

# Not part of `test`: to be measured costs a test two and a half times what it costs by itself.
coverage: $(VENV)/.dev  ## coverage of the lower rooms by their own tests
	@$(BIN)/python -m pytest -q $(HALVES) -m '$(QUICK)' $(COVERED:%=--cov=%) --cov-report=term:skip-covered $(ROOMS)

coverage-all: $(VENV)/.dev  ## coverage of every room by every test; takes long
	@$(BIN)/python -m pytest -q $(HALVES) -m '$(QUICK)' --cov --cov-report=term:skip-covered

slow: $(VENV)/.dev  ## what `make test` leaves out for its length: spark, cross-checks, long forms of others
	@$(BIN)/python -m pytest -q $(HALVES) -m 'slow and not interop'

spark: $(VENV)/.dev  ## sweeps on clusters on loopback: standalone, Connect, killed executors; analyses, too
	@$(BIN)/python -m pytest -q -m slow tests/pipeline/sweep/spark/test_sweep_cluster.py tests/pipeline/sweep/spark/test_sweep_storages.py tests/pipeline/sweep/spark/test_spark_session.py

cross-checks: $(VENV)/.dev  ## published claims and the protocol's arithmetic, those that take long too
	@$(BIN)/python -m pytest -q -m 'slow or not slow' -n $(JOBS) tests/pipeline/test_cross_checks.py

hashes: $(VENV)/.dev  ## traces of every scene and experiment beside the recorded ones (HASHES="NAME --against ../other")
	@$(BIN)/python tools/trace_hashes.py --check $(HASHES)

conformance: $(VENV)/.dev  ## a real Kafka broker and `groupsim serve` are asked the same (CONFORMANCE="--short")
	@$(BIN)/python -m tests.conformance $(CONFORMANCE)

conformance-walk: $(VENV)/.dev  ## random walks on a real Kafka broker and on the core (WALK="--walks 2000 --first 1")
	@$(BIN)/python -m tests.conformance.walk $(WALK)

interop: $(VENV)/.dev  ## real clients in front of groupsim serve; GROUPSIM_INTEROP_PEER=kafka: of a real broker
	@peer=$${GROUPSIM_INTEROP_PEER:-groupsim}; rm -rf .build/interop/$$peer; \
	$(BIN)/python -m pytest -q -n $(JOBS) -m interop tests/interop tests/assignors/server; status=$$?; \
	$(BIN)/python tools/interop_table.py --peer $$peer && exit $$status

interop-short: $(VENV)/.dev  ## of these, what CI runs at every commit
	@$(BIN)/python -m pytest -q -n $(JOBS) -m interop_short tests/interop tests/twins tests/assignors/server

migration: $(VENV)/.dev  ## twenty real processes roll to the consumer protocol and back, and in virtual time (MIGRATION="--runs 1")
	@$(BIN)/python -m tests.interop.migration $(MIGRATION)

peer-suites: $(VENV)/.dev  ## group tests of franz-go, sarama, librdkafka and others (PEER_SUITES="sarama --write")
	@$(BIN)/python -m tests.peer_suites $(PEER_SUITES)

twins: $(VENV)/.dev  ## real clients play the stories that the simulated ones are compared with (TWINS="--client java")
	@$(BIN)/python -m tests.twins $(TWINS)

hostile: $(VENV)/.dev  ## a million hostile frames at a served broker, whose other clients must not notice (FRAMES)
	@$(BIN)/python -m benchmarks.hostile --frames $${FRAMES:-1000000}

walks: $(VENV)/.dev  ## three hundred random walks of a whole replicated cluster (WHOLE_WALKS, FIRST_WALK)
	@WHOLE_WALKS=$${WHOLE_WALKS:-300} $(BIN)/python -m pytest -q -n $(JOBS) tests/cluster/test_whole_walk.py

bench: $(VENV)/.dev  ## benchmarks, each beside its peer in the same run
	@$(BIN)/python -m benchmarks

MADE := refresh_titles refresh_api openapi_document cli_reference scenario_reference experiment_reference tables_reference versions_table defects_table invariants_table \
	draw_states draw_answers draw_pictures fidelity_pages export_rebalance compare_protocols refresh_log_lines refresh_readme

docs: $(VENV)/.dev  ## write every page again that is made from the code, but for those that take long
	@for tool in $(MADE); do echo "tools/$$tool.py"; $(BIN)/python tools/$$tool.py >/dev/null || exit 1; done

site: $(VENV)/.dev  ## the documentation site in .build/site, strictly: a broken link or anchor is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "site: .build/site/index.html"

wheel: $(VENV)/.dev  ## sdist and wheel in .build/dist, and the demo from the wheel in an environment of its own
	@rm -rf .build/dist .build/wheel-venv
	@$(BIN)/python -m build --outdir .build/dist . >/dev/null
	@$(BIN)/python -m venv .build/wheel-venv
	@.build/wheel-venv/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt .build/dist/*.whl
	@cd .build && wheel-venv/bin/groupsim run demo
	@ls .build/dist

clean:  ## remove what these targets made
	rm -rf $(VENV) .build build *.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache
