#!/usr/bin/env python3
"""Writes chats with the prompts that transformers' apply_chat_template makes of them.

    chats.py OUT.json

The file is a list of {template | templates, special, messages, tools?, documents?, use?, continue?,
open?, variables?, expected | error}: what TestChats in package text asks for. compare_chats.py
takes Reference from here."""

import datetime, json, sys

from transformers import PreTrainedTokenizerBase
from transformers.utils import chat_template_utils

NOW = "2025-03-09T07:05:02"
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}


class Fixed(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromisoformat(NOW)


class Reference:
    """What transformers makes of the requests for one template, or for named ones."""

    def __init__(self, template, special=SPECIAL):
        chat_template_utils.datetime = Fixed
        self.tokenizer = PreTrainedTokenizerBase(chat_template=template, **special)

    def __call__(self, c):
        """The prompt, or the name and message of what was raised."""
        try:
            return {"expected": self.tokenizer.apply_chat_template(
                c["messages"], tokenize=False, tools=c.get("tools"), documents=c.get("documents"), chat_template=c.get("use"),
                add_generation_prompt=not (c.get("closed") or c.get("continue")), continue_final_message=c.get("continue", False), **c.get("variables", {}))}
        except Exception as e:
            return {"error": f"{type(e).__name__}: {e}"[:200]}


SEEN = "{{ messages | tojson }}"  # what a template gets
ALL = "{% for m in messages %}[{{ m.role }}]{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
TRIMMED = "{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}{{ eos_token }}{% endfor %}"
NAMED = {"default": "default{{ messages | length }}{{ tools }}", "tool_use": "tool_use{{ tools | length }}", "rag": "rag{{ documents | map(attribute='title') | join }}"}

USER = {"role": "user", "content": "Hi"}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"a": None, "b": 12345678901234567890}}}], "name": None}
TOOL = {"type": "function", "function": {"name": "f", "description": None}}


def last(text="Well, ", **fields):
    return [USER, {"role": "assistant", "content": text, **fields}]


CASES = [
    # Null fields of messages, and of nothing else.
    {"template": SEEN, "messages": [USER, CALL]},
    {"template": "{% for m in messages %}{{ m.content }}{{ 'content' in m }}{{ m.name is defined }}{% endfor %}", "messages": [USER, CALL]},
    {"template": SEEN, "messages": [{"role": None, "content": None}]},
    {"template": "{{ tools | tojson }}{{ documents | tojson }}", "messages": [USER], "tools": [TOOL], "documents": [{"title": None}]},
    # Tools and documents are None, not undefined.
    {"template": "{{ tools }} {{ documents }} {{ tools is defined }} {{ documents is none }} {{ other is defined }}", "messages": [USER]},
    {"template": "{{ tools }} {{ documents }}", "messages": [USER], "tools": [], "documents": []},
    {"template": "{{ tools }}", "messages": [USER], "tools": [TOOL, 1]},
    {"template": "{{ tools }}", "messages": [USER], "tools": ["f"]},
    {"template": "{{ documents }}", "messages": [USER], "documents": ["text"]},
    {"template": "{{ documents }}", "messages": [USER], "documents": [{"title": "a", "text": "b"}]},
    # Reasoning by its three names.
    *({"template": SEEN, "messages": [USER, {"role": "assistant", **fields}, USER]} for fields in (
        {"reasoning": "r", "content": "c"}, {"thinking": "t", "content": "c"}, {"reasoning_content": "rc", "content": "c"}, {"content": "c", "reasoning": "r", "thinking": "t"},
        {"reasoning": "r", "thinking": None, "reasoning_content": "rc"}, {"reasoning_content": None, "reasoning": "r"}, {"reasoning": ""}, {"reasoning": None}, {"thinking": [{"type": "text", "text": "x"}]})),
    {"template": ALL, "messages": [USER, {"role": "assistant", "reasoning": "because", "content": "so"}, USER]},
    # Named templates.
    {"templates": NAMED, "messages": [USER]},
    {"templates": NAMED, "messages": [USER], "tools": [TOOL]},
    {"templates": NAMED, "messages": [USER], "tools": []},
    {"templates": NAMED, "messages": [USER], "use": "rag", "tools": [TOOL], "documents": [{"title": "x"}]},
    {"templates": NAMED, "messages": [USER], "use": "given {{ messages | length }}"},
    {"templates": {"default": "default{{ tools | length }}"}, "messages": [USER], "tools": [TOOL]},
    {"templates": {"tool_use": "tool_use"}, "messages": [USER], "tools": [TOOL]},
    {"templates": {"tool_use": "tool_use", "rag": "rag"}, "messages": [USER]},
    {"template": "one", "messages": [USER], "use": "two"},
    {"messages": [USER]},
    {"messages": [USER], "use": "two{{ bos_token }}"},
    # Special tokens, and variables that hide them.
    {"template": "{{ bos_token }}{{ eos_token }}{{ unk_token is defined }}{{ image_token }}", "messages": [USER], "special": SPECIAL | {"image_token": "<image>"}},
    {"template": "{{ bos_token }}{{ eos_token }}{{ x }}", "messages": [USER], "variables": {"bos_token": "B", "eos_token": None, "x": [1, None]}},
    # Things that are not messages.
    {"template": "x", "messages": []},
    {"template": "x", "messages": ["a"]},
    {"template": "x", "messages": [USER, None]},
    {"template": "x", "messages": [[USER], 1]},
    {"template": "{{ messages[0].role is defined }}", "messages": [{}]},
    # The prompt's end.
    {"template": ALL, "messages": [USER]},
    {"template": ALL, "messages": [USER], "closed": True},
    {"template": "{{ add_generation_prompt }}", "messages": [USER], "closed": True},
    {"template": ALL, "messages": last(), "continue": "content"},
    {"template": ALL, "messages": last("Well,"), "continue": "content"},
    {"template": ALL, "messages": last(""), "continue": "content"},
    {"template": ALL, "messages": last("  \n Well, \t\n"), "continue": "content"},
    {"template": ALL, "messages": last([{"type": "text", "text": "a "}, {"type": "text", "text": "b "}, {"type": "image"}]), "continue": "content"},
    {"template": ALL, "messages": last([{"type": "image"}]), "continue": "content"},
    {"template": ALL, "messages": last([{"type": "text", "text": None}]), "continue": "content"},
    {"template": ALL, "messages": last(7), "continue": "content"},
    {"template": ALL, "messages": last({"text": "a"}), "continue": "content"},
    {"template": ALL, "messages": last(None), "continue": "content"},
    {"template": TRIMMED, "messages": last("Well, "), "continue": "content"},
    {"template": TRIMMED, "messages": last(" \u00a0Well,\u3000 "), "continue": "content"},
    {"template": "{% for m in messages %}{{ m.content[:3] }}{% endfor %}", "messages": last("Well, "), "continue": "content"},
    {"template": "{% for m in messages %}{{ m.content | upper }}{% endfor %}", "messages": last("Well, "), "continue": "content"},
    {"template": "{% for m in messages %}{{ m['con' ~ 'tent'] }}{% endfor %}", "messages": last("Well, "), "continue": "content"},
    {"template": "{% for m in messages %}{{ m.content }}{% endfor %}", "messages": [{"role": "user", "content": "CONTINUE_FINAL_MESSAGE_TAG "}, *last()], "continue": "content"},
    {"template": "{{ messages[-1].content }}|{{ messages[-1].content }}", "messages": last(), "continue": "content"},
    {"template": ALL, "messages": last("", reasoning="because "), "continue": "reasoning"},
    {"template": ALL, "messages": last("", reasoning="because "), "continue": "reasoning_content"},
    {"template": ALL, "messages": last("", thinking="because "), "continue": "reasoning_content"},
    {"template": ALL, "messages": last("", thinking="a ", reasoning="b "), "continue": "reasoning"},
    {"template": ALL, "messages": last("", thinking=[{"text": "a "}]), "continue": "thinking"},
    {"template": "{% for m in messages %}{{ m.thinking }}|{% endfor %}", "messages": last("", reasoning="because "), "continue": "reasoning_content"},
    {"template": "{% for m in messages %}{{ m.prefix }}{% endfor %}", "messages": last("", prefix="p "), "continue": "prefix"},
    {"template": TRIMMED, "messages": last("a", prefix="p"), "continue": "prefix"},
    # Blocks of the assistant's, raised errors, and what is not a template.
    {"template": "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{% set x = 1 %}{{ m.content }}{% endgeneration %}{{ x }}{% else %}{{ m.content }}{% endif %}|{% endfor %}", "messages": last(), "closed": True},
    {"template": "{{ raise_exception('no ' ~ messages[0].role) }}", "messages": [USER]},
    {"template": "{% if %}", "messages": [USER]},
    {"template": "{{ strftime_now('%d %b %Y') }}{% for m in messages %}{% if m.content is nonexistent %}{% endif %}{% endfor %}", "messages": [USER]},
    {"template": "{% if messages | length > 5 %}{{ messages | from_json }}{% endif %}{{ strftime_now('%d %b %Y') }}", "messages": [USER]},
]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for c in CASES:
        c.setdefault("special", SPECIAL)
        c |= Reference(c.get("templates", c.get("template")), c["special"])(c)
        print({k: v for k, v in c.items() if k in ("expected", "error")})
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in CASES) + "\n]\n")


if __name__ == "__main__":
    main()
