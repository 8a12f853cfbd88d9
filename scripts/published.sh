#!/bin/bash
# published.sh: prints the folders of the published modules other than the root, each after those that it requires.
# published.sh set VERSION: makes them require each other in that version, in every go.mod and in go.work.
set -euo pipefail
cd "$(dirname "$0")/.."
module=github.com/avoformer/avoformer

# folders prints the folders with a go.mod, except for tools, data of tests, examples, and folders that the go command skips.
folders() {
	git ls-files --cached --others --exclude-standard -- '*/go.mod' | sed 's#/go.mod$##' |
		grep -v -E '^(asm|bench)(/|$)|(^|/)(scripts|testdata|examples/models|doc/images|doc/measurements|findings|[._][^/]*)(/|$)' | sort
}

case ${1:-} in
"")
	# Pairs "before after" for tsort. Each module is also paired with itself, so that tsort prints one that requires no other.
	folders | while read -r m; do
		echo "$m $m"
		sed -n "s#.*$module/\([^ ]*\) v.*#\1#p" "$m/go.mod" | sort -u | grep -v -x "$m" | sed "s#\$# $m#" || :
	done | tsort ;;
set)
	folders | while read -r m; do sed -i -E "s#($module(/[^ ]*)?) v[0-9][^ ]*#\1 $2#" "$m/go.mod"; done
	sed -i -E "s#($module(/[^ ]*)?) v[0-9][^ ]* =>#\1 $2 =>#" go.work ;;
*)
	echo "usage: published.sh [set VERSION]" >&2
	exit 2 ;;
esac
