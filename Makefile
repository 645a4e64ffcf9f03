.DEFAULT_GOAL := help
.PHONY: help archive demo test test-programs test-quick test-java test-connect test-spark test-oldest-spark test-catalogs test-cluster faults orchestrators check lint format types layers reference docs docs-serve bench bench-full lock clean

VENV ?= .venv
export DAYBOOK_VENV := $(VENV)
RUN := $(VENV)/bin
# Every process that tests start would compile every module again.
unexport PYTHONDONTWRITEBYTECODE
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## run a month-end close on generated data, then build its quarter
	@tools/environment run
	@$(RUN)/daybook demo build/daybook-demo

# Runs with the oldest Spark, computed again with the locked one.
OTHER_VERSIONS := e2e/test_versions.py
# What is not imported need not be collected: half of the folders have nothing for the other half's markers.
PYTEST := tools/in_memory $(RUN)/python -m pytest --dist worksteal -q --skipped-to=build/skipped-tests $(PYTEST_FLAGS)
# Two more than cores: they often wait for processes that start and end, for servers and disks.
WORKERS_WITH_JAVA := $(shell expr $(CORES) + 2)
WITHOUT_JAVA := -m "not spark and not slow" $(addprefix --ignore=tests/,spark e2e faults cluster)
WITH_JAVA := -m "spark and not cluster and not slow" $(addprefix --ignore=tests/,unit golden cluster $(OTHER_VERSIONS))

test: test-programs test-quick test-java ## run the tests; faults and races bounded
	@sort build/skipped-tests | uniq -c | awk '{n += $$1; count = $$1; $$1 = ""; reasons = reasons ";" $$0 " (" count ")"} \
	  END {print n ? n " tests were skipped:" substr(reasons, 2) : "no test was skipped"}'

test-programs: ## install the programs and Java libraries that tests drive, as far as they can be had here
	@mkdir -p build && : >build/skipped-tests
	@tools/programs chromium soffice
	@tools/azurite
	@tools/jars postgresql hadoop-aws

test-quick: ## run the tests that need no Java virtual machine
	@tools/environment dev
	@mkdir -p build
	@$(PYTEST) -n $(CORES) $(WITHOUT_JAVA)

test-java: archive ## run the tests that need a Java virtual machine
	@$(PYTEST) -n $(WORKERS_WITH_JAVA) --share-java $(WITH_JAVA)

archive: ## make the class-data archive by which Java starts quicker
	@tools/environment dev
	-@$(RUN)/python -m daybook.engine.java.build_archive

test-connect: ## run the Spark tests through Spark Connect
	@tools/environment dev
	@$(RUN)/python -m pytest tests/spark --connect -q

# Older clients leave it to the garbage collector to close sockets, which our tests take for a mistake.
SPARK ?= 4.0
OTHER_SPARK := build/spark-$(SPARK)/bin/python -m pytest -q -m "spark and not slow" \
	-W "ignore:unclosed <socket:ResourceWarning" -W ignore::pytest.PytestUnraisableExceptionWarning
SPARK_TESTS := tests/spark/engine tests/spark/runs tests/spark/scenarios
test-spark: ## run the tests of the engine, of runs and of scenarios with another Spark: SPARK=4.0
	@tools/spark_environment $(SPARK)
	@tools/in_memory $(OTHER_SPARK) -n $(WORKERS_WITH_JAVA) --share-java $(SPARK_TESTS)
	@tools/in_memory $(OTHER_SPARK) --connect tests/spark/engine tests/spark/runs

# The operations alone, and runs computed again across versions: what a change is most likely to break.
OLDEST_SPARK_TESTS := $(addprefix tests/spark/engine/test_,aggregate.py append.py identity.py join.py loading.py output.py update.py window.py)
test-oldest-spark: ## run a short form of the tests with the oldest Spark, and replay runs across versions
	@tools/spark_environment 4.0
	@tools/in_memory $(subst $(SPARK),4.0,$(OTHER_SPARK)) -n $(CORES) --share-java $(OLDEST_SPARK_TESTS)
	@tools/in_memory $(RUN)/python -m pytest -q -m spark -n 2 tests/$(OTHER_VERSIONS)

# Each worker has a Java process of its own: catalogs belong to the process, and a test empties its schemas.
CATALOG_TESTS := tests/spark/io $(addprefix tests/spark/runs/test_,tables_by_name.py state_in_schema.py nothing_shared.py) \
  tests/spark/objects/test_rest_catalog_by_name.py
test-catalogs: ## run the tests of tables by name on Delta and Iceberg in Spark 4.0, also with a server of another user
	@tools/spark_environment 4.0
	@tools/jars delta iceberg iceberg-aws
	@tools/in_memory build/spark-4.0/bin/python -m pytest -q -m spark -n $(CORES) $(PYTEST_FLAGS) \
	  -W "ignore:unclosed <socket:ResourceWarning" -W ignore::pytest.PytestUnraisableExceptionWarning \
	  -k "catalog- or interop or tables_by_name or state_in_schema or nothing_shared or by_name" $(CATALOG_TESTS)

test-cluster: ## run the engine's tests and a small close on a real Spark cluster, and kill its executors
	@tools/environment dev
	@$(RUN)/python -m pytest tests/cluster -q
	@$(RUN)/python -m benchmarks.cluster -- $(RUN)/python -m pytest tests/spark/engine -q

faults: ## the long campaign: all that is slow, and processes killed at the worst moments
	@tools/environment dev
	@$(RUN)/python -m pytest -m "slow and not faults" -q
	@DAYBOOK_FAULTS=long $(RUN)/python -m pytest -m faults -q
	@DAYBOOK_FAULTS=long $(RUN)/python -m pytest -m "hypothesis and not faults" -n $(CORES) -q

# Each brings a hundred packages along that fit nothing else.
orchestrators: ## build with the Dagster job and read the Airflow DAG of the examples
	@tools/environment dev
	@for name in dagster apache-airflow; do \
	  test -e build/$$name/installed || { $(RUN)/python -m venv build/$$name && build/$$name/bin/python -m pip install -q $$name \
	  && touch build/$$name/installed; } || exit 1; done
	@DAYBOOK_TEST_DAGSTER=$(CURDIR)/build/dagster/bin/python DAYBOOK_TEST_AIRFLOW=$(CURDIR)/build/apache-airflow/bin/python \
	  $(RUN)/python -m pytest -q tests/unit/docs/test_examples.py tests/spark/graph/test_examples.py

check: lint types layers ## lint, formatting, types and import rules

lint: ## ruff: lint and formatting
	@tools/environment dev
	@$(RUN)/ruff check .
	@$(RUN)/ruff format --check .

format: ## rewrite the code in the house's format
	@tools/environment dev
	@$(RUN)/ruff check --fix .
	@$(RUN)/ruff format .

types: ## mypy, strict
	@tools/environment dev
	@$(RUN)/mypy

layers: ## import-linter: who may import whom
	@tools/environment dev
	@$(RUN)/lint-imports

reference: ## write the generated pages of the documentation and the JSON Schemas again
	@tools/environment dev
	@$(RUN)/python -m tools.reference
	@$(RUN)/daybook schema --out schemas --quiet

docs: ## build the documentation; a broken link fails
	@tools/environment docs
	@NO_MKDOCS_2_WARNING=1 $(RUN)/python -m mkdocs build --strict --quiet

docs-serve: ## show the documentation while writing it
	@tools/environment docs
	@NO_MKDOCS_2_WARNING=1 $(RUN)/python -m mkdocs serve

bench: ## measure, in a few minutes
	@tools/environment dev
	@$(RUN)/python -m benchmarks

bench-full: ## measure at full size
	@tools/environment dev
	@$(RUN)/python -m benchmarks --full

COMPILE = $(RUN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command "make lock" --constraints requirements/limits.in --extra spark --group build
lock: ## pin the dependencies again; LOCK_FLAGS=--upgrade for newer ones
	@test -x $(RUN)/uv || tools/environment dev
	@$(COMPILE) $(LOCK_FLAGS) --output-file requirements/run.txt
	@$(COMPILE) $(LOCK_FLAGS) --constraints requirements/run.txt --group dev --output-file requirements/dev.txt
	@$(COMPILE) $(LOCK_FLAGS) --constraints requirements/run.txt --group docs --output-file requirements/docs.txt

clean: ## remove what the tools left behind
	@rm -rf build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis spark-warehouse
