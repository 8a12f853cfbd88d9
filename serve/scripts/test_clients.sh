#!/bin/bash
# Runs each clients_*.py here against a server of text/testdata's models. Usage: test_clients.sh PYTHON, from the
# repository's root.
set -euo pipefail
python=$1
port=${PORT:-18390}
work=$(mktemp -d)
go build -o "$work/avoformer" ./cmd/avoformer
"$work/avoformer" serve -addr "127.0.0.1:$port" text/testdata/generate text/testdata/embed text/testdata/rerank 2>"$work/log" &
server=$!
trap 'kill $server; wait $server || true; rm -r "$work"' EXIT
for _ in {1..100}; do
	curl -fs "http://127.0.0.1:$port/health" >"$work/health" && break
	kill -0 $server || { cat "$work/log"; exit 1; }
	sleep 0.1
done
for script in serve/scripts/clients_*.py; do
	"$python" "$script" "http://127.0.0.1:$port" || { cat "$work/log"; exit 1; }
done
