"""The fields of the classes that read the files next to config.json, with their defaults, except the files of tokenizers."""

import dataclasses
import inspect
import json
import os
import tempfile

import peft
import sentence_transformers
import transformers as hf
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.base.modules import Transformer
from sentence_transformers.cross_encoder.modules import LogitScore
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer import modules as st
from sentence_transformers.sentence_transformer.modules import pooling
from sentence_transformers.sparse_encoder.modules import SpladePooling

from class_configs import default

IMAGES = ["Gemma3", "ViT", "Siglip", "Siglip2", "Bit", "CLIP", "DINOv3ViT", "Gemma4", "Idefics3", "SmolVLM", "Lfm2Vl", "Qwen2VL"]
SOUNDS = ["Whisper", "Wav2Vec2", "Parakeet"]
MODULES = [st.Pooling, st.Dense, st.Normalize, st.LayerNorm, st.WeightedLayerPooling, st.Dropout, SpladePooling, MultiVectorMask, LogitScore, Transformer]
WHOLES = [SentenceTransformer, SparseEncoder, MultiVectorEncoder, CrossEncoder]
RENAMED = {st.Pooling: pooling._LEGACY_POOLING_MODE_KWARGS, Transformer: ["model_args", "tokenizer_args", "config_args", "cache_dir"]}  # beside config_key_renames


def for_pillow(name):
    """The class of images for Pillow."""
    module = {"Qwen2VL": "qwen2_vl"}.get(name, name.lower())
    return getattr(__import__(f"transformers.models.{module}.image_processing_pil_{module}", fromlist=["x"]), name + "ImageProcessorPil")


def images(name):
    """The fields of a class of images: that for Pillow, or the only one there is."""
    try:
        cls = for_pillow(name)
    except ModuleNotFoundError:
        cls = getattr(hf, name + "ImageProcessor")
    return {k: getattr(cls, k, None) for k in cls.valid_kwargs.__annotations__} | {"rescale_factor": cls.rescale_factor}


def arguments(cls):
    """The parameters of the constructors of a class and of those that it is derived from."""
    fields = {}
    for c in reversed(cls.__mro__[:-1]):
        if "__init__" in vars(c):
            for p in inspect.signature(c.__init__).parameters.values():
                if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name != "self":
                    fields[p.name] = None if p.default is p.empty else p.default
    return fields


def sounds(name):
    """Arguments that the classes take out of **kwargs are attributes that come from no signature."""
    cls = getattr(hf, name + "FeatureExtractor")
    return arguments(cls) | {k: getattr(cls(), k) for k in ("padding_side", "model_input_names")}


def strict(cls):
    """Whether a field that a module does not know is an error."""
    with tempfile.TemporaryDirectory() as path:
        with open(os.path.join(path, cls.config_file_name), "w") as f:
            json.dump({"a_remark": 1}, f)
        try:
            cls.load(path)
        except Exception as e:
            return "a_remark" in str(e)
    return False


class Asked(dict):
    """An empty configuration that notes the fields that code asks for."""

    def __init__(self):
        self.names = {"model_type", "requirements"}  # read before the class has the file

    def get(self, name, default=None):
        self.names.add(name)
        return default

    def __contains__(self, name):
        self.names.add(name)
        return False


def whole(cls):
    """The fields of config_sentence_transformers.json that a class asks for."""
    asked, model = Asked(), cls(modules=[st.Normalize()], device="cpu")
    for name in ("activation_fn", "keep_in_fp32_modules"):  # the file is asked where a caller gives none
        setattr(model, name, None)
    for c in cls.__mro__:
        if "_parse_model_config" in vars(c):
            vars(c)["_parse_model_config"](model, asked)
    return {k: None for k in asked.names}


def plain(value):
    try:
        json.dumps(value)
    except TypeError:
        return None
    return value


def dataclass(cls):
    fields = {}
    for f in dataclasses.fields(cls):
        default = f.default if f.default_factory is dataclasses.MISSING else f.default_factory()
        fields[f.name] = None if default is dataclasses.MISSING else default
    return fields


def sections():
    """The sections of the table, one for each class."""
    transformers, tuners, sentences = f"transformers {hf.__version__}", f"peft {peft.__version__}", f"sentence-transformers {sentence_transformers.__version__}"
    classes = {"GenerationConfig": (transformers, hf.GenerationConfig().to_dict() | hf.GenerationConfig._get_default_generation_params())}
    classes |= {name + "ImageProcessor": (transformers, images(name)) for name in IMAGES}
    classes |= {name + "FeatureExtractor": (transformers, sounds(name)) for name in SOUNDS}
    classes["LoraConfig"] = (tuners, dataclass(peft.LoraConfig))
    for cls in MODULES:
        names = [*cls.config_keys, *cls.config_key_renames, *RENAMED.get(cls, ())]
        classes[cls.__name__] = (sentences, {k: None for k in names} | {k: v for k, v in arguments(cls).items() if k != "model_name_or_path"}, strict(cls))
    for cls in WHOLES:
        classes[cls.__name__] = (sentences, whole(cls))
    for name, (library, fields, *refuses) in sorted(classes.items()):
        lines = [f"@library {library}", *(["@strict"] if any(refuses) else [])]
        yield f"file {name}", lines + [f"{k} = {default(plain(fields[k]))}" for k in sorted(fields) if not k.startswith("_")]
