#!/bin/bash
# Guess: llguidance reads \d, \w and \s of a schema's pattern as Rust's regex does, with all of Unicode.
# Found: \d and \w are ASCII, as ECMA-262 has them, but \s is Rust's: U+0085 is white space and U+FEFF is not, both against ECMA-262. The line separator
# U+2028 passes "." too.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install --quiet llguidance==1.9.1
cat > finding.py <<'PY'
import json

import llguidance

tokenizer = llguidance.LLTokenizer("byte")


def accepts(schema, text):
    m = llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema)))
    assert not m.get_error(), m.get_error()
    return all(m.try_consume_tokens([b]) == 1 for b in text.encode()) and m.is_accepting()


def pattern(p):
    return {"type": "string", "pattern": p}


changed = False
for schema, text, right, found in [
    (pattern(r"^\d$"), '"\u0663"', False, False),
    (pattern(r"^\w$"), '"\u00e9"', False, False),
    (pattern(r"^\s$"), '"\u0085"', False, True),
    (pattern(r"^\s$"), '"\ufeff"', True, False),
    (pattern(r"^.$"), '"\u2028"', False, True),
]:
    got = accepts(schema, text)
    print("llguidance 1.9.1:", json.dumps(schema), "with", ascii(text), "is", got, "and by the specifications", right)
    changed = changed or got != found
if changed:
    raise SystemExit("the behaviour has changed")
PY
venv/bin/python finding.py
