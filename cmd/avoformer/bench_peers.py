"""One engine of `avoformer bench`: the first line of standard input says what to measure,
and each further line is a job, whose answer is a line of JSON. Texts of a bulk run are
sorted by length and go through in padded batches of 8."""

import json, os, sys, time

work = json.loads(sys.stdin.readline())
engine = work["engine"]
os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")


def answer(x):
    print(json.dumps(x), flush=True)


def problem(why):
    answer("not measured: " + str(why).split("\n")[0][:100])
    sys.exit(0)


try:
    import numpy
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(os.path.join(work["dir"], "tokenizer.json"))
    limit = 512
    for name, field in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        if os.path.exists(os.path.join(work["dir"], name)):
            with open(os.path.join(work["dir"], name)) as f:
                limit = min(limit, json.load(f).get(field) or limit)
    tokenizer.enable_truncation(limit)
    tokenizer.enable_padding()
except Exception as e:
    problem(e)


def inputs(texts):
    e = tokenizer.encode_batch(texts)
    return {k: numpy.array([getattr(x, a) for x in e], numpy.int64) for k, a in (("input_ids", "ids"), ("attention_mask", "attention_mask"), ("token_type_ids", "type_ids"))}


def pool(h, mask):
    mask = mask[..., None].astype(numpy.float32)
    v = (h * mask).sum(1) / mask.sum(1)
    return v / numpy.linalg.norm(v, axis=1, keepdims=True)


def onnx_file(name):
    return next((p for p in (os.path.join(work["dir"], n) for n in ("onnx/" + name, name)) if os.path.exists(p)), None)


def torch_model(bf16):
    import torch
    from transformers import AutoModel

    torch.set_num_threads(work["threads"])
    return torch, AutoModel.from_pretrained(work["dir"], dtype=torch.bfloat16 if bf16 else torch.float32).eval()


if engine.startswith("torch"):
    try:
        torch, model = torch_model(engine == "torch-bf16")
    except Exception as e:
        problem(e)

    def run(texts):
        x = {k: torch.from_numpy(v) for k, v in inputs(texts).items()}
        with torch.inference_mode():
            h = model(**x).last_hidden_state
            mask = x["attention_mask"][..., None]
            return torch.nn.functional.normalize((h * mask).sum(1) / mask.sum(1), dim=1).float().numpy()
elif engine.startswith("openvino"):
    # OpenVINO converts the folder's ONNX file, or PyTorch's model, which it traces.
    precision = "bf16" if engine == "openvino-bf16" else "f32"
    try:
        import openvino

        source, example = onnx_file("model.onnx"), {}
        if not source:
            torch, source = torch_model(False)
            example = {"example_input": {k: torch.from_numpy(v) for k, v in inputs([work["short"], work["long"]]).items()}}
        asked = {"INFERENCE_NUM_THREADS": work["threads"], "INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY"}
        compiled = openvino.Core().compile_model(openvino.convert_model(source, **example), "CPU", asked)
        used = compiled.get_property("INFERENCE_PRECISION_HINT")
    except Exception as e:
        problem(e)
    if used != getattr(openvino.Type, precision):
        problem(f"openvino computes in {used.get_type_name()} here")
    names = [i.get_any_name() for i in compiled.inputs]

    def run(texts):
        x = inputs(texts)
        return pool(compiled({n: x[n] for n in names})[0].astype(numpy.float32), x["attention_mask"])
else:
    file = "model_int8.onnx" if engine.endswith("int8") else "model.onnx"
    path = onnx_file(file)
    if not path:
        problem(f"no {file} in the folder")
    try:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = work["threads"]
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as e:
        problem(e)
    names = {i.name: numpy.int32 if "int32" in i.type else numpy.int64 for i in session.get_inputs()}

    def run(texts):
        x = inputs(texts)
        return pool(session.run(None, {n: x[n].astype(kind, copy=False) for n, kind in names.items()})[0], x["attention_mask"])


def bulk():
    order = sorted(range(len(work["texts"])), key=lambda i: len(work["texts"][i]))
    vectors = [None] * len(order)
    for i in range(0, len(order), 8):
        some = order[i:i + 8]
        for at, v in zip(some, run([work["texts"][j] for j in some])):
            vectors[at] = v
    return vectors


jobs = {"short": lambda: run([work["short"]]), "long": lambda: run([work["long"]]), "texts": bulk}
try:
    jobs["short"]()
except Exception as e:
    problem(e)
answer("ready")
for line in sys.stdin:
    line = line.strip()
    if line == "memory":
        with open("/proc/self/status") as f:
            answer(next(int(l.split()[1]) / 1e3 for l in f if l.startswith("VmHWM")))
    elif line == "vectors":
        answer([v.tolist() for v in bulk()])
    else:
        t = time.perf_counter()
        jobs[line]()
        answer(time.perf_counter() - t)
