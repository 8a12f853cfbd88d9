#!/bin/bash
# stages.sh LANE...: makes the targets of each lane one after the other, and the lanes side by side. A target's output
# comes as a whole when it ends, and then how long it took. The first failure ends all.
set -euo pipefail -m # each lane is a process group, which can be ended with all that it started
cd "$(dirname "$0")/.."
logs=$(mktemp -d)
lanes=()
end() {
	for lane in "${lanes[@]}"; do kill -- "-$lane" 2>/dev/null || :; done
	rm -rf "$logs"
}
trap end EXIT
trap 'exit 130' INT TERM

# lane TARGET...
lane() {
	local target from status
	for target; do
		from=$SECONDS status=0
		${MAKE:-make} --no-print-directory "$target" >"$logs/$target" 2>&1 </dev/null || status=$?
		{
			flock 9
			cat "$logs/$target"
			echo "make $target: $((SECONDS - from)) s"
		} 9>"$logs/lock"
		[ $status = 0 ] || return $status
	done
}

for targets; do
	# shellcheck disable=SC2086 # several
	lane $targets &
	lanes+=($!)
done
for _ in "${lanes[@]}"; do wait -n; done
