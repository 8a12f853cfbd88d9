#!/usr/bin/env python3
"""Makes a small folder for each pipeline, with what transformers or
sentence-transformers answer.

    pipelines.py OUT [NAME...]

OUT/NAME is a model folder with random weights in bfloat16, a tokenizer of
text/tokenizer/testdata, and expected.json: inputs and results. Needs torch, and for the
embedders sentence-transformers. Nothing is downloaded."""

import json, os, random, shutil, sys, wave

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../scripts/folders"))
os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

import numpy as np
import tokenizers
import torch
import transformers as hf
from PIL import Image

import chat_templates
from folder import redraw

torch.set_num_threads(1)
MADE = {}
TEXTS = ["The quick brown fox jumps over the lazy dog.", "Yes.", "", "  What is the capital of France? Paris.  ", "Où est la bibliothèque ? 東京は日本の首都です。 😀",
         "In 2017 eight authors wrote that attention is all you need, and 100,000 papers cited them.", "snake_case camelCase https://example.com/a?b=c",
         "the committee translates the long letter without any help again and again because it has to " * 12]


def folder(name):
    def add(f):
        MADE[name] = f
        return f
    return add


class Folder:
    def __init__(self, out, name, tokenizer=None, **special):
        self.path = os.path.join(out, name)
        shutil.rmtree(self.path, ignore_errors=True)
        os.makedirs(self.path)
        if tokenizer:
            shutil.copy(os.path.join(HERE, "../tokenizer/testdata", tokenizer, "tokenizer.json"), self.path)
            self.json("tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512} | special)
            self.tokenizer = hf.AutoTokenizer.from_pretrained(self.path)

    def json(self, name, value):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            json.dump(value, f, ensure_ascii=False, indent=1)
            f.write("\n")

    def model(self, model, seed, **draw):
        """Draws weights, saves them, and gives what is read back in float32."""
        redraw(model, seed, **draw)
        model.to(torch.bfloat16).save_pretrained(self.path)
        return type(model).from_pretrained(self.path, dtype=torch.float32, attn_implementation="eager").eval()


def floats(x):
    return [float("%.8g" % v) for v in x]


BERT = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=96, pad_token_id=0)
BERT_SPECIAL = dict(tokenizer_class="BertTokenizer", pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")


def bert_config(**more):
    return hf.BertConfig(vocab_size=605, **(BERT | more))


def answers(f, prompts=True):
    """Writes what sentence-transformers makes of a folder."""
    from sentence_transformers import SentenceTransformer
    s = SentenceTransformer(f.path, device="cpu", model_kwargs={"dtype": torch.float32})
    encode = lambda texts, **how: [floats(v) for v in s.encode(texts, convert_to_numpy=True, **how)]
    expected = {"texts": TEXTS, "vectors": encode(TEXTS), "max_seq_length": s.max_seq_length}
    if prompts:
        expected |= {"queries": [floats(v) for v in s.encode_query(TEXTS)], "documents": [floats(v) for v in s.encode_document(TEXTS)]}
    expected["dim12"] = encode(TEXTS, truncate_dim=12, normalize_embeddings=True)
    f.json("expected.json", expected)


def embedder(out, name, tokenizer, special, model, modules, seed, prompts=None, lower=False, pooling=None):
    f = Folder(out, name, tokenizer, **special)
    m = f.model(model, seed)
    dim = m.config.hidden_size
    f.json("modules.json", [{"idx": i, "name": str(i), "path": f"{i}_{k}" if i else "", "type": f"sentence_transformers.models.{k}"} for i, k in enumerate(["Transformer"] + modules)])
    f.json("sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": lower})
    f.json("1_Pooling/config.json", pooling or {"word_embedding_dimension": dim, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False})
    if prompts is not None:
        f.json("config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": None, "similarity_fn_name": "cosine"})
    answers(f, prompts)


@folder("embed")
def _(out):
    embedder(out, "embed", "bert", BERT_SPECIAL, hf.BertModel(bert_config(), add_pooling_layer=False), ["Pooling", "Normalize"], 11, {"query": "query: ", "document": "passage: "})


@folder("late-chunks")
def _(out):
    """Vectors of the chunks of a text by the models of the folders embed and embed-roberta, by the bytes of tokens."""
    from sentence_transformers import SentenceTransformer
    f = Folder(out, "late-chunks")
    text = "Où est la bibliothèque ? The fox. 東京は lies."
    cuts = [0, 27, 27, 35, len(text.encode())]
    chunks = list(zip(cuts, cuts[1:])) + [(10, 40)]
    cases = []
    for name, prompt in (("embed", None), ("embed", "document"), ("embed-roberta", None)):
        m = SentenceTransformer(os.path.join(HERE, "../testdata", name), device="cpu", model_kwargs={"dtype": torch.float32})
        given = m.prompts[prompt] + text if prompt else text
        skipped = len(given.encode()) - len(text.encode())
        tokens = m.tokenizer(given, return_offsets_mapping=True, return_special_tokens_mask=True)
        with torch.no_grad():
            states = m.encode(given, output_value="token_embeddings", convert_to_tensor=True)
        starts = [len(given[:a].encode()) - skipped for a, _ in tokens["offset_mapping"]]
        vectors = []
        for a, b in chunks:
            rows = [states[i] for i, s in enumerate(starts) if not tokens["special_tokens_mask"][i] and a <= s < b]
            v = torch.stack(rows).mean(0) if rows else torch.zeros(states.shape[1])
            vectors.append(floats(torch.nn.functional.normalize(v, dim=0) if name == "embed" else v))
        cases.append({"folder": name, "prompt": prompt or "", "vectors": vectors})
    f.json("expected.json", {"text": text, "chunks": chunks, "cases": cases})


@folder("embed-roberta")
def _(out):
    """Not normalized; a tokenizer to which leading spaces matter."""
    c = hf.RobertaConfig(vocab_size=581, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=98, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2)
    embedder(out, "embed-roberta", "roberta", dict(pad_token="<pad>", bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>", unk_token="<unk>", mask_token="<mask>"), hf.RobertaModel(c, add_pooling_layer=False), ["Pooling"], 12)


@folder("embed-prompt")
def _(out):
    """The newer form of 1_Pooling/config.json, with prompts that the vectors leave out."""
    embedder(out, "embed-prompt", "bert", BERT_SPECIAL, hf.BertModel(bert_config(), add_pooling_layer=False), ["Pooling"], 18, {"query": "Represent the question: ", "document": "passage: "},
             pooling={"embedding_dimension": 32, "pooling_mode": ["weightedmean", "mean", "cls", "max"], "include_prompt": False})


@folder("embed-last")
def _(out):
    """As the embedding models of Qwen 3 are published: named after a language model, without its prefix and its
    head, with a chat template; the last token counts, which the tokenizer's template adds; padding on the left."""
    f = Folder(out, "embed-last", "qwen3", tokenizer_class="Qwen2Tokenizer", model_max_length=131072, padding_side="left", eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=chat_templates.TEMPLATES["qwen2.5"])
    with open(f.path + "/tokenizer.json", encoding="utf-8") as t:
        t = json.load(t)
    end = next(a["id"] for a in t["added_tokens"] if a["content"] == "<|endoftext|>")
    t["post_processor"] = {"type": "Sequence", "processors": [t["post_processor"], {
        "type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}, {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}],
        "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [end], "tokens": ["<|endoftext|>"]}}}]}
    f.json("tokenizer.json", t)
    c = hf.Qwen3Config(vocab_size=563, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=64, bos_token_id=end, eos_token_id=end, tie_word_embeddings=True, use_sliding_window=False)
    f.model(hf.Qwen3Model(c), 19)
    with open(f.path + "/config.json") as t:
        f.json("config.json", json.load(t) | {"architectures": ["Qwen3ForCausalLM"]})
    f.json("modules.json", [{"idx": i, "name": str(i), "path": f"{i}_{k}" if i else "", "type": f"sentence_transformers.models.{k}"} for i, k in enumerate(["Transformer", "Pooling", "Normalize"])])
    f.json("1_Pooling/config.json", {"word_embedding_dimension": 32, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False,
                                     "pooling_mode_weightedmean_tokens": False, "pooling_mode_lasttoken": True, "include_prompt": True})
    f.json("config_sentence_transformers.json", {"prompts": {"query": "Instruct: Given a question, find passages that answer it\nQuery:", "document": ""}, "default_prompt_name": None, "similarity_fn_name": "cosine"})
    answers(f)


def tasks(out, name, tokenizer, special, model, seed):
    """As jina-embeddings-v5 is published: a base, adapters by task beside it, and code of its own, whose class in custom_st.py and whose method
    encode this computes with peft: the last token's hidden state, cut, with length 1. Needs peft."""
    import peft
    f = Folder(out, name, tokenizer, **special)
    names = ["retrieval", "text-matching"]
    f.model(model, seed)
    with open(f.path + "/config.json") as t:
        f.json("config.json", json.load(t) | {"model_type": "jina_embeddings_v5", "architectures": ["JinaEmbeddingsV5Model"], "task_names": names,
                                              "auto_map": {"AutoConfig": "configuration_jina_embeddings_v5.JinaEmbeddingsV5Config", "AutoModel": "modeling_jina_embeddings_v5.JinaEmbeddingsV5Model"}})
    f.json("modules.json", [{"idx": 0, "name": "transformer", "path": "", "type": "custom_st.Transformer", "kwargs": ["task", "truncate_dim"]}])
    prompts = {"query": "Query: ", "document": "Document: "}
    f.json("config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": "document", "similarity_fn_name": "cosine"})
    expected = {"texts": TEXTS}
    for i, task in enumerate(names):
        config = peft.LoraConfig(r=4, lora_alpha=4, task_type="FEATURE_EXTRACTION", target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"])
        base = type(model).from_pretrained(f.path, config=model.config, dtype=torch.float32, attn_implementation="eager")
        m = peft.get_peft_model(base, config).eval()
        with torch.no_grad():
            for j, (n, p) in enumerate(sorted(m.named_parameters())):
                if "lora_" in n:
                    p.copy_(torch.randn(p.shape, generator=torch.Generator().manual_seed(seed * 1000 + i * 500 + j)) * 0.2)
        m.save_pretrained(os.path.join(f.path, "adapters", task))
        os.remove(os.path.join(f.path, "adapters", task, "README.md"))

        def encode(prefix, dim=None):
            rows = []
            for text in TEXTS:
                ids = f.tokenizer([prefix + text], return_tensors="pt", truncation=True, max_length=model.config.max_position_embeddings)
                with torch.no_grad():
                    rows.append(floats(torch.nn.functional.normalize(m(**ids).last_hidden_state[0, -1, :dim], dim=0)))
            return rows

        expected[task] = {"queries": encode("Query: "), "documents": encode("Document: "), "dim12": encode("Document: ", 12)}
    f.json("expected.json", expected)


@folder("embed-tasks")
def _(out):
    c = hf.EuroBertConfig(vocab_size=605, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=64, rope_theta=1000000, bos_token_id=2, eos_token_id=3, pad_token_id=0, mask_token_id=4)
    tasks(out, "embed-tasks", "bert", BERT_SPECIAL, hf.EuroBertModel(c), 43)


@folder("embed-tasks-causal")
def _(out):
    c = hf.Qwen3Config(vocab_size=563, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=64, tie_word_embeddings=True, use_sliding_window=False)
    tasks(out, "embed-tasks-causal", "qwen3", dict(tokenizer_class="Qwen2Tokenizer", model_max_length=131072, eos_token="<|im_end|>", pad_token="<|endoftext|>"), hf.Qwen3Model(c), 47)


@folder("embed-static")
def _(out):
    """Vectors of tokens alone; the tokenizer cuts texts, as model2vec's do."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
    f = Folder(out, "embed-static")
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(HERE, "../tokenizer/testdata/bert/tokenizer.json"))
    tokenizer.enable_truncation(40)
    table = torch.randn(605, 24, generator=torch.Generator().manual_seed(23)).half()
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=table), Normalize()], device="cpu").save(f.path, create_model_card=False)
    s = SentenceTransformer(f.path, device="cpu").float()
    encode = lambda **how: [floats(v) for v in s.encode(TEXTS, convert_to_numpy=True, **how)]
    f.json("expected.json", {"texts": TEXTS, "vectors": encode(), "dim12": encode(truncate_dim=12, normalize_embeddings=True)})


@folder("embed-model2vec")
def _(out):
    """Model2Vec's own files, without modules.json: texts are cut by characters, then by tokens, and unknown tokens do not count. Needs model2vec."""
    from model2vec import StaticModel
    f = Folder(out, "embed-model2vec")
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(HERE, "../tokenizer/testdata/bert/tokenizer.json"))
    table = torch.randn(605, 8, generator=torch.Generator().manual_seed(31)).numpy()
    StaticModel(table, tokenizer, normalize=True, max_length=12).save_pretrained(f.path)
    for name in ("modules.json", "README.md"):
        if os.path.exists(os.path.join(f.path, name)):
            os.remove(os.path.join(f.path, name))
    long = ["extraordinarily " * 9, "a b c d e f g h i j k l m n o p q", "été " * 30, "東京は日本の首都です。" * 9, "☃ the ☃ fox " * 9, "x" * 200, "the " * 50, " " * 60 + "the fox"]
    texts, lengths = TEXTS + long, [1, 2, 5, 12]
    m = StaticModel.from_pretrained(f.path)
    f.json("expected.json", {"texts": texts, "lengths": lengths, "vectors": [[floats(v) for v in m.encode(texts, max_length=n)] for n in lengths]})


@folder("embed-sparse")
def _(out):
    """SPLADE, as sentence-transformers publishes it."""
    from sentence_transformers import SparseEncoder
    f = Folder(out, "embed-sparse", "bert", **BERT_SPECIAL)
    f.model(hf.BertForMaskedLM(bert_config(num_hidden_layers=1)), 24, scale=[("LayerNorm.weight", 0.8)])
    s = SparseEncoder(f.path, device="cpu", model_kwargs={"dtype": torch.float32}, similarity_fn_name="dot")
    s.max_seq_length = 64
    s.prompts = {"query": "query: ", "document": ""}
    tokenizer = open(f.path + "/tokenizer.json").read(), open(f.path + "/tokenizer_config.json").read()
    s.save(f.path, create_model_card=False)
    for name, text in zip(("tokenizer.json", "tokenizer_config.json"), tokenizer):
        open(os.path.join(f.path, name), "w").write(text)
    s = SparseEncoder(f.path, device="cpu", model_kwargs={"dtype": torch.float32})

    texts = TEXTS[:5] + TEXTS[7:]

    def encode(e):  # lists of elements in one string each, for their number
        return [" ".join(f"{int(i)}:{float(v):.8g}" for i, v in zip(*x.indices(), x.values())) for x in (t.coalesce() for t in e(texts))]

    f.json("expected.json", {"texts": texts, "vectors": encode(s.encode), "queries": encode(s.encode_query)})


@folder("embed-tokens")
def _(out):
    """Late interaction as PyLate publishes it, with marks in the vocabulary; and as sentence-transformers does."""
    from safetensors.torch import save_file
    from sentence_transformers import MultiVectorEncoder
    for name, special in (("embed-late", BERT_SPECIAL), ("embed-late-new", BERT_SPECIAL)):
        f = Folder(out, name, "bert", **special)
        f.model(hf.BertModel(bert_config(), add_pooling_layer=False), 25)
        os.makedirs(f.path + "/1_Dense")
        save_file({"linear.weight": torch.randn(12, 32, generator=torch.Generator().manual_seed(26)) * 0.2}, f.path + "/1_Dense/model.safetensors")
        linear = {"in_features": 32, "out_features": 12, "bias": False, "activation_function": "torch.nn.modules.linear.Identity"}
        if name == "embed-late":
            f.json("modules.json", [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}, {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"}])
            f.json("1_Dense/config.json", linear)
            f.json("sentence_bert_config.json", {"max_seq_length": 40, "do_lower_case": False})
            f.json("config_sentence_transformers.json", {"model_type": "ColBERT", "prompts": {}, "default_prompt_name": None, "similarity_fn_name": "MaxSim", "query_prefix": "[PAD] ", "document_prefix": "[D] ", "query_length": 24, "document_length": 50,
                                                         "attend_to_expansion_tokens": False, "skiplist_words": ["!", ".", ",", "?"]})
        else:
            kinds = ["base.modules.transformer.Transformer", "base.modules.dense.Dense", "multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask", "base.modules.normalize.Normalize"]
            f.json("modules.json", [{"idx": i, "name": str(i), "path": f"{i}_{k.rpartition('.')[2]}" if i else "", "type": "sentence_transformers." + k} for i, k in enumerate(kinds)])
            f.json("1_Dense/config.json", linear | {"module_input_name": "token_embeddings"})
            f.json("2_MultiVectorMask/config.json", {"skiplist_words": [".", "?"], "skiplist_tasks": ["query", "document"], "keep_only_token_ids": None})
            f.json("3_Normalize/config.json", {"module_input_name": "token_embeddings", "module_output_name": "token_embeddings"})
            f.json("sentence_bert_config.json", {"document_length": 44, "query_expansion": {"strategy": "min", "attend": True, "token": "[UNK]", "length": 20}})
            f.json("config_sentence_transformers.json", {"model_type": "MultiVectorEncoder", "prompts": {"query": "query: ", "document": ""}, "default_prompt_name": None, "similarity_fn_name": "meanmaxsim"})
        s = MultiVectorEncoder(f.path, device="cpu", model_kwargs={"dtype": torch.float32})
        q, d = s.encode_query(TEXTS), s.encode_document(TEXTS)
        flat = lambda vectors: [[floats(v) for v in x] for x in vectors]
        f.json("expected.json", {"texts": TEXTS, "queries": flat(q[:6]), "documents": flat(d[:6]), "scores": [floats(r) for r in s.similarity(q, d)]})


@folder("rerank-judge")
def _(out):
    """Qwen3-Reranker: its authors' way to ask, with the scores of yes against no."""
    f = Folder(out, "rerank-judge", "qwen3", tokenizer_class="Qwen2Tokenizer", model_max_length=131072, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    raw = tokenizers.Tokenizer.from_file(f.path + "/tokenizer.json")
    raw.add_tokens(["yes", "no"])
    raw.save(f.path + "/tokenizer.json")
    t = hf.AutoTokenizer.from_pretrained(f.path)
    end = t.convert_tokens_to_ids("<|im_end|>")
    c = hf.Qwen3Config(vocab_size=raw.get_vocab_size(), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=1024, bos_token_id=end, eos_token_id=end, tie_word_embeddings=True, use_sliding_window=False)
    m = f.model(hf.Qwen3ForCausalLM(c), 27)
    begin = '<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
    begin, finish = (t.encode(x, add_special_tokens=False) for x in (begin, "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"))
    query = "what is the capital of france?"

    def scores(instruction, limit):
        out = []
        for text in TEXTS:
            ids = t(f"<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {text}", truncation=True, max_length=limit - len(begin) - len(finish))["input_ids"]
            with torch.no_grad():
                logits = m(input_ids=torch.tensor([begin + ids + finish])).logits[0, -1]
            pair = torch.stack([logits[t.convert_tokens_to_ids(w)] for w in ("no", "yes")])
            out.append(float(pair.log_softmax(0)[1].exp()))
        return floats(out)

    f.json("expected.json", {"query": query, "texts": TEXTS, "scores": scores("Given a web search query, retrieve relevant passages that answer the query", 1024), "instruction": "Find the fox", "other": scores("Find the fox", 300)})


@folder("rerank-mxbai")
def _(out):
    """mxbai-rerank-v2: the way of its authors' package to ask, with the difference of the logits of 1 and 0."""
    f = Folder(out, "rerank-mxbai", "qwen3", tokenizer_class="Qwen2Tokenizer", model_max_length=32768, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    t = f.tokenizer
    end = t.convert_tokens_to_ids("<|im_end|>")
    c = hf.Qwen2Config(vocab_size=len(t), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=1024, bos_token_id=end, eos_token_id=end, tie_word_embeddings=True, use_sliding_window=False)
    m = f.model(hf.Qwen2ForCausalLM(c), 28)
    encode = lambda text, **how: t.encode(text, add_special_tokens=False, **how)
    begin = encode("<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n<|im_start|>user\n")
    task = encode("You are a search relevance expert who evaluates how well documents match search queries. For each query-document pair, carefully analyze the semantic relationship between them, then provide your binary relevance judgment (0 for not relevant, 1 for relevant).\nRelevance:")
    finish, between = encode("<|im_end|>\n<|im_start|>assistant\n"), encode("\n")

    def logits(query, instruction, limit):
        room = limit - len(begin) - len(task) - len(finish) - len(between)
        asked = encode((f"instruction: {instruction}\n" if instruction else "") + f"query: {query}", truncation=True, max_length=room * 3 // 4)
        out = []
        for text in TEXTS:
            ids = begin + (asked + between + encode(f"document: {text}", truncation=True, max_length=room))[:room] + between + task + finish
            with torch.no_grad():
                y = m(input_ids=torch.tensor([ids])).logits[0, -1]
            out.append(float(y[encode("1")[0]] - y[encode("0")[0]]))
        return floats(out)

    query = "what is the capital of france?"
    long = "which fox is quick, " * 60
    f.json("expected.json", {"query": query, "texts": TEXTS, "logits": logits(query, "", 1024), "instruction": "Find the fox", "other": logits(query, "Find the fox", 400), "long": long, "cut": logits(long, "", 600)})


@folder("rerank-list")
def _(out):
    """jina-reranker-v3: a list of texts in one window, whose vectors at special tokens are projected and compared, as the code in its
    authors' folder does. The longest texts and queries are parts of the length of a window, where theirs would be longer."""
    f = Folder(out, "rerank-list", "qwen3", tokenizer_class="Qwen2Tokenizer", model_max_length=131072, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    raw = tokenizers.Tokenizer.from_file(f.path + "/tokenizer.json")
    raw.add_special_tokens(["<|embed_token|>", "<|rerank_token|>"])
    raw.save(f.path + "/tokenizer.json")
    t = hf.AutoTokenizer.from_pretrained(f.path)
    document, asked = (t.convert_tokens_to_ids(x) for x in ("<|embed_token|>", "<|rerank_token|>"))

    class JinaForRanking(hf.Qwen3ForCausalLM):
        _tied_weights_keys = {}

        def __init__(self, config):
            super().__init__(config)
            self.lm_head = torch.nn.Identity()
            self.projector = torch.nn.Sequential(torch.nn.Linear(32, 16, bias=False), torch.nn.ReLU(), torch.nn.Linear(16, 24, bias=False))
            self.post_init()

    c = hf.Qwen3Config(vocab_size=raw.get_vocab_size(), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=131072, tie_word_embeddings=True, use_sliding_window=False)
    m = f.model(JinaForRanking(c), 29)
    begin = ("<|im_start|>system\nYou are a search relevance expert who can determine a ranking of the passages based on how relevant they are to the query. If the query is a question, how relevant a passage is depends on how well it answers the question. "
             "If not, try to analyze the intent of the query and assess how well each passage satisfies the intent. If an instruction is provided, you should follow the instruction when determining the ranking.<|im_end|>\n<|im_start|>user\n")

    def vectors(query, texts, instruction):
        clean = lambda x: x.replace("<|rerank_token|>", "").replace("<|embed_token|>", "")
        prompt = begin + f"I will provide you with {len(texts)} passages, each indicated by a numerical identifier. Rank the passages based on their relevance to query: {clean(query)}\n"
        prompt += f"<instruct>\n{instruction}\n</instruct>\n" if instruction else ""
        prompt += "\n".join(f'<passage id="{i}">\n{clean(x)}<|embed_token|>\n</passage>' for i, x in enumerate(texts)) + f"\n<query>\n{clean(query)}<|rerank_token|>\n</query>"
        ids = torch.tensor(t([prompt + "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"])["input_ids"])
        with torch.no_grad():
            x = m(input_ids=ids, output_hidden_states=True).hidden_states[-1][0]
            return m.projector(x[ids[0] == document]).numpy(), m.projector(x[ids[0] == asked])[0].numpy()

    def scores(query, texts, limit, instruction=""):
        def cut(text, most):
            ids = t(text, truncation=True, max_length=most)["input_ids"]
            return (t.decode(ids) if len(ids) >= most else text), len(ids)
        most = min(2048, limit // 2)
        cosine = lambda a, b: a @ b / np.linalg.norm(a, axis=-1) / np.linalg.norm(b)
        query, n = cut(query, min(512, limit // 8))
        lists, room = [], 0
        for text, size in (cut(x, most) for x in texts):
            if not lists or room <= most:
                lists, room = lists + [[]], limit - 2 * n
            lists[-1].append(text)
            room -= size
        parts = [vectors(query, x, instruction) for x in lists]
        asked = np.average([q for _, q in parts], axis=0, weights=[((1 + cosine(d, q)) / 2).max() for d, q in parts])
        return {"scores": floats(cosine(np.concatenate([d for d, _ in parts]), asked)), "lists": [len(x) for x in lists]}

    query, texts = "what is the capital of france?", TEXTS + ["a <|embed_token|>passage<|rerank_token|> with tokens"]
    cases = [{"query": query, "limit": 0} | scores(query, texts, 131072), {"query": query, "limit": 320} | scores(query, texts, 320), {"query": query * 20, "limit": 500} | scores(query * 20, texts, 500),
             {"query": query, "limit": 0, "instruction": "Find the fox"} | scores(query, texts, 131072, "Find the fox")]
    apart = [scores(query, [x], 131072)["scores"][0] for x in texts]
    f.json("expected.json", {"texts": texts, "cases": cases, "apart": apart})


@folder("rerank")
def _(out):
    from sentence_transformers import CrossEncoder
    f = Folder(out, "rerank", "bert", **BERT_SPECIAL)
    f.model(hf.BertForSequenceClassification(bert_config(num_labels=1)), 13, scale=[("classifier", 2)])
    query = "what is the capital of france?"
    e = CrossEncoder(f.path, device="cpu", max_length=96, model_kwargs={"dtype": torch.float32})
    f.json("expected.json", {"query": query, "texts": TEXTS, "scores": floats(e.predict([(query, t) for t in TEXTS])), "ranked": [r["corpus_id"] for r in e.rank(query, TEXTS)]})


def classifier(out, name, seed, **config):
    f = Folder(out, name, "bert", **BERT_SPECIAL)
    m = f.model(hf.BertForSequenceClassification(bert_config(**config)), seed)
    p = hf.pipeline("text-classification", model=m, tokenizer=f.tokenizer, device="cpu")
    f.json("expected.json", {"texts": TEXTS, "results": p(TEXTS, top_k=None, truncation=True, max_length=96)})
    if "entailment" in m.config.label2id:
        zero_shot(f, m)


@folder("classify")
def _(out):
    classifier(out, "classify", 14, id2label={0: "contradiction", 1: "entailment", 2: "neutral"}, label2id={"contradiction": 0, "entailment": 1, "neutral": 2})


@folder("classify-multi")
def _(out):
    classifier(out, "classify-multi", 15, problem_type="multi_label_classification", id2label={i: w for i, w in enumerate("joy anger fear".split())}, label2id={w: i for i, w in enumerate("joy anger fear".split())})


def zero_shot(f, m):
    p = hf.pipeline("zero-shot-classification", model=m, tokenizer=f.tokenizer, device="cpu")
    texts, labels = [t for t in TEXTS[:7] if t.strip()], ["travel", "the French language", "science"]
    ask = lambda **how: [[{"label": l, "score": s} for l, s in zip(p(t, labels, **how)["labels"], p(t, labels, **how)["scores"])] for t in texts]
    f.json("zero_shot.json", {"texts": texts, "labels": labels, "results": ask(), "independent": ask(multi_label=True), "template": ask(hypothesis_template="{} is the topic.")})


@folder("fill-mask")
def _(out):
    f = Folder(out, "fill-mask", "bert", **BERT_SPECIAL)
    m = f.model(hf.BertForMaskedLM(bert_config()), 21)
    p = hf.pipeline("fill-mask", model=m, tokenizer=f.tokenizer, device="cpu")
    texts = ["The quick [MASK] fox.", "[MASK]", "Où est la [MASK] ? 東京は [MASK] の首都です。", "In 2017 eight authors wrote that [MASK] is all you need."]
    results = [[r] if isinstance(r[0], dict) else r for r in (p(t, top_k=4) for t in texts)]
    f.json("expected.json", {"texts": texts, "k": 4, "results": results})


@folder("next-sentence")
def _(out):
    f = Folder(out, "next-sentence", "bert", **BERT_SPECIAL)
    m = f.model(hf.BertForNextSentencePrediction(bert_config()), 22, scale=[("seq_relationship", 2)])
    pairs = [[TEXTS[0], TEXTS[1]], [TEXTS[3], ""], [TEXTS[4], TEXTS[7]], ["", ""]]
    with torch.no_grad():
        logits = [m(**f.tokenizer([a], [b], return_tensors="pt", truncation=True, max_length=96)).logits[0] for a, b in pairs]
    f.json("expected.json", {"pairs": pairs, "logits": [floats(l) for l in logits], "follows": floats([l.softmax(-1)[0] for l in logits])})


@folder("answer")
def _(out):
    """expected.json is written by questions.py: the pipeline is one of transformers 4."""
    f = Folder(out, "answer", "bert", **BERT_SPECIAL)
    f.model(hf.BertForQuestionAnswering(bert_config()), 23, scale=[("qa_outputs", 6)])


@folder("tokens")
def _(out):
    labels = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    f = Folder(out, "tokens", "bert-classify", **BERT_SPECIAL, do_lower_case=False)
    m = f.model(hf.BertForTokenClassification(bert_config(id2label=dict(enumerate(labels)), label2id={w: i for i, w in enumerate(labels)})), 16, scale=[("classifier", 2)])
    texts = [t for t in TEXTS[:7] if t.strip()]
    expected = {"texts": texts}
    for strategy in ("none", "simple", "first", "average", "max"):
        p = hf.pipeline("token-classification", model=m, tokenizer=f.tokenizer, device="cpu", aggregation_strategy=strategy)
        expected[strategy] = [[{"label": e.get("entity_group", e.get("entity")), "score": float(e["score"]), "start": e["start"], "end": e["end"]} for e in r] for r in p(texts)]
    f.json("expected.json", expected)


def unambiguous(m, run, seed, eos=None, **draw):
    """Draws weights until run's logits are never close; run returns texts or ids."""
    for s in range(seed, seed + 200):
        redraw(m, s, **draw)
        for p in m.parameters():
            p.data = p.data.to(torch.bfloat16).float()
        margin, result = run(m)
        if margin > 0.004 and result:
            return s
    raise RuntimeError("no weights decode unambiguously")


def margin_of(m, ids, new, **inputs):
    o = m.generate(ids, max_new_tokens=new, do_sample=False, return_dict_in_generate=True, output_scores=True, **inputs)
    gaps = [float(s[0].topk(2).values.diff().abs()) for s in o.scores]
    return min(gaps), o.sequences[0].tolist()


PROMPTS = ["The quick brown", "My neighbour reads the long letter in the morning, and"]
CHAT = [{"role": "system", "content": "You are a pirate."}, {"role": "user", "content": "Hello, wörld! How are you?"}]


@folder("generate")
def _(out):
    f = Folder(out, "generate", "qwen2", eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=chat_templates.TEMPLATES["qwen2.5"])
    c = hf.Qwen2Config(vocab_size=563, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, bos_token_id=None, eos_token_id=562, tie_word_embeddings=False, use_sliding_window=False)
    m = hf.Qwen2ForCausalLM(c).eval()
    encode = lambda p: f.tokenizer(p, return_tensors="pt").input_ids
    chat = f.tokenizer.apply_chat_template(CHAT, add_generation_prompt=True, tokenize=False)
    prompts = [encode(p) for p in PROMPTS] + [f.tokenizer(chat, return_tensors="pt", add_special_tokens=False).input_ids]

    def run(m):
        runs = [margin_of(m, p, 16) for p in prompts]
        lists = [r[len(p[0]):] for (_, r), p in zip(runs, prompts)]
        return min(g for g, _ in runs), all(len(set(l)) > 3 and 562 not in l for l in lists)

    with torch.no_grad():
        draw = dict(scale=[("lm_head", 3)])
        m = f.model(m, unambiguous(m, run, 1700, **draw), **draw)
        texts = [f.tokenizer.decode(m.generate(p, max_new_tokens=16, do_sample=False)[0, p.shape[1]:], skip_special_tokens=True) for p in prompts]
    f.json("expected.json", {"prompts": PROMPTS, "chat": CHAT, "rendered": chat, "texts": texts, "max_tokens": 16})


def seq2seq(out, name, tokenizer, special, model, seed, **draw):
    f = Folder(out, name, tokenizer, **special)
    texts = [TEXTS[0], TEXTS[1], TEXTS[4], TEXTS[5]]
    prefix = "summarize: " if name == "summarize" else ""
    inputs = [f.tokenizer(prefix + t, return_tensors="pt").input_ids for t in texts]

    def run(m):
        runs = [margin_of(m, p, 20) for p in inputs]
        return min(g for g, _ in runs), all(len(set(r)) > 3 for _, r in runs)

    with torch.no_grad():
        m = f.model(model.eval(), unambiguous(model.eval(), run, seed, **draw), **draw)
        decode = lambda p, beams: f.tokenizer.decode(m.generate(p, max_new_tokens=20, num_beams=beams, do_sample=False)[0], skip_special_tokens=True)
        expected = {"texts": texts, "greedy": [decode(p, 1) for p in inputs], "beam4": [decode(p, 4) for p in inputs], "max_tokens": 20}
    if prefix:
        path = os.path.join(f.path, "config.json")
        c = json.load(open(path)) | {"task_specific_params": {"summarization": {"prefix": prefix, "max_length": 21, "num_beams": 1}}}
        f.json("config.json", c)
    f.json("expected.json", expected)


@folder("translate")
def _(out):
    c = hf.MarianConfig(vocab_size=502, max_position_embeddings=96, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
                        activation_function="swish", scale_embedding=True, pad_token_id=501, decoder_start_token_id=501, eos_token_id=0, forced_eos_token_id=None)
    seq2seq(out, "translate", "marian", dict(eos_token="</s>", unk_token="<unk>", pad_token="<pad>"), hf.MarianMTModel(c), 1800, keep=["embed_positions"], scale=[("shared", 0.5), ("encoder_attn.out_proj", 0.6), ("fc2", 5)])


@folder("summarize")
def _(out):
    c = hf.T5Config(vocab_size=504, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_decoder_layers=2, num_heads=4, relative_attention_num_buckets=16, relative_attention_max_distance=24, decoder_start_token_id=0, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    seq2seq(out, "summarize", "t5", dict(eos_token="</s>", unk_token="<unk>", pad_token="<pad>"), hf.T5ForConditionalGeneration(c), 1900, scale=[(".q.", 8 ** -0.5), ("lm_head", 4)])


@folder("transcribe")
def _(out):
    from audio import speechlike
    f = Folder(out, "transcribe", "whisper", eos_token="<|endoftext|>", pad_token="<|endoftext|>", bos_token="<|endoftext|>")
    extractor = hf.WhisperFeatureExtractor(feature_size=80, chunk_length=2)
    extractor.save_pretrained(f.path)
    ids = f.tokenizer.convert_tokens_to_ids
    end = ids("<|endoftext|>")
    c = hf.WhisperConfig(vocab_size=len(f.tokenizer), num_mel_bins=80, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
                         max_source_positions=100, max_target_positions=64, begin_suppress_tokens=None, pad_token_id=end, bos_token_id=end, eos_token_id=end, decoder_start_token_id=ids("<|startoftranscript|>"))
    sounds = [np.clip(np.asarray(speechlike(n, s)), -1, 1) for n, s in ((28000, 1), (16000, 2))]
    pcm = [np.round(s * 32767).astype("<i2") for s in sounds]
    prompt = [ids(f"<|{w}|>") for w in ("startoftranscript", "en", "transcribe", "notimestamps")]
    features = [torch.tensor(extractor(p.astype(np.float32) / 32768, sampling_rate=16000, return_tensors="np").input_features) for p in pcm]

    def greedy(m, x):
        out, gap = list(prompt), float("inf")
        for _ in range(20):
            best = m(input_features=x, decoder_input_ids=torch.tensor([out]), use_cache=False).logits[0, -1].topk(2)
            gap = min(gap, float(best.values[0] - best.values[1]))
            if int(best.indices[0]) == end:
                break
            out.append(int(best.indices[0]))
        return gap, out[len(prompt):]

    def run(m):
        runs = [greedy(m, x) for x in features]
        return min(g for g, _ in runs), all(len(set(r)) > 6 for _, r in runs)

    draw = dict(keep=["encoder.embed_positions"], scale=[("embed_tokens", 0.2)])
    model = hf.WhisperForConditionalGeneration(c).eval()
    with torch.no_grad():
        m = f.model(model, unambiguous(model, run, 2000, **draw), **draw)
        texts = [f.tokenizer.decode(greedy(m, x)[1], skip_special_tokens=True) for x in features]
    for i, p in enumerate(pcm):
        with wave.open(os.path.join(f.path, f"sound{i}.wav"), "wb") as w:
            w.setnchannels(1), w.setsampwidth(2), w.setframerate(16000), w.writeframes(p.tobytes())
    f.json("expected.json", {"sounds": [f"sound{i}.wav" for i in range(len(pcm))], "texts": texts, "language": "en", "max_tokens": 20})


@folder("transcribe-waves")
def _(out):
    """A Moonshine. Sound is that of the folder transcribe: of one stretch, and of two, as Waves.Next of package speech cuts them."""
    f = Folder(out, "transcribe-waves", "llama-untied", bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>")
    extractor = hf.Wav2Vec2FeatureExtractor(do_normalize=False, return_attention_mask=True)
    extractor.save_pretrained(f.path)
    c = hf.MoonshineConfig(vocab_size=len(f.tokenizer), hidden_size=16, intermediate_size=24, encoder_num_hidden_layers=1, decoder_num_hidden_layers=1, encoder_num_attention_heads=2, decoder_num_attention_heads=2,
                           max_position_embeddings=194, pad_token_id=2, pad_head_dim_to_multiple_of=8, rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.8))

    def read(name):
        with wave.open(os.path.join(HERE, "../testdata/transcribe", name)) as w:
            return np.frombuffer(w.readframes(w.getnframes()), "<i2").astype(np.float32) / 32768

    def stretches(x):
        """The lengths of stretches."""
        if len(x) <= 480000:
            return [len(x)]
        loud = (x[384000:464000].astype(np.float64) ** 2).reshape(-1, 160).sum(1)
        tenths = np.convolve(loud, np.ones(10), "valid")
        cut = 384000 + (len(tenths) - 1 - int(tenths[::-1].argmin()) + 5) * 160
        return [cut, *stretches(x[cut:])]

    def hear(m, x, noise=0.0):
        inputs = extractor(x + noise * np.random.default_rng(1).standard_normal(len(x)).astype(np.float32), sampling_rate=16000, return_tensors="pt")
        return m.generate(**inputs, max_length=max(int(len(x) * 6.5 / 16000), 2), do_sample=False, num_beams=1)[0].tolist()

    sounds = [["sound0.wav"], ["sound1.wav", "sound0.wav"] * 12]
    samples = [np.concatenate([read(n) for n in names]) for names in sounds]
    model = hf.MoonshineForConditionalGeneration(c).eval()
    draw = dict(scale=[("embed_tokens", 0.2)])
    for seed in range(6000, 7000):
        redraw(model, seed, **draw)
        for p in model.parameters():
            p.data = p.data.to(torch.bfloat16).float()
        with torch.no_grad():
            got = [hear(model, samples[0])]
            if len(set(got[0])) < 5 or got != [hear(model, samples[0], 1e-4)]:
                continue
            at, several = 0, []
            for n in stretches(samples[1]):
                several.append(hear(model, samples[1][at:at + n]))
                if several[-1] != hear(model, samples[1][at:at + n], 1e-4):
                    break
                at += n
            texts = [f.tokenizer.decode(ids, skip_special_tokens=True) for ids in several]
            if at == len(samples[1]) and all(len(set(s)) > 4 for s in several) and several[0][-1] == 2 and texts[0] and texts[1] and texts[0] != texts[1]:
                break
    else:
        raise SystemExit("no weights write texts unambiguously")
    model.to(torch.bfloat16).save_pretrained(f.path)
    model = type(model).from_pretrained(f.path, dtype=torch.float32, attn_implementation="eager").eval()
    recognize = hf.pipeline("automatic-speech-recognition", model=model, tokenizer=f.tokenizer, feature_extractor=extractor)
    texts = [recognize(samples[0].copy(), generate_kwargs={"max_length": int(len(samples[0]) * 6.5 / 16000), "max_new_tokens": None, "num_beams": 1})["text"], " ".join(texts)]
    assert texts[0] == f.tokenizer.decode(got[0], skip_special_tokens=True)
    f.json("expected.json", {"stretches": stretches(samples[1]), "cases": [{"sounds": n, "text": t} for n, t in zip(sounds, texts)]})


@folder("transcribe-times")
def _(out):
    """Segments with timestamps, of sound within what the model listens to at once, and beyond it. Tokens of timestamps are more than the
    tokenizer has. Sound is that of the folder transcribe."""
    f = Folder(out, "transcribe-times", "whisper", eos_token="<|endoftext|>", pad_token="<|endoftext|>", bos_token="<|endoftext|>")
    extractor = hf.WhisperFeatureExtractor(feature_size=80, chunk_length=2)
    extractor.save_pretrained(f.path)
    ids = f.tokenizer.convert_tokens_to_ids
    end, first = ids("<|endoftext|>"), ids("<|notimestamps|>") + 1
    c = hf.WhisperConfig(vocab_size=first + 101, num_mel_bins=80, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
                         max_source_positions=100, max_target_positions=64, begin_suppress_tokens=None, pad_token_id=end, bos_token_id=end, eos_token_id=end, decoder_start_token_id=ids("<|startoftranscript|>"))

    def read(name):
        with wave.open(os.path.join(HERE, "../testdata/transcribe", name)) as w:
            return np.frombuffer(w.readframes(w.getnframes()), "<i2").astype(np.float32) / 32768

    sounds = [["sound0.wav"], ["sound1.wav", "sound0.wav", "sound1.wav"]]
    samples = [np.concatenate([read(n) for n in names]) for names in sounds]

    def segments(m, x, noise=0.0):
        if len(x) <= 32000:
            features = extractor(x, sampling_rate=16000, return_tensors="pt").input_features
        else:
            features = extractor(x, sampling_rate=16000, return_tensors="pt", truncation=False, padding="longest").input_features
        features = features + noise * torch.randn(features.shape, generator=torch.Generator().manual_seed(1))
        o = m.generate(features, return_timestamps=True, return_segments=True, language="en", task="transcribe", max_new_tokens=24, num_beams=1, do_sample=False)
        return [(round(float(s["start"]), 4), round(float(s["end"]), 4), f.tokenizer.decode([t for t in s["tokens"].tolist() if t < first], skip_special_tokens=True)) for s in o["segments"][0]]

    settings = dict(no_timestamps_token_id=first - 1, lang_to_id={"<|en|>": ids("<|en|>"), "<|fr|>": ids("<|fr|>")}, task_to_id={"transcribe": ids("<|transcribe|>"), "translate": ids("<|transcribe|>")}, is_multilingual=True,
                    pad_token_id=end, bos_token_id=end, eos_token_id=end, decoder_start_token_id=c.decoder_start_token_id, max_initial_timestamp_index=20, suppress_tokens=[5, 300], begin_suppress_tokens=[7, end], alignment_heads=[[0, 1], [0, 3]])
    model = hf.WhisperForConditionalGeneration(c).eval()
    draw = dict(keep=["encoder.embed_positions"], scale=[("embed_tokens", 0.2)])
    for seed in range(4000, 4400):
        redraw(model, seed, **draw)
        with torch.no_grad():
            model.model.decoder.embed_tokens.weight[first:] *= 0.7
            for p in model.parameters():
                p.data = p.data.to(torch.bfloat16).float()
        model.generation_config = hf.GenerationConfig(**settings)
        with torch.no_grad():
            got = [segments(model, x) for x in samples]
            varied = all(len(g) > 2 and any(len(t) > 3 for _, _, t in g) for g in got) and max(g[-1][1] for g in got) > 2.4
            if varied and all(segments(model, x, noise=1e-3) == g for x, g in zip(samples, got)):
                break
    else:
        raise SystemExit("no weights write timestamps unambiguously")
    model.to(torch.bfloat16).save_pretrained(f.path)
    model = type(model).from_pretrained(f.path, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        got = [segments(model, x) for x in samples]
    f.json("expected.json", {"language": "en", "max_tokens": 24, "cases": [{"sounds": n, "segments": [dict(start=a, end=b, text=t) for a, b, t in g]} for n, g in zip(sounds, got)]})


@folder("characters")
def _(out):
    """Characters of speech, with their times and those of words."""
    f = Folder(out, "characters")
    letters = ["<pad>", "<s>", "</s>", "<unk>", "|"] + list("ETAONIHSRDLUMWCFGYPBVK'XJQZ")
    f.json("vocab.json", {w: i for i, w in enumerate(letters)})
    tokenizer = hf.Wav2Vec2CTCTokenizer(os.path.join(f.path, "vocab.json"))
    tokenizer.save_pretrained(f.path)
    extractor = hf.Wav2Vec2FeatureExtractor()
    extractor.save_pretrained(f.path)
    c = hf.Wav2Vec2Config(vocab_size=len(letters), hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48, conv_dim=[16, 24, 16], conv_stride=[10, 8, 4], conv_kernel=[12, 8, 4], num_conv_pos_embeddings=6, num_conv_pos_embedding_groups=4)
    with wave.open(os.path.join(HERE, "../testdata/transcribe/sound0.wav")) as w:
        x = np.frombuffer(w.readframes(w.getnframes()), "<i2").astype(np.float32) / 32768
    model = hf.Wav2Vec2ForCTC(c).eval()
    for seed in range(5000, 5400):
        redraw(model, seed)
        with torch.no_grad():
            for p in model.parameters():
                p.data = p.data.to(torch.bfloat16).float()
            best = model(extractor(x, sampling_rate=16000, return_tensors="pt").input_values).logits[0].topk(2)
        chosen = best.indices[:, 0]
        if (best.values[:, 0] - best.values[:, 1]).min() > 1e-3 and {0, 4} <= set(chosen.tolist()) and len(set(chosen.tolist())) > 8:
            break
    else:
        raise SystemExit("no weights write characters unambiguously")
    model.to(torch.bfloat16).save_pretrained(f.path)
    model = type(model).from_pretrained(f.path, dtype=torch.float32, attn_implementation="eager").eval()
    recognize = hf.pipeline("automatic-speech-recognition", model=model, tokenizer=tokenizer, feature_extractor=extractor)
    expected = {"sound": "sound0.wav", **heard(recognize, x)}
    # Sound of 71 seconds is four windows. Each repetition has a loudness of its own, so that windows differ in mean and variance.
    times, samples = 41, 71 * 16000 + 123
    long = heard(recognize, np.concatenate([x * np.float32(2.0 ** -(i % 5)) for i in range(times)])[:samples], chunk_length_s=30)
    states = [round(w[end] * 50) for w in long["words"] for end in ("start", "end")]  # 50 a second
    f.json("expected.json", {**expected, "long": {"samples": samples, "text": long["text"], "words": states}})


def heard(recognize, x, **windows):
    """The text of samples, and the times of its characters and words."""
    by = {unit: recognize(x.copy(), return_timestamps=unit, **windows) for unit in ("char", "word")}
    chunks = {unit: [dict(start=c["timestamp"][0], end=c["timestamp"][1], text=c["text"]) for c in r["chunks"]] for unit, r in by.items()}
    return {"text": by["char"]["text"], "characters": chunks["char"], "words": chunks["word"]}


def samples_of(*names):
    """The samples of files of the folder transcribe, one after the other."""
    all = []
    for name in names:
        with wave.open(os.path.join(HERE, "../testdata/transcribe", name)) as w:
            all.append(np.frombuffer(w.readframes(w.getnframes()), "<i2").astype(np.float32) / 32768)
    return np.concatenate(all)


def windows_of(n, step, length):
    """Windows of n samples: where each begins and ends, and which of its hidden states count; None is for all to the end."""
    length, stride = length * step, min(5 * 16000 // step, round(length / 6)) * step
    at, all = 0, []
    while n - at > length:
        all.append((at, at + length, stride // step if at else 0, (length - stride) // step))
        at += length - 2 * stride
    return all + [(at, n, stride // step if at else 0, None)]


PARAKEET = dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48, subsampling_conv_channels=8, max_position_embeddings=24)
PARAKEET_SOUNDS = [["sound0.wav"], ["sound0.wav", "sound1.wav", "sound0.wav"]]  # of one window, and of several


def pieces_of(f, said):
    """Pieces of words with their times, of tokens, where each begins and how long it is in hidden states; and words."""
    stream, pieces, words = tokenizers.decoders.DecodeStream(skip_special_tokens=True), [], []
    for token, at, n in said:
        text = stream.step(f.tokenizer._tokenizer, token)
        if text is None:
            continue
        pieces.append(dict(start=at * 0.08, end=(at + n) * 0.08, text=text))
        if text.startswith(" ") or not words:
            words.append(dict(pieces[-1], text=text.removeprefix(" ")))
        else:
            words[-1].update(end=pieces[-1]["end"], text=words[-1]["text"] + text)
    return pieces, words


@folder("pieces")
def _(out):
    """Pieces of words of a Parakeet, with their times and those of words."""
    f = Folder(out, "pieces", "t5", tokenizer_class="ParakeetTokenizer", pad_token="<pad>", unk_token="<unk>")
    extractor = hf.ParakeetFeatureExtractor()
    extractor.save_pretrained(f.path)
    pad = f.tokenizer.pad_token_id
    model = hf.ParakeetForCTC(hf.ParakeetCTCConfig(vocab_size=len(f.tokenizer), pad_token_id=pad, encoder_config=PARAKEET)).eval()
    sounds = [samples_of(*names) for names in PARAKEET_SOUNDS]

    def logits(m, x):
        with torch.no_grad():
            return torch.cat([m(**extractor(x[a:b], sampling_rate=16000, return_tensors="pt")).logits[0, : (b - a) // 160 + 7 >> 3][i:j] for a, b, i, j in windows_of(len(x), 1280, 24)])

    for seed in range(5500, 5900):
        redraw(model, seed)
        for p in model.parameters():
            p.data = p.data.to(torch.bfloat16).float()
        best = [logits(model, x).topk(2) for x in sounds]
        chosen = [b.indices[:, 0].tolist() for b in best]
        if all((b.values[:, 0] - b.values[:, 1]).min() > 1e-3 for b in best) and all(pad in c and len(set(c)) > 6 and any(a == b != pad for a, b in zip(c, c[1:])) for c in chosen):
            break
    else:
        raise SystemExit("no weights write pieces unambiguously")
    model.to(torch.bfloat16).save_pretrained(f.path)
    model = type(model).from_pretrained(f.path, dtype=torch.float32, attn_implementation="eager").eval()
    recognize = hf.pipeline("automatic-speech-recognition", model=model, tokenizer=f.tokenizer, feature_extractor=extractor)
    cases = []
    for names, x in zip(PARAKEET_SOUNDS, sounds):
        ids, said = logits(model, x).argmax(-1).tolist(), []
        for at, token in enumerate(ids):
            if token == pad:
                continue
            if at and ids[at - 1] == token:
                said[-1][2] += 1
            else:
                said.append([token, at, 1])
        text, (pieces, words) = f.tokenizer.decode(ids, skip_special_tokens=True), pieces_of(f, said)
        assert len(names) > 1 or text == recognize(x.copy())["text"]
        cases.append({"sounds": names, "text": text, "pieces": pieces, "words": words})
    f.json("expected.json", {"cases": cases})


@folder("transducer")
def _(out):
    """Pieces of words of a Parakeet with a transducer."""
    f = Folder(out, "transducer", "t5", tokenizer_class="ParakeetTokenizer", pad_token="<pad>", unk_token="<unk>")
    extractor = hf.ParakeetFeatureExtractor()
    extractor.save_pretrained(f.path)
    blank = len(f.tokenizer)
    c = hf.ParakeetTDTConfig(vocab_size=blank + 1, pad_token_id=0, blank_token_id=blank, decoder_hidden_size=24, max_symbols_per_step=3, encoder_config=PARAKEET)
    model, sounds = hf.ParakeetForTDT(c).eval(), [samples_of(*names) for names in PARAKEET_SOUNDS]
    how = dict(decoder_start_token_id=blank, suppress_tokens=list(range(blank + 1, blank + 6)))

    def said(m, x, noise=0.0):
        """Tokens, where each begins, and how many hidden states it is about. Of several windows the hidden states are joined."""
        parts = []
        for a, b, i, j in windows_of(len(x), 1280, 24):
            o = extractor(x[a:b], sampling_rate=16000, return_tensors="pt")
            features = o.input_features + noise * torch.randn(o.input_features.shape, generator=torch.Generator().manual_seed(1)) * o.attention_mask[..., None]
            parts.append(m.get_audio_features(features, attention_mask=o.attention_mask).pooler_output[:, : (b - a) // 160 + 7 >> 3][:, i:j])
        hidden, at, out, tokens, cache = torch.cat(parts, 1), 0, [], [blank], hf.models.parakeet.generation_parakeet.ParakeetRNNTDecoderCache(m.config)
        for _ in range(3 * ((len(x) // 160 + 8) >> 3) - 1):
            if at >= hidden.shape[1]:
                break
            logits = m.joint(encoder_hidden_states=hidden[:, at:at + 1, None], decoder_hidden_states=m.decoder(torch.tensor([tokens[-1:]]), cache=cache)[:, None])[0, 0, 0]
            token, n = int(logits[:blank + 1].argmax()), int(logits[blank + 1:].argmax())
            if token != blank:
                out.append([token, at, n])
            tokens.append(token)
            at += max(n, 1) if token == blank else n
        return out

    for seed in range(5900, 6300):
        redraw(model, seed, scale=[("encoder_projector", 3), ("joint.head", 2)])
        with torch.no_grad():
            model.joint.head.bias[blank] += 2
            model.joint.head.bias[blank + 1] -= 1
            for p in model.parameters():
                p.data = p.data.to(torch.bfloat16).float()
            all = [said(model, x) for x in sounds]
            if all[0] and len({t for t, _, _ in all[0]}) > 5 and len({n for _, _, n in all[1]}) > 2 and len(all[1]) < 100 and all[1][-1][1] > 40 and all == [said(model, x, 1e-3) for x in sounds]:
                break
    else:
        raise SystemExit("no weights write pieces unambiguously")
    model.generation_config = hf.GenerationConfig(**how)
    model.to(torch.bfloat16).save_pretrained(f.path)
    model = type(model).from_pretrained(f.path, dtype=torch.float32, attn_implementation="eager").eval()
    cases = []
    for names, x in zip(PARAKEET_SOUNDS, sounds):
        with torch.no_grad():
            ids = said(model, x)
            text, (pieces, words) = f.tokenizer.decode([t for t, _, _ in ids], group_tokens=False, skip_special_tokens=True), pieces_of(f, ids)
            if len(names) == 1:
                o = model.generate(**extractor(x, sampling_rate=16000, return_tensors="pt"), **how)
                kept = [(t, d) for t, d in zip(o.sequences[0].tolist(), o.durations[0].tolist()) if t != blank]
                assert kept == [(t, n) for t, _, n in ids], (kept, ids)
        cases.append({"sounds": names, "text": text, "pieces": pieces, "words": words})
    f.json("expected.json", {"cases": cases})


IMAGES = ["landscape.png", "portrait-rgba.png", "landscape-grey.png"]


@folder("image")
def _(out):
    f = Folder(out, "image")
    labels = ["cat", "dog", "bird", "ship", "car"]
    m = f.model(hf.ViTForImageClassification(hf.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8, id2label=dict(enumerate(labels)), label2id={w: i for i, w in enumerate(labels)})), 17)
    f.json("preprocessor_config.json", {"do_normalize": True, "do_resize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "image_processor_type": "ViTImageProcessor", "resample": 2, "size": {"height": 32, "width": 32}})
    processor = hf.AutoImageProcessor.from_pretrained(f.path, backend="pil")
    results, hidden = [], []
    for name in IMAGES:
        image = Image.open(os.path.join(HERE, "../internal/vision/testdata", name)).convert("RGB")
        x = torch.tensor(np.asarray(processor(image, return_tensors="np")["pixel_values"]))
        with torch.no_grad():
            p = m(x).logits.softmax(-1)[0]
            hidden.append(floats(m.vit(x).last_hidden_state[0, 0]))
        results.append(sorted(({"label": labels[i], "score": float(p[i])} for i in range(5)), key=lambda r: -r["score"]))
    f.json("expected.json", {"images": IMAGES, "results": results, "vectors": hidden})


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    hf.logging.set_verbosity_error()
    for name in sys.argv[2:] or MADE:
        MADE[name](sys.argv[1])
        print(name, flush=True)


if __name__ == "__main__":
    main()
