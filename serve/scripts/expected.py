"""What clients are to get: the answers of the command avoformer, which is the argument, as JSON."""

import json
import subprocess
import sys

folders = "text/testdata/"
reader = "models/testdata/images/gemma4"
picture = reader + "/a.png"
texts = ["hello world", "the cat reads", "Paris."]
sound = folders + "transcribe/sound0.wav"


def run(*arguments, text=""):
    return subprocess.run([sys.argv[1], *arguments], input=text, capture_output=True, text=True, check=True).stdout


def rows(*arguments, lines=texts):
    return [json.loads(row) for row in run(*arguments, text="\n".join(lines) + "\n").splitlines()]


ranked = [row.split("\t") for row in run("rerank", folders + "rerank", "what?", text="\n".join(texts) + "\n").splitlines()]
json.dump({
    "texts": texts,
    "vectors": [row["embedding"] for row in rows("embed", folders + "embed")],
    "query": "what?",
    "ranked": [[int(line) - 1, float(score)] for score, line, _ in ranked],
    "labels": rows("classify", folders + "classify")[0]["labels"],
    "sentence": "The cat in Paris",
    "entities": rows("classify", "-words", "simple", folders + "tokens", lines=["The cat in Paris"])[0]["entities"],
    "translation": run("translate", "-max-tokens", "6", folders + "translate", text=texts[0] + "\n").removesuffix("\n"),
    "sound": sound,
    "transcription": run("transcribe", "-language", "en", folders + "transcribe", sound).strip(),
    "prompt": "The quick brown",
    "completion": run("generate", folders + "generate", "The quick brown", "-max-tokens", "8").strip(),
    "chat": run("generate", "-chat", folders + "generate", "-max-tokens", "8", text="Hi\n").strip(),
    "picture": picture,
    "seen": run("generate", "-chat", "-image", picture, "-max-tokens", "8", "-temperature", "0", reader, text="Look.\n").strip(),
    "models": ["generate", "embed", "rerank", "classify", "tokens", "translate", "transcribe", "image", "gemma4"],
}, sys.stdout)
