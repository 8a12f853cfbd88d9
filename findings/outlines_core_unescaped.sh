#!/bin/bash
# Expected, but not written down before it was tried: every text that a schema's regular expression matches is JSON, whichever characters the schema has.
# Found: outlines-core copies names and patterns into the text of the JSON. A model that must write a property "6\" pipe", one backslash, or ^a|b$ can only
# write what is not JSON. (Quotation marks in const and enum are escaped.)
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q outlines-core==0.2.14
env/bin/python - <<'PY'
import json
import re
from importlib.metadata import version

from outlines_core.json_schema import build_regex_from_schema


def named(name):
    return {"type": "object", "properties": {name: {"type": "integer"}}, "required": [name]}


changed = False
for schema, right, wrong, escaped in [
    ({"const": '6" pipe'}, r'"6\" pipe"', '"6" pipe"', True),
    (named('6" pipe'), r'{"6\" pipe": 1}', '{"6" pipe": 1}', False),
    ({"type": "string", "pattern": r"^\\$"}, r'"\\"', r'"\"', False),
    ({"type": "string", "pattern": "^a|b$"}, '"ab"', '"a', False),
]:
    regex = build_regex_from_schema(json.dumps(schema))
    json.loads(right)
    got = [re.fullmatch(regex, text) is not None for text in (right, wrong)]
    print(f"outlines-core {version('outlines-core')}: {json.dumps(schema)} becomes {regex}, which matches {right}: {got[0]}, and {wrong}: {got[1]}")
    changed = changed or got != [escaped, not escaped]
if changed:
    raise SystemExit("the behaviour has changed")
PY
