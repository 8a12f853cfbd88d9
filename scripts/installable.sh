#!/bin/bash
# installable.sh: check that a user without this tree can fetch, build and install the published
# modules, as they will be once tagged, and that the programs of the README run. A proxy made of the
# tree stands in for the tags; other modules come from the local module cache or the usual proxy.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
module=github.com/avoformer/avoformer
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
go=${GO:-go}
mapfile -t published < <("$root/scripts/published.sh")

# The version that the modules require of each other.
version=$(cd "$root/text" && GOWORK=off $go mod edit -json | awk -F'"' -v m="$module" '$4 == m { at = 1 } at && $2 == "Version" { print $4; exit }')
(cd "$root/scripts/proxy" && GOWORK=off $go run . -dir "$dir/proxy" -version "$version" "$root" "${published[@]/#/$root/}")

# The test has a module cache of its own: the usual one must not keep a version that is not released yet. The path of
# this cache changes with every run; -trimpath keeps it out of compiled packages, so that those in the build cache fit.
cache=$($go env GOMODCACHE)
export GOWORK=off GOFLAGS="-modcacherw -trimpath" GONOSUMDB="$module,$module/*" GOBIN="$dir/bin"
GOPROXY="file://$dir/proxy,file://$cache/cache/download,$($go env GOPROXY)"
export GOPROXY
export GOMODCACHE="$dir/modcache"

# quietly COMMAND...: runs the command, and shows its output only if it fails.
quietly() { "$@" >"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }; }

# consume NAME ALLOWED...: checks that a module with the main.go of standard input builds, runs, prints something,
# and depends on no other modules than the allowed ones.
consume() {
	local name=$1 others
	shift
	mkdir "$dir/$name"
	cd "$dir/$name"
	cat >main.go
	quietly $go mod init example.com/consumer
	quietly $go mod tidy
	ln -s "$root/text/examples/models/embed" all-MiniLM-L6-v2
	$go run . >output
	[ -s output ] || { echo "installable.sh: the program with $name prints nothing" >&2; exit 1; }
	others=$($go mod graph | tr ' ' '\n' | sed 's/@.*//' | sort -u | grep -v -x -F -e example.com/consumer -e go -e toolchain $(printf -- '-e %s ' "$@") || :)
	if [ -n "$others" ]; then
		echo "installable.sh: $name depends on: $others" >&2
		exit 1
	fi
	echo "go get $module: a program with $name builds and runs; it depends on $(printf '%s\n' "$@" | sort -u | xargs)"
}

# readme N: prints the N-th program of the README.
readme() { awk -v n="$1" '/^```$/ { on = 0 } on; /^```go$/ { on = ++i == n }' "$root/README.md"; }

for n in 1 2; do
	readme $n >"$dir/readme$n.go"
	unformatted=$(gofmt -l "$dir/readme$n.go")
	[ -z "$unformatted" ] || { echo "installable.sh: gofmt would change program $n of the README" >&2; exit 1; }
done
text=$(cd "$root/text" && $go mod edit -json | awk -F'"' '/"Require"/ { on = 1 } on && $2 == "Path" { print $4 }')
# shellcheck disable=SC2086 # one argument each
consume text "$module" "$module/text" golang.org/x/sys $text golang.org/x/mod golang.org/x/sync golang.org/x/tools <"$dir/readme1.go"
[[ $(<output) =~ ^[0-9]+\ \[[-0-9] ]] || { echo "installable.sh: the README's program prints $(<output)" >&2; exit 1; }
consume kernels "$module" golang.org/x/sys <"$dir/readme2.go"
[[ $(<"$root/README.md") == *"$(<output)"* ]] || { echo "installable.sh: the README says otherwise" >&2; exit 1; }

consume models "$module" golang.org/x/sys <<'GO'
package main

import (
	"fmt"

	"github.com/avoformer/avoformer/models"
)

func main() { fmt.Println(models.ModelTypes()) }
GO

cd "$dir"
quietly $go install "$module/cmd/avoformer@latest"
"$GOBIN/avoformer" help | grep -q embed
if $go version -m "$GOBIN/avoformer" | grep -E 'opentelemetry|apache/beam'; then
	echo "installable.sh: the command has these linked in" >&2
	exit 1
fi
echo "go install $module/cmd/avoformer@latest: it runs"

# For each other module: a module that requires only this one finds its packages and all that they import.
for m in "${published[@]}"; do
	mkdir -p "$dir/get/$m"
	cd "$dir/get/$m"
	quietly $go mod init example.com/consumer
	quietly $go get "$module/$m@latest"
	[ "$($go list -m -f '{{.Version}}' "$module/$m")" = "$version" ]
	# Unpacking the modules that only Beam needs takes long; make test-beam builds them.
	[ "$m" = bulk/beam ] || quietly $go list -mod=mod -deps "$module/$m/..."
	echo "go get $module/$m@latest: $version"
done

# The root module passes its tests without the rest of this tree. The tests of the kernels are left out: they read
# nothing outside the root module.
cd "$GOMODCACHE/$module@$version"
mapfile -t packages < <($go list ./... | grep -v /kernels)
quietly env -u CI $go test -vet=off -short "${packages[@]}"
echo "go test in $module@$version: all passed"

# The sums of our own modules are added to go.sum by the commits that tag.sh makes: the sum of a version that is
# not released yet could not be right.
for m in . "${published[@]}"; do
	if grep -s "$module" "$root/$m/go.sum"; then
		echo "installable.sh: go.sum of $m has these sums of versions that are not out yet" >&2
		exit 1
	fi
done
