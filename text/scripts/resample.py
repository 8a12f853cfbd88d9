#!/usr/bin/env python3
"""Writes what torchaudio's resample makes of noise: resample.py OUT.json"""

import json, sys

import torch
from torchaudio.functional import resample

torch.manual_seed(3)
x = torch.rand(300, dtype=torch.float64) * 2 - 1
x = x.float()
cases = []
for down, up in ((44100, 16000), (48000, 16000), (8000, 16000), (22050, 16000), (16000, 44100), (11025, 16000)):
    y = resample(x.double(), down, up, lowpass_filter_width=64, rolloff=0.9475937167399596, resampling_method="sinc_interp_kaiser", beta=14.769656459379492)
    cases.append({"from": down, "to": up, "samples": [float("%.7g" % v) for v in y[:150]], "n": len(y)})
with open(sys.argv[1], "w") as f:
    json.dump({"samples": x.tolist(), "cases": cases}, f)
    f.write("\n")
