#!/bin/bash
# Guess: polars rounds a float64 to the nearest float16, and ml_dtypes to the nearest bfloat16, once, as numpy and pyarrow do for float16.
# Found: both go through float32 and round twice. 65519.999999999 becomes infinite in polars, and numbers just above halfway are rounded down by both.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q numpy==2.4.6 ml_dtypes==0.6.0 polars==2.1.0 pyarrow==26.0.1
env/bin/python - <<'PY'
import ml_dtypes
import numpy as np
import polars as pl
import pyarrow as pa

x = np.array([1 + 2**-11 + 2**-40, 1 + 3 * 2**-11 - 2**-40, 65520 - 1e-9])
half = {
    "numpy " + np.__version__: x.astype(np.float16).tolist(),
    "pyarrow " + pa.__version__: pa.array(x).cast(pa.float16()).to_pylist(),
    "polars " + pl.__version__: pl.Series(x).cast(pl.Float16).to_list(),
}
for name, got in half.items():
    print(name, "float16 of 1 + 2^-11 + 2^-40, 1 + 3*2^-11 - 2^-40, 65520 - 1e-9:", list(map(float, got)))
y = np.float64(1 + 2**-8 + 2**-40)
got = float(y.astype(ml_dtypes.bfloat16))
print("ml_dtypes", ml_dtypes.__version__, "bfloat16 of 1 + 2^-8 + 2^-40:", got, "the nearest is", 1 + 2**-7)
want, pyarrow, polars = half.values()
if polars == want or got == 1 + 2**-7:
    raise SystemExit("the behaviour has changed")
PY
