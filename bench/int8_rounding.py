"""What rounding each part of an encoder to int8 costs, in float64: python bench/int8_rounding.py DIR [TEXTS [SEED]]

DIR is a folder of a BERT such as all-MiniLM-L6-v2, of hidden sizes that are multiples of 128. Prints the worst and the mean cosine of
the texts' mean-pooled vectors to those of the model as it is. Needs torch and transformers."""

import math
import random
import sys

import torch
import transformers.models.bert.modeling_bert as bert
from transformers import AutoModel, AutoTokenizer

torch.set_num_threads(1)
torch.set_grad_enabled(False)

WORDS = """the of and model river bank quick brown fox jumps matrix attention kernel Paris music seven piano garden error network
protein stock price rain tomorrow never always ship harbour doctor justice orange numbers theory light energy train station""".split()
SCRIPTS = ["Привет мир как дела сегодня", "你好世界今天天气很好", "こんにちは世界", "مرحبا بالعالم", "Γειά σου Κόσμε", "שלום עולם",
           "नमस्ते दुनिया", "안녕하세요 세계", "สวัสดีชาวโลก", "Olá mundo coração", "Grüße aus München", "ñandú élève naïve"]
CODE = ["def f(x):\n    return x**2 + 1", "for (int i=0;i<n;++i) a[i]+=b[i];", "SELECT * FROM users WHERE id=42;",
        "{\"key\": [1,2,3]}", "func main() { fmt.Println(\"hi\") }"]
EMOJI = "😀🚀🔥❤️🎉🐍🌍👍"


def text(r):
    """Single characters, other scripts, code, emoji, repeated words, noise, and words: 3 to 512 tokens."""
    kind = r.randrange(8)
    if kind == 0:
        return chr(r.randrange(33, 127))
    if kind == 1:
        return " ".join(r.choice(SCRIPTS) for _ in range(r.randint(1, 12)))
    if kind == 2:
        return "\n".join(r.choice(CODE) for _ in range(r.randint(1, 20)))
    if kind == 3:
        return "".join(r.choice(EMOJI) for _ in range(r.randint(1, 30)))
    if kind == 4:
        return r.choice(WORDS) + " " + " ".join([r.choice(WORDS)] * r.randint(1, 200))
    if kind == 5:
        return "".join(chr(r.randrange(32, 127)) for _ in range(r.randint(2, 400)))
    return " ".join(r.choice(WORDS) for _ in range(int(math.exp(r.uniform(0, math.log(400))))))


def hadamard(n):
    """The Walsh-Hadamard matrix with the signs of some elements changed."""
    h = torch.ones(1, 1, dtype=torch.double)
    while h.shape[0] < n:
        h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)], 0)
    signs = (torch.randint(0, 2, (n,), generator=torch.Generator().manual_seed(5)) * 2 - 1).double()
    return h / math.sqrt(n) * signs


def rotated(x, n=128):
    return (x.reshape(*x.shape[:-1], -1, n) @ hadamard(n).T).reshape(x.shape)


def rounded(x, block, most=127):
    """x as integers of at most most, with a scale for each block of the last dimension; 0: one for all of it."""
    y = x.reshape(*x.shape[:-1], -1, block or x.shape[-1])
    scale = y.abs().amax(-1, keepdim=True).clamp_min(1e-30) / most
    return (torch.round(y / scale) * scale).reshape(x.shape)


# rotate: rows and weights are rotated; rows, weights: the sizes of their blocks, or 0 for a scale for each row or column; most_row, most_weight: their largest
# integers; round_rows, scores, values: these are rounded.
AS_IT_IS = dict(rotate=True, rows=128, weights=0, most_row=127, most_weight=127, round_rows=True, scores=False, values=False)
CASES = {
    "products, rotated, rows in blocks of 128 (as it is)": {},
    "the same, a scale a row": dict(rows=0),
    "the same, weights in blocks of 128 too": dict(weights=128),
    "as it is, rows of 7 bits": dict(most_row=63),
    "as it is, weights of 7 bits": dict(most_weight=63),
    "weights of 7 bits in blocks of 128": dict(most_weight=63, weights=128),
    "rows not rounded, weights alone": dict(round_rows=False),
    "as it is, and scores from int8 queries and keys, keys centred": dict(scores=True),
    "as it is, and the values' product in int8, weights in 8 bits": dict(values=True),
    "not rotated, rows in blocks of 128": dict(rotate=False),
}
how = None  # the case; None: nothing is rounded


class Rounded(torch.nn.Module):
    def __init__(self, linear):
        super().__init__()
        self.linear, self.weights = linear, {}

    def forward(self, x):
        if how is None:
            return self.linear(x)
        turn = rotated if how["rotate"] else lambda y: y
        key = (how["rotate"], how["weights"], how["most_weight"])
        if key not in self.weights:
            self.weights[key] = rounded(turn(self.linear.weight), how["weights"], how["most_weight"])
        x = turn(x)
        return (rounded(x, how["rows"], how["most_row"]) if how["round_rows"] else x) @ self.weights[key].T + self.linear.bias


def attention(module, query, key, value, mask, scaling=None, **_):
    if how and how["scores"]:
        query, key = (rounded(rotated(x, x.shape[-1]), 0) for x in (query, key - key.mean(2, keepdim=True)))
    scores = query @ key.transpose(2, 3) * (scaling or query.shape[-1] ** -0.5)
    if mask is not None:
        scores = scores + mask[:, :, :, : key.shape[2]]
    weights = torch.softmax(scores, -1)
    if how and how["values"]:
        weights = torch.round(torch.exp(scores - scores.amax(-1, keepdim=True)) * 255) / 255
        weights = weights / weights.sum(-1, keepdim=True)
        value = rounded(value.transpose(2, 3), 0).transpose(2, 3)
    return (weights @ value).transpose(1, 2).contiguous(), weights


def main(folder, count=120, seed=1):
    global how
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").double().eval()
    for layer in model.encoder.layer:
        for part, name in [(layer.attention.self, "query"), (layer.attention.self, "key"), (layer.attention.self, "value"),
                           (layer.attention.output, "dense"), (layer.intermediate, "dense"), (layer.output, "dense")]:
            setattr(part, name, Rounded(getattr(part, name)))
    bert.eager_attention_forward = attention
    r = random.Random(int(seed))
    texts = [text(r) for _ in range(int(count))]

    def vectors():
        means = [model(**tokenizer(t, return_tensors="pt", truncation=True, max_length=512)).last_hidden_state[0].mean(0) for t in texts]
        return torch.nn.functional.normalize(torch.stack(means), dim=1)

    exact = vectors()
    for name, case in CASES.items():
        how = AS_IT_IS | case
        cosines = (vectors() * exact).sum(1)
        print(f"| {name} | {cosines.min():.4f} | {cosines.mean():.5f} |", flush=True)


main(*sys.argv[1:])
