#!/bin/bash
# consumer.sh: the README's whole program, in a module of its own in an empty folder,
# builds, prints what the README says, and has golang.org/x/sys as its only
# dependency beside this module.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
module=github.com/avoformer/avoformer
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

awk '/^package main$/ { on = 1 } /^```$/ { on = 0 } on' "$root/README.md" >main.go
unformatted=$(gofmt -l main.go)
[ -z "$unformatted" ] || { echo "consumer.sh: gofmt would change the README's program" >&2; exit 1; }
go mod init example.com/consumer
printf 'package main\n\nimport _ "%s/models"\n' "$module" >models.go
go mod edit -require=$module@v0.0.0 -replace=$module@v0.0.0="$root"
go mod tidy
go run . | tee output
[[ -s output && $(<"$root/README.md") == *"$(<output)"* ]] || { echo "consumer.sh: the README says otherwise" >&2; exit 1; }

graph=$(go mod graph)
echo "$graph"
others=$(tr ' ' '\n' <<<"$graph" | grep -v -e '^example.com/consumer$' -e "^$module@" -e '^go@' -e '^toolchain@' -e '^golang.org/x/sys@' || :)
if [ -n "$others" ]; then
	echo "consumer.sh: other dependencies: $others" >&2
	exit 1
fi
