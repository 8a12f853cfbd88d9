#!/bin/bash
# installable.sh MODULE...: the published modules, as they will be once tagged, can be fetched,
# built and installed by who has nothing else of this tree. A proxy made of the tree stands in
# for the tags; other modules come from the local module cache or the usual proxy.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
module=github.com/avoformer/avoformer
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
go=${GO:-go}

# The version that the modules require of each other.
version=$(cd "$root/text" && GOWORK=off $go mod edit -json | awk -F'"' -v m="$module" '$4 == m { at = 1 } at && $2 == "Version" { print $4; exit }')
modules=("$root")
for m in "$@"; do modules+=("$root/$m"); done
(cd "$root/scripts/proxy" && GOWORK=off $go run . -dir "$dir/proxy" -version "$version" "${modules[@]}")

# A module cache of its own: the usual one must not keep a version that is not out yet.
cache=$($go env GOMODCACHE)
export GOWORK=off GOFLAGS=-modcacherw GONOSUMDB="$module,$module/*" GOBIN="$dir/bin"
GOPROXY="file://$dir/proxy,file://$cache/cache/download,$($go env GOPROXY)"
export GOPROXY
export GOMODCACHE="$dir/modcache"

# quietly COMMAND...: what it prints is shown if it fails.
quietly() { "$@" >"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }; }

# consume NAME ALLOWED...: a module with the main.go of standard input builds, runs, and depends on the
# allowed modules alone.
consume() {
	local name=$1 others
	shift
	mkdir "$dir/$name"
	cd "$dir/$name"
	cat >main.go
	quietly $go mod init example.com/consumer
	quietly $go mod tidy
	$go run . >output
	others=$($go mod graph | tr ' ' '\n' | sed 's/@.*//' | sort -u | grep -v -x -F -e example.com/consumer -e go -e toolchain $(printf -- '-e %s ' "$@") || :)
	if [ -n "$others" ]; then
		echo "installable.sh: $name depends on: $others" >&2
		exit 1
	fi
	echo "go get $module: a program with $name builds and runs; it depends on $(printf '%s\n' "$@" | sort -u | xargs)"
}

awk '/^package main$/ { on = 1 } /^```$/ { on = 0 } on' "$root/README.md" >"$dir/readme.go"
unformatted=$(gofmt -l "$dir/readme.go")
[ -z "$unformatted" ] || { echo "installable.sh: gofmt would change the README's program" >&2; exit 1; }
consume kernels "$module" golang.org/x/sys <"$dir/readme.go"
[[ -s output && $(<"$root/README.md") == *"$(<output)"* ]] || { echo "installable.sh: the README says otherwise" >&2; exit 1; }

consume models "$module" golang.org/x/sys <<'GO'
package main

import (
	"fmt"

	"github.com/avoformer/avoformer/models"
)

func main() { fmt.Println(models.ModelTypes()) }
GO

text=$(cd "$root/text" && $go mod edit -json | awk -F'"' '/"Require"/ { on = 1 } on && $2 == "Path" { print $4 }')
# shellcheck disable=SC2086 # one argument each
consume text "$module" "$module/text" golang.org/x/sys $text golang.org/x/mod golang.org/x/sync golang.org/x/tools <<'GO'
package main

import (
	"fmt"

	"github.com/avoformer/avoformer/text"
)

func main() {
	_, err := text.OpenEmbedder("nothing")
	fmt.Println(err)
}
GO

cd "$dir"
quietly $go install "$module/cmd/avoformer@latest"
"$GOBIN/avoformer" help | grep -q embed
if $go version -m "$GOBIN/avoformer" | grep -E 'opentelemetry|apache/beam'; then
	echo "installable.sh: the command has these linked in" >&2
	exit 1
fi
echo "go install $module/cmd/avoformer@latest: it runs"

# A copy of each module outside the tree, as who works on one alone has it.
export GOFLAGS="-modcacherw -mod=mod"
for m in "$@"; do
	mkdir -p "$dir/copy/$m"
	cp -r "$root/$m/." "$dir/copy/$m"
	cd "$dir/copy/$m"
	quietly $go vet ./...
	echo "GOWORK=off go build in a copy of $m: it builds"
done

# The sums of our own modules enter go.sum when they are tagged, in the order root, text, serve, serve/tracing, bulk, command: a
# sum of a version that is not out yet would never fit.
if grep -n "$module" "$root"/*/go.sum "$root"/cmd/*/go.sum "$root"/serve/*/go.sum; then
	echo "installable.sh: these go.sum files have sums of versions that are not out yet" >&2
	exit 1
fi
