#!/bin/bash
# stages.sh TARGET...: makes the targets in the given order, two at a time: each begins when one before it ends. The output
# of a target is printed as a whole when the target ends, followed by the seconds it took. The first failure ends all.
set -euo pipefail -m # each target is a process group, which can be ended with all that it started
cd "$(dirname "$0")/.."
logs=$(mktemp -d)
declare -A running=()
end() {
	for stage in "${!running[@]}"; do kill -- "-$stage" 2>/dev/null || :; done
	rm -rf "$logs"
}
trap end EXIT
trap 'exit 130' INT TERM

# stage TARGET: makes the target, then prints its output while no other stage prints.
stage() {
	local from=$SECONDS status=0
	${MAKE:-make} --no-print-directory "$1" >"$logs/$1" 2>&1 </dev/null || status=$?
	{
		flock 9
		cat "$logs/$1"
		echo "make $1: $((SECONDS - from)) s"
	} 9>"$logs/lock"
	return $status
}

# one waits until a target has ended.
one() {
	local stage status=0
	wait -n -p stage || status=$?
	unset "running[$stage]"
	[ $status = 0 ] || exit $status
}

for target; do
	[ ${#running[@]} -lt 2 ] || one
	stage "$target" &
	running[$!]=$target
done
while [ ${#running[@]} -gt 0 ]; do one; done
