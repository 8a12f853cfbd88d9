"""Responses and messages by the official clients of OpenAI and Anthropic.

Arguments: a server's address, and the file that expected.py wrote.
"""

import base64
import json
import sys

import anthropic
import openai

address = sys.argv[1]
with open(sys.argv[2]) as f:
    want = json.load(f)
with open(want["picture"], "rb") as f:
    picture = base64.b64encode(f.read()).decode()
messages = [{"role": "user", "content": "Hi"}]


def check(ok, *what):
    if not ok:
        sys.exit(f"clients_protocols.py: {what}")


def responses():
    client = openai.OpenAI(base_url=address + "/v1", api_key="none", max_retries=0)
    options = dict(model="generate", input="Hi", max_output_tokens=8)
    whole = client.responses.create(**options)
    check(whole.output_text.strip() == want["chat"] and whole.status == "incomplete" and whole.usage.output_tokens == 8, whole)
    with client.responses.stream(**options) as stream:
        said = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
    check(said == whole.output_text, said, whole)
    onward = client.responses.create(previous_response_id=whole.id, **options)
    check(onward.previous_response_id == whole.id and onward.usage.input_tokens > whole.usage.input_tokens, onward)
    check(client.responses.retrieve(whole.id).output_text == whole.output_text, "another response is kept")
    client.responses.delete(whole.id)
    try:
        client.responses.create(previous_response_id=whole.id, **options)
        check(False, "a deleted response is kept")
    except openai.BadRequestError as e:
        check(e.param == "previous_response_id", e)
    schema = {"type": "json_schema", "name": "x", "strict": True, "schema": {"const": 7}}
    parts = [{"type": "input_image", "image_url": "data:image/png;base64," + picture, "detail": "auto"}, {"type": "input_text", "text": "Look."}]
    seen = client.responses.create(model="gemma4", input=[{"role": "user", "content": parts}], max_output_tokens=8, temperature=0)
    check(seen.output_text.strip() == want["seen"], seen, want["seen"])
    held = client.responses.create(model="generate", input="Hi", text={"format": schema})
    check(held.output_text.strip() == "7" and held.status == "completed", held)


def anthropics():
    client = anthropic.Anthropic(base_url=address, api_key="none", max_retries=0)
    options = dict(model="generate", messages=messages, max_tokens=8)
    whole = client.messages.create(**options)
    check(whole.content[0].text.strip() == want["chat"] and whole.stop_reason == "max_tokens" and whole.usage.output_tokens == 8, whole)
    with client.messages.stream(**options) as stream:
        last = stream.get_final_message()
    check([b.text for b in last.content] == [b.text for b in whole.content] and last.stop_reason == whole.stop_reason, last, whole)
    counted = client.messages.count_tokens(model="generate", messages=messages)
    check(counted.input_tokens == whole.usage.input_tokens + whole.usage.cache_read_input_tokens, counted, whole)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}}
    look = dict(model="gemma4", messages=[{"role": "user", "content": [image, {"type": "text", "text": "Look."}]}])
    seen = client.messages.create(max_tokens=8, extra_body={"temperature": 0}, **look)
    check(seen.content[0].text.strip() == want["seen"], seen, want["seen"])
    counted = client.messages.count_tokens(**look)
    check(counted.input_tokens == seen.usage.input_tokens + seen.usage.cache_read_input_tokens, counted, seen)
    image["source"]["media_type"] = "image/svg+xml"
    try:
        client.messages.create(max_tokens=8, **look)
        check(False, "an image of a type that is not read is answered")
    except anthropic.BadRequestError as e:
        check(e.body["error"]["type"] == "invalid_request_error" and "image/svg+xml" in e.body["error"]["message"], e)
    try:
        client.messages.create(**(options | {"model": "none"}))
        check(False, "a model that is not served answers")
    except anthropic.NotFoundError as e:
        check(e.body["error"]["type"] == "not_found_error", e)


for test in (responses, anthropics):
    test()
    print("clients_protocols.py:", test.__name__, "ok")
