# XStreamCast. `make demo` and `make test` set up what they need on first use; later runs start at once.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Commands that the tests start take modules that are compiled already, whatever the shell says about keeping those.
unexport PYTHONDONTWRITEBYTECODE

# Java is there; once for each environment, kernels are compiled and Spark's classes kept as Java has loaded them.
WARM = $(BIN)/python -m xstreamcast.spark.java >/dev/null || exit 1; \
	ls $(VENV)/share/xstreamcast/spark-classes-* >/dev/null 2>&1 || echo "Preparing Spark, once: about half a minute …"; \
	$(BIN)/python -m xstreamcast.native & compiling=$$!; \
	$(BIN)/python -m xstreamcast.spark.class_archive >$(VENV)/spark-classes.log 2>&1 \
	|| { cat $(VENV)/spark-classes.log; wait $$compiling; exit 1; }; \
	wait $$compiling

.DEFAULT_GOAL := help
.PHONY: help demo cluster-demo test test-console test-kafka compat law lint bench qt3 docs wheel clean

help:            ## this text
	@echo "make demo    the main job: a bank publishes to a server, Spark keeps alerts right, a process is killed in the"
	@echo "             middle, the law is checked; ends by itself (CONSOLE=1: in the browser too)"
	@echo "make cluster-demo   a query on a Spark cluster of three processes on this machine"
	@echo "make test    all tests"
	@echo "make test-console   the console in a real browser, with screenshots; said loudly where there is none"
	@echo "make test-kafka   topics of a real Kafka broker; said loudly where Maven does not give one"
	@echo "make compat  the tests that matter on every Spark that is supported, each in an environment of its own (SPARK=4.1)"
	@echo "make law     the law on thousands of random streams, Saxon at every prefix; of columns at length (N=how many)"
	@echo "make lint    ruff, the format of the code, mypy --strict; tests, bench and tools too"
	@echo "make bench   figures, beside other tools in the same run (ARGS=--quick: a tenth of the size)"
	@echo "make qt3     scores on the W3C suite: QT3=folder of the suite, RUNNER=its runner"
	@echo "make docs    the documentation site, in site/"
	@echo "make wheel   the package as a wheel in dist/, with the kernels' code for machines such as this"
	@echo "make clean   remove the environment and caches"

demo: $(VENV)/.spark
	@$(WARM)
	@$(BIN)/xcast demo $(if $(CONSOLE),--console) $(ARGS)

test: $(VENV)/.spark $(VENV)/.test
	@$(WARM)
	$(BIN)/python -m pytest -n auto --dist loadgroup --no-loadscope-reorder --durations=25 $(ARGS)

test-console: $(VENV)/.spark $(VENV)/.test $(VENV)/.browser
	@$(BIN)/python tools/browser.py $(ARGS)

test-kafka: $(VENV)/.spark $(VENV)/.test $(VENV)/.kafka
	@$(BIN)/python -m xstreamcast.spark.java >/dev/null
	@$(BIN)/python tools/kafka.py $(ARGS)

compat:
	@$(PYTHON) tools/compat.py $(SPARK) $(if $(ARGS),-- $(ARGS))

cluster-demo: $(VENV)/.spark $(VENV)/auction.xml
	@$(BIN)/python -m xstreamcast.spark.java >/dev/null
	@$(BIN)/python -m xstreamcast.spark.cluster -- \
		$(BIN)/xcast query 'for $$i in /site/regions/*/item where $$i/quantity > 2 return $$i/name' $(VENV)/auction.xml \
		--lines --engine spark --master '{master}'

$(VENV)/auction.xml: $(VENV)/.spark
	@$(BIN)/xcast generate xmark --factor 0.1 -o $@

law: $(VENV)/.spark $(VENV)/.test
	$(BIN)/python tests/law --cases $(or $(N),5000) $(ARGS)
	$(BIN)/python tests/law --columns --cases $(or $(N),5000) $(ARGS)
	SEEDS_OF_A_RUN=3 LAW_ON_SPARK=24 XSTREAMCAST_RANDOM=5 $(BIN)/python -m pytest -n auto --dist loadgroup \
		tests/spark/test_motion_seeds.py tests/spark/test_motion_buckets_law.py tests/spark/test_equivalence.py \
		$$(grep -rl '^from budget import' tests --include='test_*.py')

lint: $(VENV)/.spark $(VENV)/.test $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/types_and_order.py

bench: $(VENV)/.spark $(VENV)/.test
	$(BIN)/python -m bench $(ARGS)

qt3: $(VENV)/.spark $(VENV)/.test
	$(BIN)/python tools/support.py $(QT3) $(or $(RUNNER),$(QT3)/runner.py)

docs: $(VENV)/.spark $(VENV)/.docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "the site is in site/: open site/index.html"

# Code that comes with the package is used where the processor and the versions of Numba and LLVM are the same.
wheel: $(VENV)/.spark $(VENV)/.test
	@rm -rf build dist xstreamcast/native/objects
	@$(BIN)/python -m xstreamcast.native xstreamcast/native/objects
	@$(BIN)/python -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	@ls dist

clean:
	rm -rf $(VENV) .compat build dist site xstreamcast/native/objects .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info

# One stamp per set of packages: made once, and again when pyproject.toml changes.
$(VENV)/.python:
	@$(PYTHON) tools/environment.py create $(VENV)
	@touch $@

$(VENV)/.spark: $(VENV)/.python pyproject.toml
	@$(BIN)/python tools/environment.py install spark,serve "the package with PySpark and the server: about 530 MB to load, 1.1 GB on disk"
	@touch $@

$(VENV)/.test: $(VENV)/.python pyproject.toml
	@$(BIN)/python tools/environment.py install test "what the tests need: about 130 MB to load, 400 MB on disk"
	@touch $@

$(VENV)/.docs: $(VENV)/.python pyproject.toml
	@$(BIN)/python tools/environment.py install docs "MkDocs and its theme: about 15 MB to load, 60 MB on disk"
	@touch $@

$(VENV)/.browser: $(VENV)/.python pyproject.toml
	@$(BIN)/python tools/environment.py install browser "what drives a browser: about 10 MB to load, 40 MB on disk"
	@touch $@

$(VENV)/.kafka: $(VENV)/.python pyproject.toml
	@$(BIN)/python tools/environment.py install kafka "a client of Kafka: about 5 MB to load, 15 MB on disk"
	@touch $@

$(VENV)/.lint: $(VENV)/.python pyproject.toml
	@$(BIN)/python tools/environment.py install lint "ruff and mypy: about 40 MB to load, 100 MB on disk"
	@touch $@
