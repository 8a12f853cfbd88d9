"""Files that torch.save writes: of tensors of every type and layout, for package pytorch; and of a
model folder's weights, as pytorch_model.bin and in shards."""

import collections
import json
import os

import torch
from safetensors.torch import load_file, save_file

from folder import folder

INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def tensors():
    """Tensors by name: types, views and layouts."""
    g = torch.Generator().manual_seed(5)
    x = torch.randn(5, 7, generator=g)
    state = collections.OrderedDict()
    state["float32"] = x
    state["tied"] = x
    state["float16"] = torch.randn(3, 4, generator=g).half()
    state["bfloat16"] = torch.randn(3, 4, generator=g).bfloat16()
    state["float64"] = torch.randn(3, 4, generator=g).double()
    state["transposed"] = x.t()
    state["permuted"] = torch.randn(2, 3, 4, generator=g).permute(2, 0, 1)
    state["columns"] = x[:, 2:5]
    state["rows"] = x[1:3]
    state["every other"] = x[::2, ::3]
    state["scalar"] = torch.tensor(2.5)
    state["empty"] = torch.zeros(0, 768)
    state["parameter"] = torch.nn.Parameter(torch.randn(4, generator=g))
    for dtype in INTEGERS:
        state[str(dtype).removeprefix("torch.")] = torch.arange(3, dtype=dtype)
    state["bool"] = torch.tensor([True, False])
    state._metadata = {"": {"version": 1}}
    return state


def write_states(target):
    """Both containers, and what the floating-point tensors hold."""
    os.makedirs(target, exist_ok=True)
    state = tensors()
    torch.save(state, os.path.join(target, "zip.bin"))
    torch.save(state, os.path.join(target, "legacy.bin"), _use_new_zipfile_serialization=False)
    floats = {k: v.detach().float().contiguous().clone() for k, v in state.items() if v.is_floating_point()}
    save_file(floats, os.path.join(target, "expected.safetensors"))


def write_model(folder, target):
    """The weights of a folder as one file, and as shards with an index, one of them in the old container."""
    state = load_file(os.path.join(folder, "model.safetensors"))
    for name in ("one", "shards"):
        os.makedirs(os.path.join(target, name), exist_ok=True)
    torch.save(state, os.path.join(target, "one", "pytorch_model.bin"))
    names = sorted(state)
    parts = names[: len(names) // 2], names[len(names) // 2 :]
    weight_map = {}
    for i, part in enumerate(parts):
        file = f"pytorch_model-{i + 1:05}-of-{len(parts):05}.bin"
        torch.save({n: state[n] for n in part}, os.path.join(target, "shards", file), _use_new_zipfile_serialization=i == 0)
        weight_map |= {n: file for n in part}
    with open(os.path.join(target, "shards", "pytorch_model.bin.index.json"), "w") as f:
        json.dump({"metadata": {}, "weight_map": weight_map}, f, indent=1)


@folder("pickles")
def write(folders, _):
    """All of them; folders is models/testdata/folders."""
    models = os.path.dirname(os.path.abspath(folders))
    write_states(os.path.join(models, "..", "..", "transformer", "pytorch", "testdata"))
    write_model(os.path.join(folders, "distilbert-classify"), os.path.join(models, "pickles"))
