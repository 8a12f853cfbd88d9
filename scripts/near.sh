#!/bin/bash
# near.sh: builds all modules, and vets the packages that a change can affect directly, and runs their short tests:
# the packages in whose folders a file differs from BASE (main), committed or not, and the packages that import these,
# if only in tests. MODULES are the modules other than the root; `make near` sets them.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
base=$(git merge-base "${BASE:-main}" HEAD)
modules=(./...)
for m in $MODULES; do modules+=("./$m/..."); done
list=$($go list -e -f '{{$p := .ImportPath}}{{.Dir}} {{$p}}{{range .Imports}} {{.}}{{end}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}' "${modules[@]}")
changed=$({ git diff --name-only "$base"; git ls-files --others --exclude-standard; } | sort -u)
packages=$(awk -v root="$PWD/" 'FNR == NR { dir = substr($1, length(root) + 1); package[dir] = $2; text[$2] = $0; next }
	{ # the folder of the file, or the one above it that has a package, as for testdata
		for (dir = $0; sub(/\/?[^\/]*$/, "", dir) && dir != "" && !(dir in package); ) {}
		if ($0 ~ /\//) if (dir in package) near[package[dir]]
	}
	END {
		for (p in text) {
			n = split(text[p], word, " ")
			for (i = 2; i <= n; i++) if (word[i] in near) { print p; break }
		}
	}' <(printf '%s\n' "$list") <(printf '%s\n' "$changed") | sort)
$go build "${modules[@]}"
if [ -z "$packages" ]; then
	echo "near: no package differs from ${BASE:-main}"
	exit
fi
mapfile -t packages <<<"$packages"
echo "near: ${#packages[@]} packages"
$go vet "${packages[@]}"
$go test -vet=off -timeout 30m -short "${packages[@]}"
