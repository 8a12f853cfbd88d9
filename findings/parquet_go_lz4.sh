#!/bin/bash
# Guess: a Parquet reader returns the values of a page compressed with LZ4, or an error.
# Found: parquet-go returns other values and no error, where a page shrinks to more than a third of its length.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q pyarrow==26.0.1
env/bin/python - <<'PY'
import random

import pyarrow as pa
import pyarrow.parquet as pq

random.seed(0)
n = 1000
words = ["".join(random.choice("abcdefghijklmnop") for _ in range(random.randint(0, 12))) for _ in range(n)]
table = pa.table({"id": pa.array(range(1, n + 1), pa.int64()), "word": words})
pq.write_table(table, "ids.parquet", compression="lz4")
assert pq.read_table("ids.parquet") == table
print("pyarrow", pa.__version__, "wrote", n, "rows with", pq.ParquetFile("ids.parquet").metadata.row_group(0).column(0).compression, "and reads them as they were")
PY
cat > go.mod <<'MOD'
module finding

go 1.25

require github.com/parquet-go/parquet-go v0.32.0
MOD
cat > main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/parquet-go/parquet-go"
)

type row struct {
	ID int64 `parquet:"id,optional"`
}

func main() {
	rows, err := parquet.ReadFile[row]("ids.parquet")
	wrong := 0
	for i, r := range rows {
		if r.ID != int64(i+1) {
			wrong++
		}
	}
	fmt.Printf("parquet-go v0.32.0: %d rows, error %v, %d ids are not those of their rows\n", len(rows), err, wrong)
	if err != nil || wrong == 0 {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
export GOWORK=off GOFLAGS=-mod=mod
go mod tidy 2>tidy.log || { cat tidy.log; exit 1; }
go run .
