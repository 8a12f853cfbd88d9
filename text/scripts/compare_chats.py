#!/usr/bin/env python3
"""Compares prompts of package text with those of transformers' apply_chat_template.

    compare_chats.py [-show N] SERVER WHEELS

For every template of chat_manifest.txt, 88 lists of messages: 11 beginnings with 8 ends, and with each
a way to ask, so that tools, documents, variables and messages to be continued meet all of them. Both
must make the same prompt, to the byte, or refuse. Prints what each template came to, the first
differences, and a summary; ends with 1 where there is any difference.

SERVER is the test binary of package text, WHEELS a folder for public_templates.py."""

import argparse, collections, json, os, subprocess, sys, time

import chats, public_templates

TOOLS = [
    {"type": "function", "function": {"name": "weather", "description": "The weather & more <now>.\nEverywhere.", "parameters": {
        "type": "object", "properties": {"days": {"type": "integer", "default": 10 ** 20}, "city": {"type": "string", "description": "A \"city\"", "enum": ["Zürich", "São Paulo"]},
                                         "units": {"type": "array", "items": {"type": ["string", "null"]}}, "exact": {"type": "boolean"}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "stop", "description": "", "parameters": {"type": "object", "properties": {}}, "return": {"type": "null"}}},
]
DOCUMENTS = [{"title": "Tides", "text": "The moon\npulls. 'Twice' a day."}, {"title": "Émile", "contents": "ou", "text": "de l’éducation"}]

SYSTEM = {"role": "system", "content": "You are a pirate. "}
USER = {"role": "user", "content": "Hello, wörld!\nHow are you?"}
AGAIN = {"role": "user", "content": "And \ttomorrow? <b>&amp;</b> "}
ASSISTANT = {"role": "assistant", "content": "I'm fine. \"Thanks\""}
ARGUMENTS = {"city": "Zürich", "days": 3, "units": ["C", None], "exact": True, "limit": 0.5, "big": 12345678901234567890, "none": None, "deep": {"a": {"b": []}}}


def call(arguments=ARGUMENTS, name="weather", number="abcdef123"):
    return {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}


def answer(content="21.5 °C, sunny", **more):
    return {"role": "tool", "tool_call_id": "abcdef123", "content": content, **more}


BEGINNINGS = [
    [USER],
    [SYSTEM, USER],
    [{"role": "system", "content": [{"type": "text", "text": "Be brief."}]}, {"role": "user", "content": [{"type": "text", "text": " What is this? "}]}],
    [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "And this?"}, {"type": "image", "image": "x.png"}, {"type": "image_url", "image_url": {"url": "x.png"}}]}],
    [{"role": "developer", "content": "Use tools."}, USER],
    [USER, ASSISTANT, AGAIN],
    [SYSTEM, USER, AGAIN],
    [SYSTEM, {"role": "user", "content": " \u00a0<|im_start|>system\u2028</think>\u3000{{ x }} 😀 \n"}],
    [{"role": "system", "content": ""}, {"role": "user", "content": "x", "name": None, "weight": 1.0, "id": 2 ** 70}],
    [SYSTEM, USER, ASSISTANT, AGAIN, {"role": "assistant", "content": " Yes.", "reasoning": None}, {"role": "user", "content": ""}],
    [USER, {"role": "assistant", "content": None, "tool_calls": [call({"a": None}, "stop")]}, answer({"degrees": [21, 22]}), {"role": "assistant"}, {"role": "user", "content": [{"type": "audio", "audio": "a.wav"}, {"type": "video"}, {"type": "text", "text": ""}]}],
]

ENDS = [
    [],
    [ASSISTANT],
    [{"role": "assistant", "content": None, "tool_calls": [call()]}, answer()],
    [{"role": "assistant", "content": "Wait.", "tool_calls": [call(json.dumps(ARGUMENTS)), call({}, "stop", "abcdef124")]}, answer(name="weather"), answer("", name="stop"), ASSISTANT, AGAIN],
    [{"role": "assistant", "reasoning": "Polite\npeople. ", "content": "Fine."}, AGAIN, {"role": "assistant", "thinking": "Why?", "content": None, "tool_calls": [call()]}, answer("rain")],
    [{"role": "assistant", "content": "<think>\nLet me see.\n</think>\n\nParis. "}, AGAIN, {"role": "assistant", "reasoning_content": "", "content": "<think>No</think>"}],
    [{"role": "assistant", "content": "", "tool_calls": [call({"city": "x"})], "reasoning_content": "r", "refusal": None}, answer('{"degrees": [21, 22]}'), AGAIN],
    [{"role": "assistant", "content": [{"type": "text", "text": "Part one, "}, {"type": "text", "text": "part two. "}], "tool_calls": None}],
]

SETTINGS = [
    {}, {"tools": TOOLS}, {"closed": True}, {"variables": {"enable_thinking": False, "date_string": "1 Jan 2025", "tools_in_user_message": False}, "tools": TOOLS[:1]},
    {"continue": True}, {"documents": DOCUMENTS, "tools": TOOLS, "variables": {"enable_thinking": True, "reasoning_effort": "high", "thinking": True}}, {"tools": [], "documents": []},
    {"variables": {"keep_past_thinking": True, "builtin_tools": ["weather", "code_interpreter"], "add_vision_id": True, "bos_token": ""}, "tools": TOOLS, "closed": True},
    {"continue": True, "tools": TOOLS},
]


def requests():
    """88 requests, of which 9 are asked in each way or 10 in the first ones."""
    for i, beginning in enumerate(BEGINNINGS):
        for j, end in enumerate(ENDS):
            request = {"messages": beginning + end, **SETTINGS[(i * len(ENDS) + j) % len(SETTINGS)]}
            if request.get("continue"):
                thought = any(request["messages"][-1].get(k) for k in ("reasoning_content", "thinking", "reasoning"))
                request["continue"] = "reasoning_content" if thought else "content"
            yield request


class Server:
    """Package text."""

    def __init__(self, path):
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../internal/chat")  # where the tests' files are
        self.process = subprocess.Popen([os.path.abspath(path), "-test.run", "^TestCompareChats$", "-test.timeout", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        cwd=folder, env=os.environ | {"AVOFORMER_COMPARE": "1"})

    def send(self, request):
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, request):
        self.send(request)
        while True:
            line = self.process.stdout.readline()
            if not line:
                sys.exit("the server ended")
            if line.startswith(b"@"):
                return json.loads(line[1:])
            print(line.decode(), end="")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("-show", type=int, default=10)
    p.add_argument("server")
    p.add_argument("wheels")
    args = p.parse_args()
    server, start, shown = Server(args.server), time.time(), 0
    total, lists = collections.Counter(), list(requests())
    templates = list(public_templates.load(args.wheels))
    for name, template in templates:
        server.send({"template": template, "special": chats.SPECIAL})
        reference, count = chats.Reference(template), collections.Counter()
        for i, request in enumerate(lists):
            theirs, ours = reference(request), server.ask(request)
            kind = "refused by both" if "error" in theirs and "error" in ours else "equal" if theirs.get("expected") == ours.get("expected") else "different"
            count[kind] += 1
            if kind == "different":
                shown += 1
                if shown <= args.show:
                    print(f"{name}, list {i}:\n  transformers {theirs}\n  text         {ours}")
        total += count
        print(f"{name:70} {dict(count)}", flush=True)
    print(f"{len(templates)} templates, {len(lists)} lists of messages each: {total.total()} prompts, {total['equal']} equal to the byte, "
          f"{total['refused by both']} refused by both, {total['different']} different; {time.time() - start:.0f} s")
    return total["different"] > 0


if __name__ == "__main__":
    sys.exit(main())
