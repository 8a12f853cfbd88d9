"""What LiteLLM sends to the servers that it knows. Arguments: a server's address, and the file that expected.py wrote."""

import json
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it is not part of this, and on the network

import litellm  # noqa: E402

address = sys.argv[1]
with open(sys.argv[2]) as f:
    want = json.load(f)
messages = [{"role": "user", "content": "Hi"}]


def check(ok, *what):
    if not ok:
        sys.exit(f"litellm_clients.py: {what}")


def near(a, b):
    return len(a) == len(b) and all(abs(x - y) < 1e-5 for x, y in zip(a, b))


def embeddings():
    for model, base in (("openai/embed", address + "/v1"), ("ollama/embed", address)):
        got = litellm.embedding(model=model, input=want["texts"], api_base=base, api_key="none")
        check(all(near(d["embedding"], v) for d, v in zip(got.data, want["vectors"])) and len(got.data) == len(want["vectors"]), model, got)


def ranks():
    for model, base in (("cohere/rerank", address), ("jina_ai/rerank", address), ("huggingface/rerank", address)):
        got = litellm.rerank(model=model, query=want["query"], documents=want["texts"], top_n=3, api_base=base, api_key="none").results
        check([r["index"] for r in got] == [i for i, _ in want["ranked"]] and near([r["relevance_score"] for r in got], [s for _, s in want["ranked"]]), model, got)


def chats():
    for model, base in (("openai/generate", address + "/v1"), ("ollama_chat/generate", address)):
        options = dict(model=model, messages=messages, max_tokens=8, temperature=0, api_base=base, api_key="none")
        got = litellm.completion(**options)
        check(got.choices[0].message.content.strip() == want["chat"], model, got)
        pieces = [chunk.choices[0].delta.content or "" for chunk in litellm.completion(stream=True, **options)]
        check("".join(pieces).strip() == want["chat"], model, pieces)


for test in (embeddings, ranks, chats):
    test()
    print("litellm_clients.py:", test.__name__, "ok")
