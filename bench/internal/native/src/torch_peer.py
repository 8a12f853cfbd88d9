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


def copy(pairs):
    for to, value in pairs:
        to.copy_(value)


def attention(m, t, e):
    """Gives a MultiheadAttention the weights Wqkv [D,3D], bqkv, Wo [D,D], bo."""
    copy(((m.in_proj_weight, t[0].view(e, 3 * e).t()), (m.in_proj_bias, t[1]), (m.out_proj.weight, t[2].view(e, e).t()), (m.out_proj.bias, t[3])))


def norms_and_network(m, last, t, e, f):
    """Gives a layer its first and last norm and its feed-forward network."""
    copy(((m.norm1.weight, t[5]), (m.norm1.bias, t[6]), (m.linear1.weight, t[7].view(e, f).t()), (m.linear1.bias, t[8]),
          (m.linear2.weight, t[9].view(f, e).t()), (m.linear2.bias, t[10]), (last.weight, t[11]), (last.bias, t[12])))


def prepare(op, variant, directory, d):
    """Returns a function of no arguments that computes the case."""
    t = load(directory)
    if op in ("gemm_nn", "gemm_nt"):
        m, n, k = d
        a, c = t[0].view(m, k), torch.empty(m, n)
        b = t[1].view(n, k).t() if op == "gemm_nt" else t[1].view(k, n)
        return lambda: torch.mm(a, b, out=c)
    if op == "gemm_packed_int8":  # activations are quantized in the call, with one scale
        m, n, k = d
        a, w = t[0].view(m, k), t[1].view(k, n).t().contiguous()
        torch.backends.quantized.engine = variant
        scales = w.abs().amax(1).double() / 127
        w = torch.quantize_per_channel(w, scales, torch.zeros(n, dtype=torch.long), 0, torch.qint8)
        packed = torch.ops.quantized.linear_prepack(w, None)
        return lambda: torch.ops.quantized.linear_dynamic(a, packed, variant != "onednn")
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
    if op == "feed_forward":
        r, e, f = d
        x, w1, b1, w2, b2 = t[0].view(r, e), t[1].view(e, f).t().contiguous(), t[2], t[3].view(f, e).t().contiguous(), t[4]
        return lambda: F.linear(F.gelu(F.linear(x, w1, b1)), w2, b2)
    if op == "self_attention":
        b, l, e, h = d
        m, x = nn.MultiheadAttention(e, h, batch_first=True).eval(), t[0].view(b, l, e)
        attention(m, t[1:5], e)
        return lambda: m(x, x, x, need_weights=False)[0]
    if op == "encoder_layer":
        b, l, e, h, f = d
        m = nn.TransformerEncoderLayer(e, h, f, dropout=0.0, activation=F.gelu, batch_first=True, norm_first=False, layer_norm_eps=1e-12).eval()
        attention(m.self_attn, t[1:5], e)
        norms_and_network(m, m.norm2, t, e, f)
        x = t[0].view(b, l, e)
        return lambda: m(x)
    if op == "decoder_layer":
        b, l, n, e, h, f = d
        m = nn.TransformerDecoderLayer(e, h, f, dropout=0.0, activation=F.gelu, batch_first=True, norm_first=False, layer_norm_eps=1e-12).eval()
        attention(m.self_attn, t[1:5], e)
        attention(m.multihead_attn, t[14:18], e)
        norms_and_network(m, m.norm3, t, e, f)
        copy(((m.norm2.weight, t[18]), (m.norm2.bias, t[19])))
        x, memory, mask = t[0].view(b, l, e), t[13].view(b, n, e), nn.Transformer.generate_square_subsequent_mask(l)
        return lambda: m(x, memory, tgt_mask=mask, tgt_is_causal=True)
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
