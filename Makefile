# Targets for common tasks. meson builds; every recipe installs the packages that it needs.

BUILD  ?= build
PYTHON ?= /usr/bin/python3
prefix ?= /usr/local
PREFIX ?= $(prefix)
DESTDIR ?=
FUZZ_SECONDS ?= 10
SEEDS ?= 2000
FIRST ?= 1
FAULT_SCALE ?= 1
BENCH ?=
E2E ?=
MINORS ?=
DEMO ?=
VECTORS ?=
COUNT   ?=
SEED    ?=
IMAGE ?=
WEB ?=
FOLDER ?=
OUT ?= build-release
KEY ?=
SUITE ?= bookworm
FRESH ?=
ARCH    =
export ARCH

SETUPS := $(addprefix setup-,build test lint fuzz coverage mutate fresh image deb ship deploy cross release)

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## build, then a demo: a simulated cluster, a policy, real scheduler calls
	@$(BUILD)/berth demo $(DEMO)

build: $(BUILD)/build.ninja ## compile build/berth
	@tools/build $(BUILD) berth

test: setup-test ## build and run every test
	@tools/configure $(BUILD) $(if $(BERTH_CI),-Dwerror=true -Dbench=true)
	@tools/build $(BUILD)
	@meson test -C $(BUILD) --no-rebuild --print-errorlogs --num-processes $$((2 * $$(nproc)))
	@echo "Whole-program tests, two to three minutes:"
	@BERTH="$(CURDIR)/$(BUILD)/berth" PYTHON="$(PYTHON)" tools/pytest test

asan: setup-test ## the tests under AddressSanitizer and UBSan
	@tools/configure build-asan -Db_sanitize=address,undefined -Dbuildtype=debugoptimized
	@tools/build build-asan
	@tools/with-sanitizer meson test -C build-asan --no-rebuild --print-errorlogs --timeout-multiplier 4
	@BERTH="$(CURDIR)/build-asan/berth" PYTHON="$(PYTHON)" tools/with-sanitizer tools/pytest test

tsan: setup-test ## the tests that start threads, under ThreadSanitizer
	@tools/configure build-tsan -Db_sanitize=thread -Dbuildtype=debugoptimized
	@tools/build build-tsan
	@tools/with-sanitizer meson test -C build-tsan --no-rebuild --print-errorlogs --timeout-multiplier 4 --suite threads
	@BERTH="$(CURDIR)/build-tsan/berth" PYTHON="$(PYTHON)" tools/with-sanitizer tools/pytest test -m "not single_thread"

coverage: setup-coverage ## coverage by folder (FOLDER="json kube": uncovered lines)
	@tools/configure build-coverage -Db_coverage=true -Dbuildtype=debug -Dc_args=-fprofile-update=atomic
	@tools/build build-coverage
	@find build-coverage -name '*.gcda' -delete
	@meson test -C build-coverage --no-rebuild --print-errorlogs --timeout-multiplier 4
	@BERTH="$(CURDIR)/build-coverage/berth" PYTHON="$(PYTHON)" tools/pytest test
	@tools/coverage build-coverage $(FOLDER)

mutate: setup-mutate ## changes of the code that no unit test notices (FOLDER, COUNT, SEED)
	@$(PYTHON) tools/mutate $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) $(FOLDER)

conformance: setup-build ## the expression language against its conformance vectors (VECTORS=FILE)
	@tools/configure $(BUILD)
	@tools/build $(BUILD) berth
	@BERTH="$(CURDIR)/$(BUILD)/berth" $(PYTHON) tools/conformance $(VECTORS)

differential: setup-test ## expressions against Kubernetes' cel-go (COUNT=N SEED=N; needs Go)
	@tools/configure $(BUILD)
	@tools/build $(BUILD) berth
	@BERTH="$(CURDIR)/$(BUILD)/berth" PYTHON="$(PYTHON)" COUNT="$(COUNT)" SEED="$(SEED)" tools/differential

e2e: setup-test ## berth against a real control plane (built the first time: minutes; needs Go)
	@tools/configure $(BUILD)
	@tools/build $(BUILD) berth
	@BERTH="$(CURDIR)/$(BUILD)/berth" PYTHON="$(PYTHON)" tools/e2e -q $(E2E)

autoscale-test: setup-test ## published filters with a real Karpenter (built once; needs Go)
	@tools/configure $(BUILD)
	@tools/build $(BUILD) berth
	@BERTH="$(CURDIR)/$(BUILD)/berth" PYTHON="$(PYTHON)" tools/autoscale-test

kyverno-test: setup-test ## admission by a real Kyverno (built once: ten minutes; needs Go)
	@tools/configure $(BUILD)
	@tools/build $(BUILD) berth
	@BERTH="$(CURDIR)/$(BUILD)/berth" PYTHON="$(PYTHON)" tools/kyverno-test

compat: setup-test ## the core of e2e with Kubernetes 1.27 to 1.37 (MINORS="1.29 1.34": only these)
	@tools/configure $(BUILD)
	@tools/build $(BUILD) berth
	@BERTH="$(CURDIR)/$(BUILD)/berth" PYTHON="$(PYTHON)" tools/compat $(MINORS)

seeds: setup-test ## the live half against simulated faults, SEEDS=N runs from FIRST=N on
	@tools/configure $(BUILD)
	@tools/build $(BUILD) src/test-live-seeds
	@$(BUILD)/src/test-live-seeds --seed $(FIRST) --count $(SEEDS)

faults: setup-test ## kill, stop and starve real processes (FAULT_SCALE=500: hours; needs Go)
	@tools/configure $(BUILD)
	@tools/build $(BUILD) berth
	@BERTH="$(CURDIR)/$(BUILD)/berth" PYTHON="$(PYTHON)" FAULT_SCALE="$(FAULT_SCALE)" tools/e2e -q test/e2e/faults $(E2E)

lint: setup-lint ## format, warnings as errors on gcc and clang, clang-tidy, layers, shell
	@tools/lint

fuzz: setup-fuzz ## search for new input with libFuzzer, FUZZ_SECONDS for each target
	@tools/fuzz $(FUZZ_SECONDS)

bench: setup-build ## berth against a floor and a Go extender (BENCH=--quick for a short run)
	@tools/configure $(BUILD)
	@tools/build $(BUILD) berth bench/floor bench/client bench/expression bench/rules bench/poll
	@$(PYTHON) bench/run $(BENCH)
	@$(PYTHON) bench/expressions $(filter --quick --smoke,$(BENCH))
	@$(PYTHON) bench/policies $(filter --quick --smoke,$(BENCH))
	@$(PYTHON) bench/metrics $(filter --quick --smoke,$(BENCH))
	@$(PYTHON) bench/dashboard $(filter --quick --smoke,$(BENCH))

bench-live: setup-test ## berth with a live cluster: pods/s, memory, churn (BENCH=--quick)
	@tools/configure $(BUILD)
	@tools/build $(BUILD) berth bench/floor bench/client
	@$(PYTHON) bench/throughput $(BENCH)
	@$(PYTHON) bench/throughput --narrow $(BENCH)
	@$(PYTHON) bench/memory $(BENCH)
	@$(PYTHON) bench/churn $(BENCH)
	@$(PYTHON) bench/handshakes $(filter --quick --smoke,$(BENCH))

soak: setup-test ## two hours of mixed load: memory, descriptors, p99 (BENCH="--minutes 10")
	@tools/configure $(BUILD)
	@tools/build $(BUILD) berth bench/floor bench/client
	@$(PYTHON) bench/soak $(BENCH)

web-test: setup-build ## the dashboard in a real browser (needs node, npm and chromium)
	@tools/configure $(BUILD)
	@tools/build $(BUILD) berth
	@BERTH="$(CURDIR)/$(BUILD)/berth" BERTH_WEB_SHOTS="$(CURDIR)/$(BUILD)/web" tools/web-test $(WEB)

deploy-check: setup-deploy ## the chart, overlays and manifests, without a cluster (needs Go)
	@tools/configure $(BUILD)
	@tools/build $(BUILD) berth
	@BERTH="$(CURDIR)/$(BUILD)/berth" PYTHON="$(PYTHON)" tools/check-deploy

fresh: setup-fresh ## run, test, asan, lint in a new minimal Debian (SUITE=trixie; needs root)
	@SUITE="$(SUITE)" tools/fresh $(FRESH)

image: setup-image $(if $(ARCH),setup-cross) ## a container image without an engine, with an SBOM (IMAGE=--twice)
	@tools/image $(IMAGE)

cross: setup-cross ## berth for arm64, into build-arm64 (on Debian; make deb ARCH=arm64: its package)
	@ARCH=arm64 tools/configure build-arm64
	@tools/build build-arm64 berth

cross-test: setup-cross ## the tests for arm64, under qemu
	@PYTHON="$(PYTHON)" tools/cross-test

deb: setup-deb $(if $(ARCH),setup-cross) ## a Debian package, into build-deb
	@tools/deb

ship-test: setup-ship ## make image and package, a release of them twice, and test all of it
	@tools/image --twice
	@tools/deb
	@PYTHON="$(PYTHON)" BERTH_SHIP="$(CURDIR)" tools/pytest test/ship

release: setup-release ## every file of a release, amd64 and arm64 (needs Go; OUT=FOLDER, KEY=ID)
	@$(PYTHON) tools/release $(if $(KEY),--key "$(KEY)") "$(OUT)"

release-check: setup-release ## the same twice, in different folders, and compared
	@$(PYTHON) tools/release --twice "$(OUT)"

install: $(BUILD)/build.ninja ## install berth, its pages and completions (PREFIX, DESTDIR)
	@tools/install $(BUILD) "$(PREFIX)" "$(DESTDIR)"

uninstall: ## remove the files of make install
	@ninja -C $(BUILD) --quiet uninstall

clean: ## remove build folders
	@rm -rf $(BUILD) build-asan build-tsan build-coverage build-mutate build-fuzz build-lint-gcc build-lint-clang build-image build-deb build-arm64 build-deb-arm64 \
		build-image-arm64 build-release

$(BUILD)/build.ninja: | setup-build
	@tools/configure $(BUILD)

$(SETUPS):
	@tools/setup $(@:setup-%=%)

.PHONY: help run build test asan tsan coverage mutate conformance differential e2e autoscale-test kyverno-test compat seeds faults lint fuzz bench bench-live soak web-test deploy-check \
	fresh image cross cross-test deb ship-test release release-check install uninstall clean $(SETUPS)
