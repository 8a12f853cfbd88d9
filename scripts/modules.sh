#!/bin/bash
# modules.sh [MODULE...]: checks that every module of this tree that has Go code is in go.work, and that it builds, with
# its tests, by plain commands in its own folder, except for the modules given, which are built elsewhere; and that none is
# built there with other versions than its go.mod requires. No other module requires Apache Beam.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
elsewhere=$(printf '%s\n' "$@")
unset GOWORK
GOFLAGS=$(tr ' ' '\n' <<<"${GOFLAGS:-}" | grep -v '^-mod=' | xargs || :)
export GOFLAGS

used=$($go list -m -f '{{.Dir}}')
selected=$($go list -m -f '{{.Path}} {{.Version}}' all)
while read -r file; do
	m=$(dirname "$file")
	[ -n "$(find "$m" -name '*.go' -print -quit)" ] || continue
	grep -qxF "$(realpath "$m")" <<<"$used" || { echo "modules.sh: go.work lacks $m" >&2; exit 1; }
	if ! grep -qxF "${m#./}" <<<"$elsewhere"; then
		echo "go build, go vet in $m"
		(cd "$m" && $go build -o /dev/null ./... && $go vet ./...)
		! grep -H apache/beam/ "$m/go.mod" || { echo "modules.sh: $m requires Apache Beam" >&2; exit 1; }
	fi
	required=$(cd "$m" && $go mod edit -json | awk -F'"' '$2 == "Replace" { exit } $2 == "Path" { p = $4 } $2 == "Version" { print p, $4 }')
	other=$(grep -v '^github.com/avoformer/avoformer' <<<"$required" | grep -vxF "$selected" || :)
	[ -z "$other" ] || { echo "modules.sh: go.work raises what $m/go.mod requires: $other" >&2; exit 1; }
done < <(find . -name go.mod -not -path './.git/*' -not -path '*/.*/*' | sort)
