#!/bin/bash
# Runs the clients here against a server of text/testdata's models, and of one that reads images, from the repository's root:
# test_clients.sh PYTHON LITELLM_PYTHON. LITELLM_PYTHON may be "", which leaves LiteLLM out, and without npm the
# client for JavaScript and the page in a browser are left out. Pictures of the page go to the folder PICTURES, if
# it is set.
set -euo pipefail
python=$1 litellm=$2
port=${PORT:-18390}
address=http://127.0.0.1:$port
work=$(mktemp -d)
go build -o "$work/avoformer" ./cmd/avoformer
python3 serve/scripts/expected.py "$work/avoformer" >"$work/expected.json"
"$work/avoformer" serve -addr "127.0.0.1:$port" -images gemma4=yes text/testdata/{generate,embed,rerank,classify,tokens,translate,transcribe,image} models/testdata/images/gemma4 2>"$work/log" &
server=$!
trap 'kill $server; wait $server || true; rm -r "$work"' EXIT
for _ in {1..100}; do
	curl -fs "$address/health" >"$work/health" && break
	kill -0 $server || { cat "$work/log"; exit 1; }
	sleep 0.1
done
failed() { cat "$work/log"; exit 1; }

for script in serve/scripts/clients_*.py; do
	"$python" "$script" "$address" "$work/expected.json" || failed
done
if [ -n "$litellm" ]; then
	"$litellm" serve/scripts/litellm_clients.py "$address" "$work/expected.json" || failed
fi
if [ -n "$(type -p npm)" ]; then
	cp -r serve/scripts/node "$work/node"
	(cd "$work/node" && npm ci --silent)
	node "$work/node/client.mjs" "$address" "$work/expected.json" || failed
	mkdir -p "${PICTURES:=$work/pictures}"
	node "$work/node/page.mjs" "$address" "$work/expected.json" "$PICTURES" || failed
else
	echo "test_clients.sh: no npm, so neither the client for JavaScript nor a browser was asked"
fi

# Requests made of the OpenAPI document, valid ones and others: no answer is an internal error, or one that the
# document has not. The header keeps requests from asking for a time that is too short for any answer.
"$python" serve/scripts/openapi.py "$address" || failed
(cd "$work" && "$(dirname "$python")/schemathesis" run "$address/openapi.json" -H "X-Request-Timeout: 20" -n "${EXAMPLES:-30}" --seed "${SEED:-1}" \
	--checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
	--phases examples,coverage,fuzzing --warnings off) || failed
