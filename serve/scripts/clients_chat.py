"""Chats and texts by the official clients of OpenAI and Ollama.

Arguments: a server's address, and the file that expected.py wrote.
"""

import json
import sys

import ollama
import openai

address = sys.argv[1]
with open(sys.argv[2]) as f:
    want = json.load(f)
client = openai.OpenAI(base_url=address + "/v1", api_key="none", max_retries=0)
messages = [{"role": "user", "content": "Hi"}]


def check(ok, *what):
    if not ok:
        sys.exit(f"clients_chat.py: {what}")


def chats():
    options = dict(model="generate", messages=messages, max_tokens=12, temperature=1, seed=5)
    whole = client.chat.completions.create(**options, logprobs=True, top_logprobs=3)
    choice = whole.choices[0]
    check(choice.finish_reason == "length" and whole.usage.completion_tokens == 12, whole)
    check(len(choice.logprobs.content) == 12 and len(choice.logprobs.content[0].top_logprobs) == 3, choice.logprobs)
    content, usage = "", None
    for chunk in client.chat.completions.create(**options, stream=True, stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for c in chunk.choices:
            content += c.delta.content or ""
    check(content == choice.message.content and usage.total_tokens == whole.usage.total_tokens, content, whole)
    schema = {"name": "x", "strict": True, "schema": {"const": 7}}
    whole = client.chat.completions.create(model="generate", messages=messages, response_format={"type": "json_schema", "json_schema": schema})
    check(whole.choices[0].message.content.strip() == "7" and whole.choices[0].finish_reason == "stop", whole)


def completions():
    whole = client.completions.create(model="generate", prompt=["The quick brown", "Yes."], max_tokens=8)
    texts = ["", ""]
    for chunk in client.completions.create(model="generate", prompt=["The quick brown", "Yes."], max_tokens=8, stream=True):
        for c in chunk.choices:
            texts[c.index] += c.text
    check(texts == [c.text for c in whole.choices] and whole.usage.completion_tokens == 16, whole, texts)
    ended = client.completions.create(model="generate", prompt="The quick brown", max_tokens=8, echo=True, extra_body={"min_tokens": 8, "ignore_eos": True, "bad_words": ["zzz"]})
    check(ended.choices[0].text == "The quick brown" + texts[0] and ended.usage.completion_tokens == 8, ended)


def errors():
    try:
        client.chat.completions.create(model="none", messages=messages)
        check(False, "a model that is not served answers")
    except openai.NotFoundError as e:
        check(e.code == "model_not_found" and e.param == "model", e)
    try:
        client.chat.completions.create(model="generate", messages=messages, n=0)
        check(False, "n of 0 is taken")
    except openai.BadRequestError as e:
        check(e.param == "n", e)


def ollamas():
    c = ollama.Client(host=address)
    options = {"num_predict": 8, "temperature": 1, "seed": 4}
    whole = c.chat(model="generate", messages=messages, options=options)
    check(whole.done_reason == "length" and whole.eval_count == 8, whole)
    pieces = list(c.chat(model="generate", messages=messages, options=options, stream=True))
    check("".join(p.message.content for p in pieces) == whole.message.content and pieces[-1].done, pieces)
    check(c.generate(model="generate", prompt="Hi", format={"const": 7}).response.strip() == "7", "a schema is not followed")
    check(len(c.embed(model="embed", input=["a", "b"]).embeddings) == 2, "no embeddings")
    check({m.model for m in c.list().models} == set(want["models"]), c.list())
    try:
        c.chat(model="none", messages=messages)
        check(False, "a model that is not served answers")
    except ollama.ResponseError as e:
        check(e.status_code == 404 and "none" in e.error, e)


for test in (chats, completions, errors, ollamas):
    test()
    print("clients_chat.py:", test.__name__, "ok")
