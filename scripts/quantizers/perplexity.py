#!/usr/bin/env python3
"""Perplexities of a language model in the formats of blocks, by avoformer's quantizer and by llama.cpp's from the same numbers.

    perplexity.py AVOFORMER REAL MODEL.gguf [FORMAT...]

AVOFORMER is the command, REAL the program of text/internal/cmd/real. The weights of MODEL are widened to float32. `avoformer quantize` makes a file of
each format, without importance and with an importance matrix, and a copy of it has the blocks that llama.cpp makes of the same weights. The text is the
changelog of version 0.1.0. Prints a line for each file: its perplexity of the first 3,072 tokens, in pieces of 512 tokens of which the second halves
count, as avoformer and as llama.cpp compute it. The matrix has the mean squares of what transformers multiplies with each weight in the other tokens."""

import ctypes, json, math, os, shutil, struct, subprocess, sys, tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import gguf
import numpy as np

import compare

PIECE, TOKENS = 512, 3072
HERE = os.path.dirname(os.path.abspath(__file__))
# The names of layers in files, by the ends of transformers' names.
LAYERS = {"q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output", "gate_proj": "ffn_gate", "up_proj": "ffn_up", "down_proj": "ffn_down"}


def widened(path, out):
    """Writes a file with its weights in float32."""
    r = gguf.GGUFReader(path)
    w = gguf.GGUFWriter(out, r.fields["general.architecture"].contents())
    for key, field in r.fields.items():
        if not key.startswith("GGUF.") and key != "general.architecture":
            array = field.types[0] == gguf.GGUFValueType.ARRAY
            w.add_key_value(key, field.contents(), field.types[0], field.types[-1] if array else None)
    for t in r.tensors:
        w.add_tensor(t.name, gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def importance_of(path, ids):
    """Returns the mean square of each column of what weights are multiplied with, by the names of the weights."""
    import torch, transformers

    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    folder, name = os.path.split(os.path.abspath(path))
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
    sums = {}

    def count(weight):
        def hook(_, args):
            sums[weight] = sums.get(weight, 0) + args[0].detach().double().square().reshape(-1, args[0].shape[-1]).sum(0)

        return hook

    for name, layer in model.named_modules():
        if (end := name.rsplit(".", 1)[-1]) in LAYERS:
            layer.register_forward_pre_hook(count(f"blk.{name.split('.')[2]}.{LAYERS[end]}.weight"))
    with torch.no_grad():
        for at in range(0, len(ids), PIECE):
            model.model(torch.tensor([ids[at : at + PIECE]]))
    return {weight: (sum / len(ids)).numpy().astype(np.float32) for weight, sum in sums.items()}


def write_importance(path, importance):
    """Writes an importance matrix in the older form of llama-imatrix."""
    with open(path, "wb") as f:
        f.write(struct.pack("<i", len(importance)))
        for name, values in importance.items():
            f.write(struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", 1, len(values)) + values.tobytes())


def overwrite(path, floats, importance):
    """Replaces the blocks of a file with those that llama.cpp makes of the same floats. Returns whether any differs."""
    differ = False
    numbers = {t.name: t for t in gguf.GGUFReader(floats).tensors}
    for t in gguf.GGUFReader(path, "r+").tensors:
        name = t.tensor_type.name.lower()
        if name in compare.NUMBERS:
            x = np.ascontiguousarray(numbers[t.name].data, np.float32).reshape(t.data.shape[0], -1)
            blocks = compare.theirs(name, x, importance.get(t.name)).reshape(t.data.shape)
            differ |= bool((blocks != t.data).any())
            t.data[:] = blocks
    return differ


class LlamaCpp:
    """The functions of llama.h that perplexities take. Only the structures' beginnings matter: defaults are right for pieces of 512 tokens."""

    class Parameters(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_byte * 1024)]

    class Batch(ctypes.Structure):
        _fields_ = [("n", ctypes.c_int32), ("token", ctypes.POINTER(ctypes.c_int32)), ("embd", ctypes.c_void_p), ("pos", ctypes.POINTER(ctypes.c_int32))]
        _fields_ += [("n_seq", ctypes.POINTER(ctypes.c_int32)), ("seq", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))), ("logits", ctypes.POINTER(ctypes.c_int8))]

    def __init__(self):
        self.l = compare.library
        for name, result, arguments in [
            ("llama_model_default_params", self.Parameters, []),
            ("llama_context_default_params", self.Parameters, []),
            ("llama_model_load_from_file", ctypes.c_void_p, [ctypes.c_char_p, self.Parameters]),
            ("llama_init_from_model", ctypes.c_void_p, [ctypes.c_void_p, self.Parameters]),
            ("llama_batch_init", self.Batch, [ctypes.c_int32] * 3),
            ("llama_decode", ctypes.c_int32, [ctypes.c_void_p, self.Batch]),
            ("llama_get_logits", ctypes.POINTER(ctypes.c_float), [ctypes.c_void_p]),
            ("llama_get_memory", ctypes.c_void_p, [ctypes.c_void_p]),
            ("llama_memory_clear", None, [ctypes.c_void_p, ctypes.c_bool]),
            ("llama_model_get_vocab", ctypes.c_void_p, [ctypes.c_void_p]),
            ("llama_vocab_n_tokens", ctypes.c_int32, [ctypes.c_void_p]),
            ("llama_set_n_threads", None, [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32]),
            ("llama_free", None, [ctypes.c_void_p]),
            ("llama_model_free", None, [ctypes.c_void_p]),
        ]:
            function = getattr(self.l, name)
            function.restype, function.argtypes = result, arguments
        self.quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
        self.l.llama_log_set(self.quiet, None)
        self.l.llama_backend_init()

    def perplexity(self, path, ids):
        l = self.l
        model = l.llama_model_load_from_file(path.encode(), l.llama_model_default_params())
        context = l.llama_init_from_model(model, l.llama_context_default_params())
        l.llama_set_n_threads(context, *[len(os.sched_getaffinity(0))] * 2)
        vocabulary = l.llama_vocab_n_tokens(l.llama_model_get_vocab(model))
        batch, loss = l.llama_batch_init(PIECE, 0, 1), []
        for at in range(0, len(ids) - PIECE + 1, PIECE):
            part = ids[at : at + PIECE]
            batch.n = PIECE
            for i, token in enumerate(part):
                batch.token[i], batch.pos[i], batch.n_seq[i], batch.logits[i] = token, i, 1, 1
                batch.seq[i][0] = 0
            l.llama_memory_clear(l.llama_get_memory(context), True)
            if l.llama_decode(context, batch):
                raise RuntimeError("llama_decode")
            logits = np.ctypeslib.as_array(l.llama_get_logits(context), (PIECE, vocabulary)).astype(np.float64)
            for i in range(PIECE // 2, PIECE - 1):
                loss.append(np.log(np.exp(logits[i] - logits[i].max()).sum()) + logits[i].max() - logits[i, part[i + 1]])
        l.llama_free(context)
        l.llama_model_free(model)
        return math.exp(sum(loss) / len(loss))


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    avoformer, real, model = sys.argv[1:4]
    ask = lambda **request: json.loads(subprocess.run([real, model], input=json.dumps(request), stdout=subprocess.PIPE, text=True, check=True).stdout)
    changes = open(os.path.join(HERE, "..", "..", "CHANGELOG.md"), encoding="utf-8").read()
    words = changes[changes.index("## [0.1.0]") :].split(" ")
    # Whole words that are TOKENS tokens or a few more, so that both programs compute with the same whole pieces.
    low, high = 0, len(words)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if len(ask(text=" ".join(words[:middle]))["ids"]) >= TOKENS else (middle + 1, high)
    text = " ".join(words[:low])
    ids, rest = ask(text=text)["ids"], ask(text=" ".join(words[low:]))["ids"]
    llama = LlamaCpp()

    def tell(name, by, path):
        own = ask(text=text, files=[path])["files"][path]
        print(f"{name:18} {by:9} {own:8.4f} {llama.perplexity(path, ids):8.4f}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        floats, matrix, file, other = (os.path.join(folder, name) for name in ["f32.gguf", "imatrix.dat", "ours.gguf", "llamacpp.gguf"])
        widened(model, floats)
        print(f"{len(ids)} tokens, and {len(rest)} for the matrix; perplexities as avoformer and llama.cpp compute them")
        tell("f32", "", floats)
        importance = importance_of(floats, rest[: len(rest) // PIECE * PIECE])
        write_importance(matrix, importance)
        for name in sys.argv[4:] or compare.SAME + compare.SEARCHED:
            for by, options in [({}, []), (importance, ["-imatrix", matrix])]:
                subprocess.run([avoformer, "quantize", "-weights", f"{name},token_embd.*={name}", "-f", "-o", file, *options, floats], check=True, stderr=subprocess.DEVNULL)
                shutil.copy(file, other)
                title = name + (", importance" if by else "")
                if overwrite(other, floats, by):
                    tell(title, "avoformer", file)
                    tell(title, "llama.cpp", other)
                elif not by or name != "q8_0":
                    tell(title, "both", file)


if __name__ == "__main__":
    main()
