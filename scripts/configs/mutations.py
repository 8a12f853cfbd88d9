"""What is done to single fields of config.json: rules by the kind of the field's default."""

import copy

ABSENT = object()
ACTIVATIONS = ["relu", "gelu", "gelu_new", "gelu_pytorch_tanh", "silu", "quick_gelu", "gelu_python", "swish", "tanh", "relu2"]
NAMES = {  # strings that fields know besides those above
    "classifier_pooling": ["cls", "mean"], "problem_type": ["regression", "single_label_classification", "multi_label_classification"],
    "feed_forward_proj": ["relu", "gated-relu", "gelu", "gated-gelu", "gated-silu", "gelu_new", "gated-gelu_new", "a-b-c", "silu"],
    "position_embedding_type": ["absolute", "relative_key", "relative_key_query"], "dtype": ["float16", "bfloat16", "float32"], "torch_dtype": ["float16", "float32"],
    "tokenizer_class": ["BertTokenizer"], "dense_act_fn": ["relu", "gelu", "gelu_new", "silu"],
}
KINDS = {"layer_types": ["full_attention", "sliding_attention"]}

ROPE = [
    {}, {"rope_type": "default"}, {"type": "default"}, {"rope_type": "linear", "factor": 2.0}, {"type": "linear", "factor": 4}, {"rope_type": "linear"}, {"rope_type": "linear", "factor": 0.5},
    {"factor": 2.0}, {"rope_theta": 500.0}, {"rope_type": "default", "rope_theta": 77.0}, {"rope_type": "dynamic", "factor": 2.0}, {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 50.0},
    {"rope_type": "yarn", "factor": 4.0}, {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}, {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8, "beta_fast": 8, "beta_slow": 2},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "attention_factor": 0.7}, {"rope_type": "yarn", "original_max_position_embeddings": 16},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "mscale": 0.7}, {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "mscale": 0.7, "mscale_all_dim": 0.5},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "truncate": False}, {"rope_type": "yarn", "factor": None, "original_max_position_embeddings": 16},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}, {"rope_type": "llama3", "factor": 8.0}, {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 1.0, "original_max_position_embeddings": 32},
    {"rope_type": "longrope", "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 2.0, 3.0, 4.0], "original_max_position_embeddings": 16}, {"rope_type": "su", "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 2.0, 3.0, 4.0]},
    {"type": "longrope", "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 2.0, 3.0, 4.0], "factor": 4.0, "original_max_position_embeddings": 16}, {"rope_type": "longrope", "short_factor": [1.0], "long_factor": [2.0]},
    {"rope_type": "proportional", "factor": 2.0}, {"rope_type": "nonsense"}, {"rope_type": None}, {"rope_type": "default", "partial_rotary_factor": 0.5}, {"rope_theta": 100.0, "partial_rotary_factor": 0.5},
    {"rope_type": "linear", "factor": 2.0, "remark": 1}, {"rope_theta": "10000"}, {"rope_theta": 0}, {"rope_theta": -5.0}, {"rope_theta": None}, {"mrope_section": [2, 1, 1]}, {"rope_type": "default", "factor": 8.0},
    {"rope_type": "linear", "type": "dynamic", "factor": 2.0}, {"type": "mrope", "mrope_section": [2, 1, 1]},
]
NESTED = [
    {"full_attention": r, "sliding_attention": s} for r in ({"rope_type": "default", "rope_theta": 99.0}, {"rope_type": "default"}, {"rope_theta": 33.0}, {"rope_type": "linear", "factor": 2.0}, None, {"rope_type": "yarn", "factor": 4.0})
    for s in ({"rope_type": "default", "rope_theta": 55.0}, {"rope_type": "default"}, None, {"rope_type": "linear", "factor": 3.0})
] + [{"full_attention": {"rope_type": "default", "rope_theta": 99.0}}, {"sliding_attention": {"rope_type": "default", "rope_theta": 99.0}}, {"other": {"rope_theta": 5.0}}]


RARE = {  # of few classes, but asked for by code that all share
    "is_causal": [False], "attention_chunk_size": [4], "token_classification_bias": [False], "sliding_window": [4], "layer_types": [["full_attention"] * 2], "num_labels": [2, 3, 5],
    "quantization_config": [{"quant_method": "bitsandbytes", "load_in_8bit": True}, {}], "per_layer_config": [{}, {"0": {"num_attention_heads": 2}}],
}


def values(name, value, rare=()):
    """Other values for a field that has this one, or has it by default."""
    out = [None]
    if name in rare:
        return out + RARE[name]
    if name in ("rope_scaling", "rope_parameters"):
        return out + ROPE + NESTED + [[], "linear", 1, True]
    if isinstance(value, bool):
        out += [not value, int(not value), "yes"]
    elif isinstance(value, int):
        large = [12] if "layer" in name else [2 * value + 40, 1 << 40, 1 << 70]  # as many layers take long to make
        out += [value + 1, value - 1, 2 * value, value // 2, 0, 1, 3, -1, float(value), value + 0.5, str(value), [value], True] + large
    elif isinstance(value, float):
        out += [0.0, 0, 1, value * 3, value / 2, 0.37, -value or -1.0, -0.5, 1e-3, 1e30, "0.1", [value], True, float("nan"), float("inf")]
    elif isinstance(value, str) and (value in ACTIVATIONS or name.endswith("_act") or "activation" in name):
        out += [a for a in ACTIVATIONS if a != value] + ["nonsense", 1, "GELU"]
    elif isinstance(value, str) or name in NAMES:
        out += [n for n in NAMES.get(name, []) if n != value] + ["nonsense", "", 1, True]
    elif isinstance(value, list):
        other = KINDS.get(name, ["x"])
        out += [[], value[:-1], value + value[-1:], value[::-1], [other[0]] * len(value), [other[-1]] * len(value), ["nonsense"] * len(value), "x", 1, {}]
    elif isinstance(value, dict):
        out += [{k: v for k, v in value.items() if k != drop} for drop in value] + [value | {"extra": 1}, {}, [], "x"]
    else:  # null: of any kind
        out = [None, 0, 1, 2, 4, 5, -1, 0.5, True, False, "relu", "gelu", "nonsense", [], [1, 2], {}, {"0": {"num_attention_heads": 2}}]
        if "softcap" in name:
            out += [2.0, 30]
        if name in KINDS:
            out += [[k] * n for k in KINDS[name] for n in (2, 3)] + [["full_attention", "sliding_attention"], ["sliding_attention", "full_attention", "sliding_attention"]]
    return out


def cases(config, fields, rare, aliases, parts=(), path=()):
    """(field, new configuration) for each mutation. fields are names and defaults; rare are those of
    RARE that are not the class's; parts are pairs of a field that is an object and the arguments for it."""
    here = config
    for p in path:
        here = here[p]

    def changed(**new):
        c = copy.deepcopy(config)
        at = c
        for p in path:
            at = at[p]
        for k, v in new.items():
            at.pop(k, None)
            if v is not ABSENT:
                at[k] = copy.deepcopy(v)
        return c

    label = lambda name: ".".join(path + (name,))
    for name in sorted(set(fields) | set(here)):
        if name in ("architectures", "model_type"):
            continue  # they say which class and which code of it is compared
        if name in here:
            yield label(name), changed(**{name: ABSENT})
        present = here.get(name)
        for v in values(name, fields.get(name) if present is None else present, rare):
            if not (name in here and same(v, present)):
                yield label(name), changed(**{name: v})
    for alias, name in sorted(aliases.items()):
        value = here.get(name, fields.get(name))
        for v in [value] + values(name, value):
            yield label(alias), changed(**{alias: v})
            yield label(alias), changed(**{alias: v, name: ABSENT})
    for name, v in [("a_remark", "text"), ("clip_qkv", 0.1), ("logit_scale", 3.0), ("no_rope_layers", [0, 1]), ("use_qk_norm", True), ("rope_interleaved", True), ("alibi", True), ("num_experts", 4)]:
        if name not in fields:
            yield label(name), changed(**{name: v})
    if "rope_parameters" in fields:
        yield from ropes(changed, label)
    for name, more in parts:
        if isinstance(here.get(name), dict):
            yield from cases(config, *more, path=path + (name,))


def both(config, a, b):
    """What is changed in a and in b of config; where both changed the same, as b has it."""
    out = copy.deepcopy(a)
    for k in sorted(set(config) | set(b)):
        old, new = config.get(k, ABSENT), b.get(k, ABSENT)
        if old is new or same(old, new):
            continue
        if isinstance(old, dict) and isinstance(new, dict) and isinstance(out.get(k), dict):
            out[k] = both(old, out[k], new)
        elif new is ABSENT:
            out.pop(k, None)
        else:
            out[k] = copy.deepcopy(new)
    return out


def same(a, b):
    return type(a) is type(b) and a == b


def ropes(changed, label):
    """Rotary positions in several fields at once."""
    two = [ROPE[i] for i in (0, 1, 3, 8, 9, 13, 21, 25)]
    for a in two + [None]:
        for b in two + [None]:
            yield label("rope_scaling+rope_parameters"), changed(rope_scaling=a, rope_parameters=b)
    for r in ROPE:
        yield label("rope_scaling+rope_theta"), changed(rope_scaling=r, rope_parameters=ABSENT, rope_theta=123.0)
        yield label("rope_parameters+rope_theta"), changed(rope_scaling=ABSENT, rope_parameters=r, rope_theta=123.0)
        yield label("rope_scaling+original_max_position_embeddings"), changed(rope_scaling=r, rope_parameters=ABSENT, original_max_position_embeddings=24)
        yield label("rope_parameters+original_max_position_embeddings"), changed(rope_scaling=ABSENT, rope_parameters=r, original_max_position_embeddings=24)
        yield label("rope_scaling+partial_rotary_factor"), changed(rope_scaling=r, rope_parameters=ABSENT, partial_rotary_factor=0.5)
    for r in NESTED:
        yield label("rope_parameters+rope_theta"), changed(rope_scaling=ABSENT, rope_parameters=r, rope_theta=123.0)
        yield label("rope_parameters+rope_local_base_freq"), changed(rope_scaling=ABSENT, rope_parameters=r, rope_local_base_freq=321.0)
        yield label("rope_parameters+rope_scaling"), changed(rope_scaling={"rope_type": "linear", "factor": 2.0}, rope_parameters=r)
