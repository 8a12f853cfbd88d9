#!/bin/bash
# tidy-published.sh MODULE...: check that go.mod and go.sum of the published nested
# modules are as `go mod tidy` would write them, with the modules of this tree in
# place of the released ones. A published go.mod must not contain replace lines, so
# the check adds them to a copy.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export GOWORK=off

for m in "$@"; do
	cd "$root/$m"
	cp go.mod "$dir/copy.mod"
	[ ! -f go.sum ] || cp go.sum "$dir/copy.sum"
	requires=$(go mod edit -json | sed -n '/"Require"/,/\]/p' | awk -F'"' '/"Path"/ { p = $4 } /"Version"/ { print p, $4 }')
	while read -r module version; do
		case $module in
		github.com/avoformer/avoformer*)
			local=$root${module#github.com/avoformer/avoformer}
			go mod edit -replace="$module@$version=$local" "$dir/copy.mod" ;;
		esac
	done <<<"$requires"
	if grep -q '^replace' go.mod; then
		echo "tidy-published.sh: $m/go.mod has a replace" >&2
		exit 1
	fi
	go mod tidy -diff -modfile="$dir/copy.mod"
done
