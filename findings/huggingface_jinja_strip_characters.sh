#!/bin/bash
# Expected, but not written down before it was tried: strip, lstrip and rstrip remove the characters that they are given, as Python's and Jinja2's.
# Found: @huggingface/jinja ignores the argument and removes all white space. Templates of Qwen 3 strip newlines of reasoning and of contents in this way: an
# indented first line loses its indentation, and the prompt differs from that of transformers.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts @huggingface/jinja@0.5.11
python3 -m venv venv
venv/bin/pip install --quiet jinja2==3.1.6
cat > cases.json <<'JSON'
[
  {"template": "[{{ text.strip('\n') }}]", "text": "\n    return 1\n"},
  {"template": "[{{ text.lstrip('\n') }}]", "text": "\n    return 1  \n"},
  {"template": "[{{ text.rstrip('\n') }}]", "text": "\n    return 1  \n"},
  {"template": "[{{ text.strip('*') }}]", "text": "**bold**"}
]
JSON
cat > finding.js <<'JS'
import { readFileSync } from "fs";
import { Template } from "@huggingface/jinja";

const cases = JSON.parse(readFileSync("cases.json"));
console.log(JSON.stringify(cases.map(c => new Template(c.template).render({ text: c.text }))));
JS
cat > finding.py <<'PY'
import json

from jinja2 import Environment

cases = json.load(open("cases.json"))
print(json.dumps([Environment().from_string(c["template"]).render(text=c["text"]) for c in cases]))
PY
echo "@huggingface/jinja 0.5.11: $(node finding.js | tee js.json)"
echo "Jinja2 3.1.6:              $(venv/bin/python finding.py | tee py.json)"
python3 - <<'PY'
import json

js, py = json.load(open("js.json")), json.load(open("py.json"))
if js != ["[return 1]", "[return 1  \n]", "[\n    return 1]", "[**bold**]"] or py != ["[    return 1]", "[    return 1  \n]", "[\n    return 1  ]", "[bold]"]:
    raise SystemExit("the behaviour has changed")
PY
