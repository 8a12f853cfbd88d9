#!/usr/bin/env python3
"""Makes encoders of published shapes with random weights, for `avoformer bench`.

    bench_folders.py VOCABULARY OUT

VOCABULARY is a folder with a tokenizer.json of some 30,000 pieces (vocabularies.py makes
wordpiece-bert-30k). OUT gets minilm (6 layers, 384 wide, 12 heads, 1536 within) and
bge-base (12, 768, 12, 3072), each with modules.json for the mean, normalized, and
onnx/model.onnx, exported, optimised by onnxruntime's transformer optimiser, and
onnx/model_int8.onnx, quantised dynamically per channel. Needs torch, transformers, onnx,
onnxscript, onnxruntime."""

import json, os, shutil, sys

import onnx
import torch
import transformers as hf

SHAPES = {"minilm": (6, 384, 12, 1536), "bge-base": (12, 768, 12, 3072)}


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        json.dump(value, f, indent=1)


class Encoder(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).last_hidden_state


def export(model, path, heads, dim):
    ids = torch.randint(5, 1000, (2, 16))
    plain = os.path.join(path, "plain.onnx")
    names = ["input_ids", "attention_mask", "token_type_ids"]
    torch.onnx.export(Encoder(model), (ids, torch.ones_like(ids), torch.zeros_like(ids)), plain, input_names=names, output_names=["last_hidden_state"],
                      dynamic_axes={n: {0: "batch", 1: "length"} for n in names + ["last_hidden_state"]}, opset_version=17, dynamo=False)
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers.optimizer import optimize_model
    m = optimize_model(plain, model_type="bert", num_heads=heads, hidden_size=dim)
    m.save_model_to_file(os.path.join(path, "model.onnx"))
    quantize_dynamic(os.path.join(path, "model.onnx"), os.path.join(path, "model_int8.onnx"), per_channel=True, weight_type=QuantType.QInt8,
                     extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
    os.remove(plain)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    vocabulary, out = sys.argv[1:]
    with open(os.path.join(vocabulary, "tokenizer.json")) as f:
        size = len(json.load(f)["model"]["vocab"])
    for name, (layers, dim, heads, within) in SHAPES.items():
        path = os.path.join(out, name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(os.path.join(path, "onnx"))
        torch.manual_seed(1)
        m = hf.BertModel(hf.BertConfig(vocab_size=size, hidden_size=dim, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=within, attn_implementation="eager"), add_pooling_layer=False).eval()
        m.save_pretrained(path)
        shutil.copy(os.path.join(vocabulary, "tokenizer.json"), path)
        write(os.path.join(path, "tokenizer_config.json"), {"tokenizer_class": "BertTokenizer", "model_max_length": 512, "do_lower_case": True, "pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"})
        write(os.path.join(path, "modules.json"), [{"idx": i, "name": str(i), "path": f"{i}_{k}" if i else "", "type": f"sentence_transformers.models.{k}"} for i, k in enumerate(["Transformer", "Pooling", "Normalize"])])
        write(os.path.join(path, "sentence_bert_config.json"), {"max_seq_length": 256, "do_lower_case": False})
        write(os.path.join(path, "1_Pooling/config.json"), {"word_embedding_dimension": dim, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True})
        with torch.no_grad():
            export(m, os.path.join(path, "onnx"), heads, dim)
        print(name, flush=True)


if __name__ == "__main__":
    main()
