"""Vectors, rankings and labels by the clients of OpenAI, LangChain, Cohere, Ollama and Hugging Face.

Arguments: a server's address, and the file that expected.py wrote.
"""

import json
import struct
import sys
import zlib

import cohere
import huggingface_hub
import langchain_ollama
import langchain_openai
import ollama
import openai

address = sys.argv[1]
with open(sys.argv[2]) as f:
    want = json.load(f)
texts, vectors = want["texts"], want["vectors"]


def check(ok, *what):
    if not ok:
        sys.exit(f"clients_texts.py: {what}")


def near(a, b):
    return len(a) == len(b) and all(abs(x - y) < 1e-5 for x, y in zip(a, b))


def same(got, to=vectors):
    check(len(got) == len(to) and all(near(a, b) for a, b in zip(got, to)), "other vectors", got)


def ranked(results, score):
    got = [[r.index, getattr(r, score)] for r in results]
    check([i for i, _ in got] == [i for i, _ in want["ranked"]] and near([s for _, s in got], [s for _, s in want["ranked"]]), got)


def picture():
    """A PNG file of 8 by 8 grey pixels."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(range(32 * y, 32 * y + 8)) for y in range(8))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def openais():
    client = openai.OpenAI(base_url=address + "/v1", api_key="none", max_retries=0)
    same([d.embedding for d in client.embeddings.create(model="embed", input=texts).data])
    same([d.embedding for d in client.embeddings.create(model="embed", input=texts, encoding_format="float").data])
    check([m.id for m in client.models.list()] == want["models"], client.models.list())
    with open(want["sound"], "rb") as sound:
        heard = client.audio.transcriptions.create(model="transcribe", file=sound, language="en")
    check(heard.text.strip() == want["transcription"], heard)


def langchains():
    options = dict(model="embed", base_url=address + "/v1", api_key="none", max_retries=0)
    e = langchain_openai.OpenAIEmbeddings(check_embedding_ctx_length=False, **options)
    same(e.embed_documents(texts))
    same([e.embed_query(texts[0])], vectors[:1])
    e = langchain_ollama.OllamaEmbeddings(model="embed", base_url=address)  # which sends all options, most of them null
    same(e.embed_documents(texts))
    same([e.embed_query(texts[0])], vectors[:1])


def coheres():
    client = cohere.ClientV2(api_key="none", base_url=address)
    embedded = client.embed(model="embed", texts=texts, input_type="search_document", embedding_types=["float", "int8", "ubinary"]).embeddings
    documents = openai.OpenAI(base_url=address + "/v1", api_key="none").embeddings.create(model="embed", input=texts, extra_body={"input_type": "search_document"})
    same(embedded.float_, [d.embedding for d in documents.data])
    check(max(embedded.int8[0], key=abs) in (127, -127) and len(embedded.ubinary[0]) == (len(vectors[0]) + 7) // 8, embedded)
    ranked(client.rerank(model="rerank", query=want["query"], documents=texts).results, "relevance_score")
    client = cohere.Client(api_key="none", base_url=address)
    same(client.embed(model="embed", texts=texts).embeddings)
    try:
        client.embed(model="none", texts=texts)
        check(False, "a model that is not served answers")
    except cohere.NotFoundError as e:
        check("none" in e.body["message"], e)
    answer = client.rerank(model="rerank", query=want["query"], documents=texts, top_n=1, return_documents=True)
    check(len(answer.results) == 1 and answer.results[0].document.text == texts[want["ranked"][0][0]], answer)


def ollamas():
    client = ollama.Client(host=address)
    same(client.embed(model="embed", input=texts, keep_alive="5m").embeddings)
    same(client.embed(model="embed", input=texts, options={"num_ctx": 2048, "num_thread": 2, "temperature": 0.5}).embeddings)
    check(client.pull("embed").status == "success", "not there")
    v = client.embeddings(model="embed", prompt=texts[0], keep_alive=60).embedding
    scale = sum(x * x for x in v) ** 0.5
    same([[x / scale for x in v]], vectors[:1])
    check(client.show("embed").capabilities == ["embedding"], client.show("embed"))
    check("completion" in client.show("generate:latest").capabilities, client.show("generate"))
    check(client.generate(model="generate", keep_alive=0).done_reason == "unload", "not closed")
    check("generate" not in {m.model for m in client.ps().models}, client.ps())
    check(client.generate(model="generate").done_reason == "load", "not opened")
    check("generate" in {m.model for m in client.ps().models}, client.ps())


def huggingface():
    def at(model):
        return huggingface_hub.InferenceClient(model=f"{address}/models/{model}")

    for text, v in zip(texts, vectors):
        same(at("embed").feature_extraction(text), [v])
    cosines = at("embed").sentence_similarity(texts[0], other_sentences=texts[1:])
    check(near(cosines, [sum(a * b for a, b in zip(vectors[0], v)) for v in vectors[1:]]), cosines)
    labels = at("classify").text_classification(texts[0])
    check([x.label for x in labels] == [x["label"] for x in want["labels"]] and near([x.score for x in labels], [x["score"] for x in want["labels"]]), labels)
    found = at("tokens").token_classification(want["sentence"])
    check([(x.entity_group, x.start, x.end) for x in found] == [(x["label"], x["start"], x["end"]) for x in want["entities"]], found)
    labels = at("image").image_classification(picture(), top_k=2)
    check(labels and all(0 <= x.score <= 1 for x in labels) and labels[0].score == max(x.score for x in labels), labels)
    translated = at("translate").translation(texts[0], generate_parameters={"max_new_tokens": 6})
    check(translated.translation_text == want["translation"], translated)
    written = at("generate").text_generation(want["prompt"], max_new_tokens=8)
    check(written.strip() == want["completion"], written, want["completion"])
    client = at("generate")  # whose end ends its streams
    events = list(client.text_generation(want["prompt"], max_new_tokens=8, stream=True, details=True))
    check("".join(e.token.text for e in events).strip() == want["completion"] and events[-1].generated_text.strip() == want["completion"], events)
    check(events[-1].details.finish_reason == "length" and events[-1].details.generated_tokens == 8, events[-1])
    detailed = at("generate").text_generation(want["prompt"], max_new_tokens=8, details=True).details
    check([x.id for x in detailed.tokens] == [e.token.id for e in events], detailed)
    formed = huggingface_hub.InferenceClient(base_url=address + "/v1").chat_completion(
        [{"role": "user", "content": "Hi"}], model="generate", response_format={"type": "json", "value": {"const": 7}}
    )
    check(formed.choices[0].message.content.strip() == "7", formed)
    chat = huggingface_hub.InferenceClient(base_url=address + "/v1").chat_completion([{"role": "user", "content": "Hi"}], model="generate", max_tokens=8, temperature=0)
    check(chat.choices[0].message.content.strip() == want["chat"], chat)


for test in (openais, langchains, coheres, ollamas, huggingface):
    test()
    print("clients_texts.py:", test.__name__, "ok")
