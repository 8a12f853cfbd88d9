#!/bin/bash
# pictures.sh: makes the pictures of the documents, in doc/images, from real runs with the tiny models: a chat in a
# terminal, recorded by script(1), and the server's page in headless Chromium if npm is installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$PWD/doc/images
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/avoformer" ./cmd/avoformer
export PATH=$work:$PATH

# type_lines LINE...: types lines, each a second after the one before.
type_lines() {
	sleep 1
	for line in "$@"; do echo "$line"; sleep 1; done
}

(
	cd text/examples/models
	echo '$ avoformer generate chat'
	type_lines "What is the capital of France?" "What is 3 plus 4?" "Thank you!" | script -qec "avoformer generate chat" /dev/null
) | go run ./scripts/pictures >"$out/chat.svg"

[ -n "$(type -p npm)" ] || { echo "pictures.sh: no npm, so the page is left out"; exit 0; }
cp -r serve/scripts/node scripts/pictures/page.mjs "$work"
(cd "$work/node" && npm ci --silent && mv ../page.mjs picture.mjs)
port=${PORT:-18391}
(cd text/examples/models && exec avoformer serve -addr "127.0.0.1:$port" embed rerank chat 2>"$work/log") &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$work"' EXIT
for _ in {1..100}; do
	curl -fs "http://127.0.0.1:$port/health" >"$work/health" && break
	sleep 0.1
done
node "$work/node/picture.mjs" "http://127.0.0.1:$port" "$out"
