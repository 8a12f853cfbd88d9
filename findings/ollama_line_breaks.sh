#!/bin/bash
# Guess: the client reads a streamed line of JSON whole, also where its text has U+0085 or U+2028, which JSON need not escape.
# Found: ollama and huggingface_hub take their lines from httpx, which ends them where Python's str.splitlines does. An answer with
# such a character is a JSONDecodeError in the middle of the stream. The client of openai reads the same texts.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q ollama==0.6.3 huggingface_hub==2.4.0 openai==3.57.0
cat > finding.py <<'PY'
import json, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version

import huggingface_hub, ollama, openai


class Server(BaseHTTPRequestHandler):
    def log_message(self, *args): pass

    def do_POST(self):
        model = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["model"]
        said = {"role": "assistant", "content": f"a{model}b"}
        if self.path == "/api/chat":
            piece, before, behind = {"message": said, "done": True}, "", "\n"
        else:
            piece, before, behind = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta": said}]}, "data: ", "\n\n"
        body = (before + json.dumps(piece, ensure_ascii=False) + behind).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
url, messages = f"http://127.0.0.1:{server.server_port}", [{"role": "user", "content": "Hi"}]
hub = huggingface_hub.InferenceClient(url, token="t")
clients = {
    "ollama": lambda c: [p.message.content for p in ollama.Client(url).chat(c, messages, stream=True)],
    "huggingface_hub": lambda c: [p.choices[0].delta.content for p in hub.chat_completion(messages, model=c, stream=True)],
    "openai": lambda c: [p.choices[0].delta.content for p in openai.OpenAI(api_key="k", base_url=url).chat.completions.create(model=c, messages=messages, stream=True)],
}
changed = False
for name, chat in clients.items():
    for c in "\u00e9", "\u0085", "\u2028":
        try:
            got = chat(c)
        except json.JSONDecodeError as e:
            got = e.msg
        print(name, version(name), "with", ascii(c), "gives", ascii(got))
        broken = name in ("ollama", "huggingface_hub") and c != "\u00e9"
        changed = changed or (got == [f"a{c}b"]) == broken
if changed:
    raise SystemExit("the behaviour has changed")
PY
env/bin/python finding.py
