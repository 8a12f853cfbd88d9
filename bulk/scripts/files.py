"""Parquet to Parquet by several programs in turn, reading, tokenising and writing included.

    files.py AVOFORMER MODEL [-rows N] [-rounds N] [-threads N]

AVOFORMER is the command; MODEL is a folder with onnx/model.onnx and onnx/model_int8.onnx. Measured are

    bulk, bulk-int8    `avoformer bulk`, its start and the opening of the model included
    http, http-int8    `avoformer serve`, asked by a client in Python, 64 texts a request, 4 requests at once
    sentence           sentence-transformers on PyTorch
    onnx, onnx-int8    ONNX Runtime, padded batches of 16 of texts sorted by length

all but the first two from within a process whose model is open. Each round runs each program once; printed are tokens a
second and the quotient of bulk's and the program's, the median of all rounds with the least and the most, and the
cosines of each program's vectors with those of bulk in float32."""

import argparse, base64, json, os, shutil, statistics, subprocess, sys, tempfile, time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def write(path, rows, vectors):
    vectors = np.ascontiguousarray(vectors, np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
    pq.write_table(pa.table({"row": pa.array(range(rows), pa.int64()), "embedding": column}), path, use_dictionary=False, compression="none")


# Workers: a process opens a model, and answers each line with IN and OUT by the seconds that it took.


def sentence(model, threads):
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    m = SentenceTransformer(model, device="cpu")
    return lambda texts: m.encode(texts, batch_size=32, show_progress_bar=False)


def onnx(model, threads, file):
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
    with open(os.path.join(model, "sentence_bert_config.json")) as f:
        tokenizer.enable_truncation(json.load(f)["max_seq_length"])
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(os.path.join(model, "onnx", file), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]

    def run(texts):
        ids = [e.ids for e in tokenizer.encode_batch(texts)]
        order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
        out = None
        for at in range(0, len(order), 16):
            some = order[at : at + 16]
            x = np.zeros((len(some), len(ids[some[0]])), np.int64)
            mask = np.zeros_like(x)
            for k, i in enumerate(some):
                x[k, : len(ids[i])], mask[k, : len(ids[i])] = ids[i], 1
            given = {"input_ids": x, "attention_mask": mask, "token_type_ids": np.zeros_like(x)}
            h = session.run(None, {n: given[n] for n in names})[0]
            m = mask[..., None].astype(np.float32)
            v = (h * m).sum(1) / m.sum(1)
            if out is None:
                out = np.empty((len(ids), v.shape[1]), np.float32)
            out[some] = v / np.linalg.norm(v, axis=1, keepdims=True)
        return out

    return run


def http(command, model, threads, weights):
    import atexit
    from concurrent.futures import ThreadPoolExecutor

    import requests

    flags = ["-weights", weights] if weights else []
    server = subprocess.Popen([command, "serve", "-addr", "127.0.0.1:0", "-threads", str(threads), *flags, "-model", "m=" + model], stderr=subprocess.PIPE, text=True)
    atexit.register(server.terminate)
    for line in server.stderr:
        if "ready" in line:
            break
    url = next(w for w in line.split() if w.startswith("http")) + "/v1/embeddings"
    session = requests.Session()

    def ask(texts):
        r = session.post(url, json={"model": "m", "input": texts, "encoding_format": "base64"})
        r.raise_for_status()
        return [np.frombuffer(base64.b64decode(d["embedding"]), np.float32) for d in r.json()["data"]]

    def run(texts):
        with ThreadPoolExecutor(4) as pool:
            return np.stack([v for part in pool.map(ask, (texts[i : i + 64] for i in range(0, len(texts), 64))) for v in part])

    return run


def worker(command, model, threads, name):
    kind, _, weights = name.partition("-")
    if kind == "http":
        run = http(command, model, threads, weights)
    elif kind == "sentence":
        run = sentence(model, threads)
    else:
        run = onnx(model, threads, "model_int8.onnx" if weights else "model.onnx")
    print("ready", flush=True)
    for line in sys.stdin:
        given, out = line.split()
        began = time.perf_counter()
        texts = pq.read_table(given, columns=["text"])["text"].to_pylist()
        write(out, len(texts), run(texts))
        print(time.perf_counter() - began, flush=True)


# The driver.


def mixed(rows):
    """Texts of the lengths of a search index: many short ones and few long."""
    words = "the cat reads a long letter and nobody forgets three numbers in French because it has to go to Paris where attention is paid to every word of an answer that was never given".split()
    r = np.random.default_rng(9)
    lengths = r.choice([3, 5, 8, 8, 12, 16, 20, 24, 30, 30, 40, 60, 90, 120, 8, 16], rows)
    return [" ".join(r.choice(words, n)) for n in lengths]


def bulk(command, model, threads, weights, given, out):
    shutil.rmtree(out + ".d", ignore_errors=True)
    flags = ["-weights", weights] if weights else []
    began = time.perf_counter()
    said = subprocess.run([command, "bulk", "-threads", str(threads), *flags, model, "embed", given, "-o", out + ".d"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    took = time.perf_counter() - began
    os.replace(os.path.join(out + ".d", os.path.basename(given) + ".parquet"), out)
    return took, int(said.split("tokens")[1].split(";")[0])


def vectors(path):
    column = pq.read_table(path, columns=["embedding"])["embedding"].combine_chunks()
    return np.asarray(column.flatten(), np.float32).reshape(len(column), -1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("command"), p.add_argument("model")
    p.add_argument("-rows", type=int, default=1000), p.add_argument("-rounds", type=int, default=10), p.add_argument("-threads", type=int, default=2)
    p.add_argument("-programs", default="bulk,bulk-int8,http,http-int8,sentence,onnx,onnx-int8"), p.add_argument("-worker")
    p.add_argument("-wait", help="a file to wait for, once all models are open")
    a = p.parse_args()
    os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="true")
    if a.worker:
        return worker(a.command, a.model, a.threads, a.worker)
    dir = tempfile.mkdtemp()
    given = os.path.join(dir, "in.parquet")
    pq.write_table(pa.table({"text": mixed(a.rows)}), given)
    names = a.programs.split(",")
    workers = {}
    for name in names:
        if not name.startswith("bulk"):
            args = [sys.executable, __file__, a.command, a.model, "-threads", str(a.threads), "-worker", name]
            workers[name] = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            assert workers[name].stdout.readline() == "ready\n", name
    while a.wait and not os.path.exists(a.wait):
        time.sleep(0.1)
    took = {name: [] for name in names}
    tokens = 0
    for _ in range(a.rounds):
        for name in names:
            out = os.path.join(dir, name + ".parquet")
            if name in workers:
                workers[name].stdin.write(f"{given} {out}\n")
                workers[name].stdin.flush()
                seconds = float(workers[name].stdout.readline())
            else:
                seconds, tokens = bulk(a.command, a.model, a.threads, name.partition("-")[2], given, out)
            took[name].append(seconds)
    for w in workers.values():
        w.stdin.close()
        w.wait()
    print(f"{a.rows} texts, {tokens} tokens, {a.rounds} rounds")
    exact = vectors(os.path.join(dir, "bulk.parquet"))
    for name in names:
        line = f"{name:10} {tokens / statistics.median(took[name]):8.0f} tokens/s"
        for ours in ("bulk", "bulk-int8"):
            q = sorted(t / o for t, o in zip(took[name], took[ours]))
            line += f"  {ours}: {statistics.median(q):5.2f} ({q[0]:.2f} to {q[-1]:.2f})"
        x = vectors(os.path.join(dir, name + ".parquet"))
        cosines = (x * exact).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(exact, axis=1)
        print(f"{line}  cosine at least {cosines.min():.5f}")
    shutil.rmtree(dir)


main()
