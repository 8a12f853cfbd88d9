"""Measures one engine on the work that standard input describes, and prints
the result as JSON. Texts are sorted by length and go through in padded batches of 8."""

import json, os, sys, time

engine, work = sys.argv[1], json.load(sys.stdin)
os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS=str(work["threads"]))
begin = time.perf_counter()


def problem(why):
    print(json.dumps({"engine": engine, "problem": why}))
    sys.exit(0)


try:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(work["dir"])
except Exception as e:
    problem("not measured: " + str(e).split("\n")[0][:100])

if engine.startswith("torch"):
    try:
        import torch
        from transformers import AutoModel
    except ImportError as e:
        problem("not installed")
    torch.set_num_threads(work["threads"])
    model = AutoModel.from_pretrained(work["dir"], dtype=torch.bfloat16 if engine == "torch-bf16" else torch.float32).eval()
    limit = model.config.max_position_embeddings

    def run(texts):
        x = tokenizer(texts, padding=True, truncation=True, max_length=min(limit, 512), return_tensors="pt")
        with torch.inference_mode():
            h = model(**x).last_hidden_state
            mask = x["attention_mask"][..., None]
            v = torch.nn.functional.normalize((h * mask).sum(1) / mask.sum(1), dim=1)
        return int(x["attention_mask"].sum())
else:
    file = "model_int8.onnx" if engine.endswith("int8") else "model.onnx"
    path = next((p for p in (os.path.join(work["dir"], n) for n in ("onnx/" + file, file)) if os.path.exists(p)), None)
    if not path:
        problem(f"no {file} in the folder")
    try:
        import numpy, onnxruntime
    except ImportError:
        problem("not installed")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = work["threads"]
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    kind = {i.name: numpy.int32 if "int32" in i.type else numpy.int64 for i in session.get_inputs()}

    def run(texts):
        x = tokenizer(texts, padding=True, truncation=True, max_length=512, return_tensors="np")
        h = session.run(None, {n: x[n].astype(kind[n]) for n in names})[0]
        mask = x["attention_mask"][..., None]
        v = (h * mask).sum(1) / mask.sum(1)
        v /= numpy.linalg.norm(v, axis=1, keepdims=True)
        return int(x["attention_mask"].sum())

run([work["one"]])
load = time.perf_counter() - begin
times, start = [], time.perf_counter()
while time.perf_counter() - start < work["seconds"]:
    t = time.perf_counter()
    run([work["one"]])
    times.append(time.perf_counter() - t)
times.sort()
texts = sorted(work["texts"], key=len)
batches = [texts[i:i + 8] for i in range(0, len(texts), 8)]
rounds = tokens = 0
start = time.perf_counter()
while rounds == 0 or time.perf_counter() - start < work["seconds"]:
    tokens += sum(run(b) for b in batches)
    rounds += 1
took = time.perf_counter() - start
with open("/proc/self/status") as f:
    peak = next(int(line.split()[1]) / 1e3 for line in f if line.startswith("VmHWM"))
print(json.dumps({"engine": engine, "load": load, "p50": times[len(times) // 2], "p99": times[len(times) * 99 // 100], "texts": rounds * len(texts) / took, "tokens": tokens / took, "memory": peak}))
