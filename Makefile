# The two commands of a newcomer are `make demo` and `make test`; `make help` names the rest. The steps themselves are in script/.
JOBS ?= $(shell nproc)
TESTS = ctest --preset $(1) --parallel $(JOBS) $(ARGS)

.PHONY: install wheel python build demo docs test test-all test-gpu bench debug asan tsan fuzz format format-check tidy setup clean help
.DEFAULT_GOAL := build

help:         ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 22

setup:        ## install what is missing: system packages, and torch once a user
	@script/setup

python: setup # what the Python package is built with
	@script/packages python
	@script/venv python >/dev/null

build: python ## build everything: the program at build/htfm, the Python package at build/python, the CUDA parts, the tests
	@script/build release

demo: setup   ## build, then run the demonstration (ARGS="-o DIR")
	@script/build release htfm
	build/htfm demo $(ARGS)

test: python  ## build what they need, then run the tests of a few minutes (ARGS="-R clock")
	@script/build release quick_tests
	@$(call TESTS,release) -LE slow

test-all: build ## build, then run all tests: also pages, notebooks, examples with each compiler, and long simulations
	@$(call TESTS,release)

install: setup ## build, then install headers, library, programs and configurations (PREFIX=DIR, /usr/local where not given)
	@script/build release
	@cmake --install build $(if $(PREFIX),--prefix $(PREFIX)) >/dev/null

wheel: setup  ## build the Python wheel (in build-wheel/dist), and try it in a fresh environment
	@script/wheel

docs:         ## build the site at build-docs/html (Sphinx, once a user), without a network once its tools are there
	@script/docs

test-gpu: build ## build, then run the tests that need a CUDA device
	@script/test-gpu $(ARGS)

bench: setup  ## build, fetch the peers once a user, then run the benchmarks
	@script/packages bench
	@script/build release htfm
	@peers=$$(script/venv peers) && HTFM_PEERS_PYTHON="$$peers/bin/python" build/htfm bench $(ARGS)

debug: setup  ## build without optimisation in build-debug
	@script/build debug

asan: setup   ## build and test under the address and undefined-behaviour sanitizers
	@script/build asan
	@$(call TESTS,asan)

tsan: setup   ## build and test under the thread sanitizer
	@script/build tsan
	@$(call TESTS,tsan)

fuzz: setup   ## build the fuzzers with clang and run each for SECONDS (30), or only NAME (files: those that need no model)
	@script/packages fuzz
	@script/fuzz --jobs $(JOBS) $(if $(SECONDS),--seconds $(SECONDS)) $(NAME)

format:       ## put our files into the form of .clang-format
	@script/packages format
	@script/format

format-check: ## fail where a file is not in that form
	@script/packages format
	@script/format --check

tidy: setup   ## run clang-tidy
	@script/packages tidy
	@script/tidy

clean:        ## remove what was built; the environments in the user's cache stay
	rm -rf build build-*
