"""torch THREADS: PyTorch eager under inference_mode, speaking the protocol of driver.h.

A call's figure contains the interpreter's overhead of 1 to 3 microseconds an operation.
"""
import math
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def load(directory):
    tensors, i = [], 0
    while True:
        try:
            tensors.append(torch.from_numpy(np.fromfile(f"{directory}/in{i}", np.float32)))
        except FileNotFoundError:
            return tensors
        i += 1


def prepare(op, variant, directory, d):
    """Returns a function of no arguments that computes the case."""
    t = load(directory)
    if op in ("gemm_nn", "gemm_nt"):
        m, n, k = d
        a, c = t[0].view(m, k), torch.empty(m, n)
        b = t[1].view(n, k).t() if op == "gemm_nt" else t[1].view(k, n)
        return lambda: torch.mm(a, b, out=c)
    if op == "linear_bias_gelu":
        m, n, k = d
        a, w, b = t[0].view(m, k), t[1].view(k, n).t().contiguous(), t[2]
        return lambda: F.gelu(F.linear(a, w, b))
    if op in ("bgemm_nn", "bgemm_nt"):
        h, m, n, k = d
        a, c = t[0].view(h, m, k), torch.empty(h, m, n)
        b = t[1].view(h, n, k).transpose(1, 2) if op == "bgemm_nt" else t[1].view(h, k, n)
        return lambda: torch.bmm(a, b, out=c)
    if op == "softmax":
        x = t[0].view(*d)
        y = torch.empty_like(x)
        return lambda: torch.softmax(x, -1, out=y)
    if op == "layernorm":
        x, w, b = t[0].view(*d), t[1], t[2]
        return lambda: F.layer_norm(x, (d[1],), w, b, 1e-5)
    if op == "gelu_erf":
        x = t[0].view(*d)
        return lambda: F.gelu(x)
    if op == "exp":
        x = t[0].view(*d)
        y = torch.empty_like(x)
        return lambda: torch.exp(x, out=y)
    if op in ("sdpa", "sdpa_decode"):
        b, h, lq, lk, e = d
        q, k, v = t[0].view(b, h, lq, e), t[1].view(b, h, lk, e), t[2].view(b, h, lk, e)
        if variant == "sdpa":
            return lambda: F.scaled_dot_product_attention(q, k, v)
        q, k, v, s = q.view(b * h, lq, e), k.view(b * h, lk, e).transpose(1, 2), v.view(b * h, lk, e), torch.empty(b * h, lq, lk)
        scale = 1 / math.sqrt(e)
        return lambda: torch.bmm(torch.softmax(torch.baddbmm(s, q, k, beta=0, alpha=scale), -1), v)
    if op == "encoder_layer":
        b, l, e, h, f = d
        m = nn.TransformerEncoderLayer(e, h, f, dropout=0.0, activation=F.gelu, batch_first=True, norm_first=False, layer_norm_eps=1e-12).eval()
        x, wqkv, bqkv, wo, bo, g1, b1, w1, c1, w2, c2, g2, b2 = t
        for to, value in (
            (m.self_attn.in_proj_weight, wqkv.view(e, 3 * e).t()), (m.self_attn.in_proj_bias, bqkv),
            (m.self_attn.out_proj.weight, wo.view(e, e).t()), (m.self_attn.out_proj.bias, bo),
            (m.norm1.weight, g1), (m.norm1.bias, b1), (m.linear1.weight, w1.view(e, f).t()), (m.linear1.bias, c1),
            (m.linear2.weight, w2.view(f, e).t()), (m.linear2.bias, c2), (m.norm2.weight, g2), (m.norm2.bias, b2),
        ):
            to.copy_(value)
        x = x.view(b, l, e)
        return lambda: m(x)
    raise ValueError("no such operation")


def serve():
    run = None
    for line in sys.stdin:
        word = line.split()
        if word[0] == "case":
            try:
                run = prepare(word[1], word[2], word[3], [int(v) for v in word[4:]])
                run().contiguous().numpy().tofile(f"{word[3]}/out")
            except Exception as e:  # such as an operation that this version lacks
                print("no", " ".join(str(e).split()), flush=True)
                continue
            print("ok", flush=True)
        elif word[0] == "time":
            run()
            reps = range(int(word[1]))
            t = time.perf_counter_ns()
            for _ in reps:
                run()
            print(time.perf_counter_ns() - t, flush=True)
        else:
            run = None
            print("ok", flush=True)


torch.set_num_threads(int(sys.argv[1]))
torch.set_grad_enabled(False)
print("ready", torch.__version__, flush=True)
with torch.inference_mode():
    serve()
