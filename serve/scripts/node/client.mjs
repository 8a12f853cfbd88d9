// OpenAI's client for JavaScript against a server. Arguments: its address, and the file that expected.py wrote.

import assert from "node:assert/strict";
import { createReadStream, readFileSync } from "node:fs";
import OpenAI from "openai";

const [address, file] = process.argv.slice(2);
const want = JSON.parse(readFileSync(file));
const client = new OpenAI({ baseURL: address + "/v1", apiKey: "none", maxRetries: 0 });

async function embeddings() {
  for (const encoding_format of [undefined, "float", "base64"]) {
    const got = await client.embeddings.create({ model: "embed", input: want.texts, encoding_format });
    assert.equal(got.data.length, want.texts.length);
    got.data.forEach((d, i) => {
      let v = d.embedding;
      if (typeof v === "string") v = Array.from(new Float32Array(new Uint8Array(Buffer.from(v, "base64")).buffer));
      assert.equal(v.length, want.vectors[i].length);
      v.forEach((x, j) => assert.ok(Math.abs(x - want.vectors[i][j]) < 1e-5));
    });
  }
}

async function chats() {
  const options = { model: "generate", messages: [{ role: "user", content: "Hi" }], max_completion_tokens: 8, temperature: 0 };
  const whole = await client.chat.completions.create(options);
  assert.equal(whole.choices[0].message.content.trim(), want.chat);
  let content = "";
  for await (const chunk of await client.chat.completions.create({ ...options, stream: true })) content += chunk.choices[0]?.delta.content ?? "";
  assert.equal(content, whole.choices[0].message.content);
  const helped = client.chat.completions.stream(options);
  assert.equal(await helped.finalContent(), whole.choices[0].message.content);
  const completed = await client.completions.create({ model: "generate", prompt: want.prompt, max_tokens: 8, temperature: 0 });
  assert.equal(completed.choices[0].text.trim(), want.completion);
}

async function others() {
  const names = [];
  for await (const m of client.models.list()) names.push(m.id);
  assert.deepEqual(names, want.models);
  const heard = await client.audio.transcriptions.create({ model: "transcribe", file: createReadStream(want.sound), language: "en" });
  assert.equal(heard.text.trim(), want.transcription);
  await assert.rejects(client.embeddings.create({ model: "none", input: "a" }), (e) => e instanceof OpenAI.NotFoundError && e.code === "model_not_found");
  await assert.rejects(client.embeddings.create({ model: "embed", input: [1, 2] }), (e) => e instanceof OpenAI.BadRequestError && e.param === "input");
}

for (const test of [embeddings, chats, others]) {
  await test();
  console.log("client.mjs:", test.name, "ok");
}
