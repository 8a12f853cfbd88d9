#!/bin/bash
# consumer.sh: a module in an empty folder that imports this one builds, runs,
# and has golang.org/x/sys as its only other dependency; what it downloads holds
# neither the generator nor the test data.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
module=github.com/avoformer/avoformer
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >main.go <<END
package main

import (
	"fmt"

	"$module/kernels"
	_ "$module/transformer"
)

func main() {
	x := []float32{0, 0, 0, 0}
	kernels.Softmax(x, x, 1, len(x))
	fmt.Println(kernels.Active(), x)
}
END
go mod init example.com/consumer >/dev/null 2>&1
go mod edit -require=$module@v0.0.0 -replace=$module@v0.0.0="$root"
go mod tidy >/dev/null 2>&1
go run . | tee out
grep -q ' \[0\.25 0\.25 0\.25 0\.25\]$' out

graph=$(go mod graph)
echo "$graph"
others=$(tr ' ' '\n' <<<"$graph" | grep -v -e '^example.com/consumer$' -e "^$module@" -e '^go@' -e '^toolchain@' -e '^golang.org/x/sys@' || :)
if [ -n "$others" ]; then
	echo "consumer.sh: other dependencies: $others" >&2
	exit 1
fi
