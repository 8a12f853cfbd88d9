#!/bin/bash
# Builds without cgo for the platforms given as arguments, or for all that Go knows: every library
# package of the root module, and the examples where Go links a program without a C compiler. Tools
# are left out: they run where this module is developed.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0 GOWORK=off
go=${GO:-go}

# lines COMMAND...: its output as an array of lines, in which a failure is not lost
lines() {
	local text
	text=$("$@")
	mapfile -t lines <<<"$text"
}

platforms=("$@")
if [ ${#platforms[@]} = 0 ]; then
	lines $go tool dist list
	platforms=("${lines[@]}")
fi

failed=()
for platform in "${platforms[@]}"; do
	export GOOS=${platform%/*} GOARCH=${platform#*/}
	case $platform in
	android/386 | android/amd64 | android/arm | ios/*) programs= ;; # programs need a C linker there
	*) programs=./examples/... ;;
	esac
	echo "go build for $platform: libraries${programs:+ and examples}"
	lines $go list -find -f '{{.Name}} {{.ImportPath}}' ./...
	mapfile -t packages < <(printf '%s\n' "${lines[@]}" | awk '$1 != "main" { print $2 }')
	$go build "${packages[@]}" && { [ -z "$programs" ] || GOWORK=auto $go build "$programs"; } || failed+=("$platform")
done
if [ ${#failed[@]} != 0 ]; then
	echo "does not build for: ${failed[*]}"
	exit 1
fi
