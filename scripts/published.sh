#!/bin/bash
# published.sh: the folders of the modules that are published beside the root, each after those that it requires.
# published.sh set VERSION: makes them require each other in that version, in every go.mod and in go.work.
set -euo pipefail
cd "$(dirname "$0")/.."
module=github.com/avoformer/avoformer

# folders: those with a go.mod, except for tools, data of tests and examples, and what the go command skips.
folders() {
	git ls-files --cached --others --exclude-standard -- '*/go.mod' | sed 's#/go.mod$##' |
		grep -v -E '^(asm|bench)(/|$)|(^|/)(scripts|testdata|examples/models|doc/images|doc/measurements|findings|[._][^/]*)(/|$)' | sort
}

case ${1:-} in
"")
	# Pairs "before after" for tsort; a module with itself stands for one without others.
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
