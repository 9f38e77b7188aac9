# make run        open the window          make setup        only make everything that it needs
# make test       checks and tests         make test-all     the same with the slow tests
# make bench      speed on this machine    make bench-peers  side by side with other programs
# make lock       pin the packages anew    make clean        remove everything that was made here

PYTHON3 ?= python3
bin := .venv/bin
uv := .cache/uv/bin/uv

.PHONY: run setup test test-all checks bench bench-peers lock clean

run: setup
	@$(bin)/python -m app

setup:
	@$(PYTHON3) packaging/setup.py run

test: checks
	QT_QPA_PLATFORM=offscreen $(bin)/python -m pytest -m "not slow"

test-all: checks
	QT_QPA_PLATFORM=offscreen $(bin)/python -m pytest --cov --cov-report=json:.cache/coverage.json
	$(bin)/python tests/architecture/perfect.py .cache/coverage.json

checks:
	@$(PYTHON3) packaging/setup.py test
	$(bin)/ruff format --check .
	$(bin)/ruff check .
	$(bin)/lint-imports
	$(bin)/pyright

bench: setup
	@$(bin)/slipstream bench --all
	@$(bin)/python tests/bench/window.py 2> /dev/null
	@$(bin)/python tests/bench/ui_stream.py 2> /dev/null
	@$(bin)/python tests/bench/drafter.py
	@$(bin)/python tests/bench/laguna_overhead.py

bench-peers: setup
	@$(bin)/python tests/bench/peers.py

LOCK := --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-annotate --custom-compile-command "make lock"
lock:
	@test -x $(uv) || { $(PYTHON3) -m venv .cache/uv && .cache/uv/bin/pip install --quiet uv; }
	$(uv) pip compile pyproject.toml --extra build $(LOCK) \
		--output-file packaging/requirements.txt > /dev/null
	$(uv) pip compile pyproject.toml --extra build --extra dev $(LOCK) \
		--output-file packaging/requirements-dev.txt > /dev/null

clean:
	rm -rf .venv .cache .bench resources/starter dist build .coverage
	rm -rf .pytest_cache .ruff_cache .hypothesis .import_linter_cache .grimp_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
