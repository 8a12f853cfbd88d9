"""Transformers' classes of tokenizers, the fields of their files, and the class of each model_type."""

import ast
import inspect
import json
import textwrap

import transformers
from transformers.models.auto import configuration_auto, tokenization_auto
from transformers.tokenization_utils_base import PreTrainedTokenizerBase
from transformers.tokenization_utils_tokenizers import TokenizersBackend

NOT_FIELDS = {"self", "args", "kwargs", "vocab", "merges", "tokenizer_object", "tokenizer_padding", "tokenizer_truncation", "post_processor", "backend"}


def classes():
    """Transformers' classes by the names under which it finds them."""
    names = {n.removesuffix("Fast") for n in dir(transformers) if n.endswith(("Tokenizer", "TokenizerFast"))}
    names |= {v.removesuffix("Fast") for v in tokenization_auto.TOKENIZER_MAPPING_NAMES.values() if v}
    names |= {"ElectraTokenizer", "LayoutLMTokenizer", "LongformerTokenizer", "BloomTokenizer", "CodeGenTokenizer"}
    found = {}
    for name in sorted(names):
        try:
            cls = tokenization_auto.tokenizer_class_from_name(name)
        except (ImportError, ValueError):
            continue
        if isinstance(cls, type) and issubclass(cls, PreTrainedTokenizerBase):
            found[name] = cls
    return found


def read(function):
    """The fields that a function takes from its keywords, with their defaults."""
    fields = {}
    for n in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in ("get", "pop", "setdefault") and n.args and isinstance(n.args[0], ast.Constant):
            if ast.unparse(n.func.value) not in ("kwargs", "init_kwargs", "tokenizer_config"):
                continue
            default = n.args[1] if len(n.args) > 1 else ast.Constant(None)
            fields.setdefault(n.args[0].value, default.value if isinstance(default, ast.Constant) else None)
    return fields


def shared():
    """The fields that every class takes."""
    fields = {k: None for k in PreTrainedTokenizerBase.SPECIAL_TOKENS_ATTRIBUTES}
    for f in (TokenizersBackend.__init__, PreTrainedTokenizerBase.__init__, PreTrainedTokenizerBase._from_pretrained, tokenization_auto.AutoTokenizer.from_pretrained):
        fields = read(f) | fields
    return {k: v for k, v in fields.items() if k[0] != "_" and k not in NOT_FIELDS}


def own(cls):
    """The fields of a class's own, up to the class that all share."""
    fields = {}
    for c in reversed(cls.__mro__[: cls.__mro__.index(TokenizersBackend) if issubclass(cls, TokenizersBackend) else 1]):
        if "__init__" in vars(c):
            fields |= read(c.__init__)
            for p in inspect.signature(c.__init__).parameters.values():
                fields[p.name] = None if p.default is inspect.Parameter.empty else p.default
    if cls.model_input_names != PreTrainedTokenizerBase.model_input_names:
        fields["model_input_names"] = cls.model_input_names
    return {k: v for k, v in fields.items() if k[0] != "_" and k not in NOT_FIELDS}


def reads(cls):
    """How a class takes tokenizer.json."""
    if not issubclass(cls, TokenizersBackend):
        return "without"
    return "as written" if cls is TokenizersBackend or "__init__" not in vars(cls) else "vocabulary only"


def sections():
    """The sections of the table: those of the fields that all classes take, of the classes, and of the classes of each model_type."""
    names = dict.fromkeys(configuration_auto.CONFIG_MAPPING_NAMES, "")
    names |= {k: (v or "").removesuffix("Fast") for k, v in tokenization_auto.TOKENIZER_MAPPING_NAMES.items()}
    yield "tokenizer base", [f"{k} = {json.dumps(v)}" for k, v in sorted(shared().items())]
    found, aliases = classes(), {}
    for name, cls in found.items():
        if name != cls.__name__ and cls.__name__ in found:
            aliases[name] = cls.__name__
        else:
            yield f"tokenizer {name}", [f"@reads {reads(cls)}", *(f"{k} = {json.dumps(v)}" for k, v in sorted(own(cls).items()))]
    yield "tokenizers of the same class", [f"{k} = {v}" for k, v in aliases.items()]
    yield "tokenizers by model_type", [f"{k} = {names[k]}".rstrip() for k in sorted(names)]
    yield "model_types whose folders name a wrong tokenizer", [f"{k} = true" for k in sorted(tokenization_auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS)]
    yield "model_types with a tokenizer alone", [f"{k} = true" for k in sorted(k for k in names if k not in configuration_auto.CONFIG_MAPPING_NAMES)]
