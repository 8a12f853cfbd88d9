#!/bin/bash
# Guess: an image of the size that Idefics 3's positions were made for gives each of its 25 x 25 patches a position of its own, the first patch
# the first one, and so on: where a patch begins, as a fraction of the side, is found among the fractions where positions begin.
# Found: float32 rounds 5 * (1 / 25) to less than 0.2, so that some patches have the position of the one before, and some positions are never used.
# With 14, 16, 26, 27 and 32 patches on a side, the sizes of the published models, all positions are used.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q numpy==2.4.6 torch==2.15.0 transformers==5.24.0
cat > main.py <<'PY'
import sys

import torch
import transformers
from transformers.models.idefics3.configuration_idefics3 import Idefics3VisionConfig
from transformers.models.idefics3.modeling_idefics3 import Idefics3VisionEmbeddings


def positions(side):
    """The positions of the patches of an image of the trained size, which the embeddings show where patches are 0."""
    c = Idefics3VisionConfig(hidden_size=1, image_size=8 * side, patch_size=8)
    e = Idefics3VisionEmbeddings(c)
    with torch.no_grad():
        e.patch_embedding.weight.zero_(), e.patch_embedding.bias.zero_()
        e.position_embedding.weight.copy_(torch.arange(side * side)[:, None].float())
        x = e(torch.zeros(1, 3, 8 * side, 8 * side), torch.ones(1, side, side, dtype=torch.bool))
    return x.flatten().long().tolist()


print("torch", torch.__version__, "transformers", transformers.__version__)
used = {side: len(set(positions(side))) for side in (14, 16, 25, 26, 27, 32)}
for side, n in used.items():
    print(f"{side} x {side} patches: {n} of {side * side} positions are used")
first = positions(25)[:25]
print("the first row of 25:", first)
if used[25] == 625 or any(used[s] != s * s for s in (14, 16, 26, 27, 32)):
    sys.exit("the behaviour has changed")
PY
env/bin/python main.py
