#!/bin/bash
# Guess: booleans that are encoded as runs, as in data pages of version 2, are read as they were written.
# Found: parquet-go expands a run of true to bytes of 0x01, so that seven of eight values are false, and returns no error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q pyarrow==26.0.1
env/bin/python - <<'PY'
import pyarrow as pa
import pyarrow.parquet as pq

table = pa.table({"yes": [True] * 16})
pq.write_table(table, "yes.parquet", data_page_version="2.0")
assert pq.read_table("yes.parquet") == table
print("pyarrow", pa.__version__, "wrote 16 times true as", pq.ParquetFile("yes.parquet").metadata.row_group(0).column(0).encodings, "and reads them as they were")
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
	Yes *bool `parquet:"yes,optional"`
}

func main() {
	rows, err := parquet.ReadFile[row]("yes.parquet")
	no := 0
	for _, r := range rows {
		if r.Yes != nil && !*r.Yes {
			no++
		}
	}
	fmt.Printf("parquet-go v0.32.0: %d rows, error %v, %d are false\n", len(rows), err, no)
	if err != nil || no == 0 {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
export GOWORK=off GOFLAGS=-mod=mod
go mod tidy 2>tidy.log || { cat tidy.log; exit 1; }
go run .
