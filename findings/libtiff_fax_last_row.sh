#!/bin/bash
# Guess: a picture of one bit that Pillow writes with CCITT's lossless code of rows at bytes ("tiff_ccitt") is read back as it was.
# Found: a strip's last row of 8 bits or fewer may be read as another one, without an error: at the end of the data libtiff counts bits that it padded as
# bits to skip. Group 3 and Group 4 are read back.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q pillow==13.0.0
env/bin/python - <<'PY'
import io, sys
from PIL import Image, __version__, features

wrong = {}
for kind in ("tiff_ccitt", "group3", "group4"):
    wrong[kind] = 0
    for ones in range(1, 12):  # at the right of rows of 12 pixels
        image = Image.new("1", (12, 3))
        image.paste(1, (12 - ones, 0, 12, 3))
        b = io.BytesIO()
        image.save(b, "TIFF", compression=kind)
        read = Image.open(io.BytesIO(b.getvalue())).convert("1")
        if read.tobytes() != image.tobytes():
            wrong[kind] += 1
            print(kind, "with", ones, "ones at the right: rows", image.tobytes().hex(), "are read as", read.tobytes().hex())
print("Pillow", __version__, "with libtiff", features.version("libtiff"), "reads wrongly, of 11 pictures each:", wrong)
if not wrong["tiff_ccitt"] or wrong["group3"] or wrong["group4"]:
    sys.exit("the behaviour has changed")
PY
