#!/bin/bash
# Guess: Float8 of voyager, 127 steps up to 1, stores the step that is nearest.
# Found: it stores the next step towards zero: errors are up to a step, and all norms become smaller.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q numpy==2.4.6 voyager==2.2.3
env/bin/python - <<'PY'
import importlib.metadata

import numpy as np
import voyager

numbers = np.random.default_rng(0).uniform(-1, 1, 10000).astype(np.float32)
index = voyager.Index(voyager.Space.Euclidean, 1, storage_data_type=voyager.StorageDataType.Float8)
index.add_items(numbers[:, None])
got = np.array([index.get_vector(i)[0] for i in range(len(numbers))])
steps = np.abs(got - numbers) * 127
print("voyager", importlib.metadata.version("voyager"), f"errors in steps: mean {steps.mean():.3f}, largest {steps.max():.3f};", f"larger magnitudes {np.sum(np.abs(got) > np.abs(numbers) + 1e-6)}")
if steps.max() < 0.51:
    raise SystemExit("the behaviour has changed")
PY
