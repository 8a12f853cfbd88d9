#!/bin/bash
# tag.sh VERSION: tag this commit as a release: the root, then every published module after those that it requires. Then the
# command is installed from only the tags, as a user would install it. If a step fails, the tags are deleted.
#
# A module's tag is on a commit whose go.sum has the sums of the modules of this tree that it requires: a build of the module
# by itself needs them. These commits are on no branch, since the branch continues with changes that no tag has yet. Tags are signed where
# git has a key (user.signingkey).
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?usage: tag.sh VERSION}
root=$PWD
module=github.com/avoformer/avoformer
mapfile -t published < <(scripts/published.sh)

[ -z "$(git status --porcelain)" ] || { echo "tag.sh: changes are not committed" >&2; exit 1; }
others=$(grep -E "$module(/[^ ]*)? v" "${published[@]/%//go.mod}" | grep -v -E " $version( |\$)" || :)
[ -z "$others" ] || { echo "tag.sh: versions required are not $version (scripts/published.sh set $version): $others" >&2; exit 1; }

dir=$(mktemp -d)
made=()
done=
end() {
	[ "$done" ] || [ ${#made[@]} = 0 ] || git tag -d "${made[@]}"
	git worktree remove --force "$dir/tree" 2>/dev/null || :
	chmod -R u+w "$dir"
	rm -rf "$dir"
}
trap end EXIT

sign=-a
[ -z "$(git config user.signingkey || :)" ] || sign=-s
# tag NAME: tags the worktree's commit.
tag() {
	git -C "$dir/tree" tag $sign -m "$1" "$1"
	made+=("$1")
	echo "$1 $(git rev-parse --short "$1^{commit}")"
}

# The go command fetches the modules of this tree from this repository, without a proxy or a database of sums, into a module
# cache of its own: the usual one must not keep a version that can still be taken back.
cache=$(go env GOMODCACHE)
GOPROXY="file://$cache/cache/download,$(go env GOPROXY)"
export GOPROXY GOPRIVATE="$module,$module/*" GOWORK=off GOFLAGS=-modcacherw GOMODCACHE="$dir/modules" GOBIN="$dir/bin"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$root.insteadOf" GIT_CONFIG_VALUE_0="https://github.com/avoformer/avoformer"

git worktree add -q --detach "$dir/tree"
tag "$version"
for m in "${published[@]}"; do
	(cd "$dir/tree/$m" && go mod tidy 2>"$dir/log" || { cat "$dir/log" >&2; exit 1; })
	changed=$(git -C "$dir/tree" status --porcelain)
	[ -z "${changed//*$m\/go.sum/}" ] || { echo "tag.sh: go mod tidy changes more than $m/go.sum: $changed" >&2; exit 1; }
	git -C "$dir/tree" commit -qam "$m: sums of what $version requires"
	tag "$m/$version"
done

cd "$dir"
go install "$module/cmd/avoformer@$version"
"$GOBIN/avoformer" --version
done=1
echo "go install $module/cmd/avoformer@$version works. To publish: git push origin ${made[*]}"
