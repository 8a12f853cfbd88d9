#!/bin/bash
# Guess: @huggingface/tokenizers, the package in JavaScript, gives the ids of tokenizers, the one in Rust and Python, for the same tokenizer.json.
# Found: two unknown words in a row become one token; an unknown word of a WordLevel model has the id null; Split knows only "isolated" and "removed", so
# "merged_with_previous" cuts off what it should append; and a word's last sigma is lowercased as in Greek, which Rust does not do.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts @huggingface/tokenizers@0.2.0
python3 -m venv env
env/bin/pip install -q tokenizers==0.23.3
cat > finding.py <<'PY'
import json

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

cases = []
for title, model, normalizer, pre, text in [
    ("fused", models.BPE({"<unk>": 0, "a": 1}, [], unk_token="<unk>", fuse_unk=True), None, pre_tokenizers.Whitespace(), "x y a"),
    ("known words", models.BPE({"<unk>": 0, "a": 1}, [], unk_token="<unk>", fuse_unk=True), None, pre_tokenizers.Whitespace(), "x a y"),
    ("word level", models.WordLevel({"[UNK]": 0, "the": 1, "fox": 2}, unk_token="[UNK]"), None, pre_tokenizers.Whitespace(), "the quick fox"),
    ("merged", models.WordLevel({"[UNK]": 0, "ab1": 1, "ab": 2, "1": 3, "cd": 4}, unk_token="[UNK]"), None, pre_tokenizers.Split(Regex("[0-9]"), "merged_with_previous"), "ab1cd"),
    ("sigma", models.WordLevel({"[UNK]": 0, "ΑΣ".lower(): 1, "ασ": 2}, unk_token="[UNK]"), normalizers.Lowercase(), pre_tokenizers.Whitespace(), "ΑΣ"),
]:
    t = Tokenizer(model)
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer = pre
    cases.append({"title": title, "file": json.loads(t.to_str()), "text": text, "ids": t.encode(text).ids})
json.dump(cases, open("cases.json", "w"))
PY
cat > finding.js <<'JS'
import { readFileSync } from "fs";
import { Tokenizer } from "@huggingface/tokenizers";

const found = { fused: [0, 1], "known words": [0, 1, 0], "word level": [1, null, 2], merged: [2, 3, 4], sigma: [1] };
const right = { fused: [0, 0, 1], "known words": [0, 1, 0], "word level": [1, 0, 2], merged: [1, 4], sigma: [2] };
let changed = false;
for (const { title, file, text, ids } of JSON.parse(readFileSync("cases.json"))) {
  const got = JSON.stringify(new Tokenizer(file, {}).encode(text).ids);
  console.log(`${title}: "${text}" is ${got} with @huggingface/tokenizers 0.2.0 and ${JSON.stringify(ids)} with tokenizers 0.23.3`);
  changed ||= got !== JSON.stringify(found[title]) || JSON.stringify(ids) !== JSON.stringify(right[title]);
}
if (changed) {
  console.error("the behaviour has changed");
  process.exit(1);
}
JS
env/bin/python finding.py
node finding.js
