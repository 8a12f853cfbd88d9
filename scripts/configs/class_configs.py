"""The fields of transformers' configuration classes, with their defaults.

A field is what the class declares, or what code of the model asks for where it may be absent."""

import ast
import dataclasses
import glob
import importlib
import inspect
import json
import os
import textwrap

import transformers as hf
from huggingface_hub.errors import StrictDataclassFieldValidationError
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

FOLDERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "testdata", "folders")


def model_types():
    """The types of the folders that tests compare, as far as transformers has a class for them."""
    kinds = set()
    for path in glob.glob(os.path.join(FOLDERS, "*", "config.json")):
        with open(path) as f:
            kinds.add(json.load(f).get("model_type"))
    return sorted(kinds & set(CONFIG_MAPPING.keys()))


MODEL_TYPES = model_types()

# Fields that code shared by all models reads, with the value that it uses where config.json has none.
SHARED = {
    "is_causal": True,  # masking_utils: False makes decoders bidirectional
    "sliding_window": None,  # masking_utils, cache_utils
    "attention_chunk_size": None,  # masking_utils, cache_utils
    "layer_types": None,  # cache_utils
    "token_classification_bias": True,  # modeling_layers
    "quantization_config": None,  # the weights' format
    "per_layer_config": None,  # configuration_utils
    "num_labels": None,  # configuration_utils
}
NOTHING = object()


def declared(cls):
    """The fields of a class."""
    fields = {}
    for f in dataclasses.fields(cls):
        default = f.default if f.default_factory is dataclasses.MISSING else f.default_factory()
        fields[f.name] = None if default is dataclasses.MISSING else default
    return fields


def popped(cls):
    """What the class reads of config.json without declaring it, and what it sets itself."""
    fields = {}
    for n in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(cls)))):
        if isinstance(n, ast.Call) and ast.unparse(n.func) in ("kwargs.get", "kwargs.pop") and isinstance(n.args[0], ast.Constant):
            default = n.args[1] if len(n.args) > 1 else ast.Constant(None)
            fields[n.args[0].value] = default.value if isinstance(default, ast.Constant) else None
    return {k: v for k, v in vars(cls()).items() if k[0] != "_" and not isinstance(v, set)} | fields  # sets are not JSON


def asked(cls):
    """What a model's code asks for by getattr and hasattr, and its constant defaults."""
    fields = {}
    module = importlib.import_module(cls.__module__.replace(".configuration_", ".modeling_"))
    for n in ast.walk(ast.parse(inspect.getsource(module))):
        if not (isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in ("getattr", "hasattr")):
            continue
        if len(n.args) < 2 or not isinstance(n.args[1], ast.Constant) or not ast.unparse(n.args[0]).endswith("config"):
            continue
        default = n.args[2] if len(n.args) > 2 else ast.Constant(None)
        if isinstance(default, ast.Constant):
            fields.setdefault(n.args[1].value, default.value)
    return fields


def needed(cls, fields):
    """Those of the fields that the class refuses as null, and whose default is not as null to Python."""
    names = []
    for name, value in sorted(fields.items()):
        try:
            if value:
                cls(**{name: None})
        except StrictDataclassFieldValidationError:
            names.append(name)
        except Exception:  # of another kind: it computes with the value
            pass
    return names


def parts(cls):
    """The classes of fields that are objects, by default where a field may be of several, as far as they are of the table."""
    all = {k: CONFIG_MAPPING[spec.model_type] if spec.model_type else spec.config_class for k, spec in cls.sub_configs_defaults.items()}
    return {k: v for k, v in all.items() if v.model_type in MODEL_TYPES}


def default(value):
    """value as config.json has it; of an object of a class of its own, null."""
    return json.dumps(None if isinstance(value, hf.PreTrainedConfig) else finite(value))


def finite(value):
    """value as config.json has it, where infinite numbers are objects."""
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    return {"__float__": "Infinity"} if value == float("inf") else value


def sections():
    """The sections of the table: those of the fields that all classes have, and of the classes by model_type."""
    base = SHARED | declared(hf.PreTrainedConfig)
    yield "generation fields", [f"{k} = true" for k in sorted(hf.GenerationConfig._get_default_generation_params())]
    yield "config base", [f"{k} = {default(base[k])}" for k in sorted(base)]
    for kind in MODEL_TYPES:
        cls = CONFIG_MAPPING[kind]
        own = popped(cls) | asked(cls) | declared(cls)
        aliases = {k: v for k, v in cls.attribute_map.items() if v in base | own}  # others stand for what the class computes
        fields = {k: v for k, v in (base | own).items() if base.get(k, NOTHING) != v or k in aliases.values()}
        lines = [f"{k} = {default(fields[k])}" for k in sorted(fields)]
        lines += [f"{k} -> {v}" for k, v in sorted(aliases.items())]
        lines += [f"{k} is {v.model_type}" for k, v in sorted(parts(cls).items())]
        if names := needed(cls, declared(cls)):
            lines.append("@needed " + " ".join(names))
        yield f"config {kind}", lines
