"""Writes all numbers of 8 bits and what torch makes of them: float8.py FILE"""

import sys

import torch
from safetensors.torch import save_file

codes = torch.arange(256).to(torch.uint8)
tensors = {}
for name, dtype in [("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2)]:
    tensors[name] = codes.view(dtype).clone()
    tensors[name + "_float32"] = codes.view(dtype).float()
save_file(tensors, sys.argv[1])
