#!/bin/bash
# Guess: a float that is an integer joins a text as it is printed: {{ 'x' ~ 1.0 }} is x1.0, as in Jinja2.
# Found: @huggingface/jinja prints 1.0 alone as 1.0, and as 1 within a joined text and by tojson. The arguments of a tool's call {"top_p": 1.0} are another
# text in the prompt than with transformers, which the model was trained on. (The integer 9007199254740993 is printed as ...992, as was guessed.)
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts @huggingface/jinja@0.5.11
python3 -m venv venv
venv/bin/pip install --quiet jinja2==3.1.6
echo '["{{ 1.0 }}", "{{ \"x\" ~ 1.0 }}", "{{ {\"top_p\": 1.0}|tojson }}", "{{ [0.5, 2.0]|join(\" \") }}", "{{ 9007199254740993 }}"]' > cases.json
cat > finding.js <<'JS'
import { readFileSync } from "fs";
import { Template } from "@huggingface/jinja";

console.log(JSON.stringify(JSON.parse(readFileSync("cases.json")).map(c => new Template(c).render({}))));
JS
cat > finding.py <<'PY'
import json

from jinja2 import Environment

env = Environment()
env.filters["tojson"] = lambda v: json.dumps(v, ensure_ascii=False)  # as transformers has it
print(json.dumps([env.from_string(c).render() for c in json.load(open("cases.json"))]))
PY
echo "@huggingface/jinja 0.5.11: $(node finding.js | tee js.json)"
echo "Jinja2 3.1.6:              $(venv/bin/python finding.py | tee py.json)"
python3 - <<'PY'
import json

js, py = json.load(open("js.json")), json.load(open("py.json"))
if (js[0], js[1], js[2], js[4]) != ("1.0", "x1", '{"top_p": 1}', "9007199254740992") or py != ["1.0", "x1.0", '{"top_p": 1.0}', "0.5 2.0", "9007199254740993"]:
    raise SystemExit("the behaviour has changed")
PY
