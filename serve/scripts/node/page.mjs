// The page at / in headless Chromium, as a person uses it. Arguments: the server's address, the file that expected.py
// wrote, and where the screenshots go.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [address, file, pictures] = process.argv.slice(2);
const want = JSON.parse(readFileSync(file));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const context = await browser.newContext({ viewport: { width: 900, height: 700 }, permissions: ["clipboard-read", "clipboard-write"] });
const page = await context.newPage();
const wrong = [], asked = [];
page.on("console", (m) => m.type() === "error" && wrong.push(m.text()));
page.on("pageerror", (e) => wrong.push(String(e)));
page.on("request", (r) => asked.push(r.url()));
await page.goto(address + "/");

const result = (panel) => page.locator(`#${panel} .result`);
async function answered(panel, like) {
  await page.waitForFunction(([p, like]) => new RegExp(like).test(document.querySelector(`#${p} .result`).textContent), [panel, like]);
  await page.screenshot({ path: `${pictures}/${panel}.png` });
}

async function embeddings() {
  await page.locator("#embed .texts").fill(want.texts.join("\n"));
  await page.getByRole("button", { name: "Compare" }).click();
  await answered("embed", "vectors of");
  const cells = (await page.locator("#embed td").allTextContents()).map(Number);
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const cosines = want.vectors.flatMap((a) => want.vectors.map((b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))));
  assert.equal(cells.length, cosines.length);
  cells.forEach((x, i) => assert.ok(Math.abs(x - cosines[i]) < 6e-4, `${x}, want ${cosines[i]}`));
}

async function ranking() {
  await page.getByRole("tab", { name: "Ranking" }).click();
  await page.locator("#rank .query").fill(want.query);
  await page.locator("#rank .texts").fill(want.texts.join("\n"));
  await page.getByRole("button", { name: "Rank" }).click();
  await answered("rank", "texts ranked");
  const rows = await page.locator("#rank li").allTextContents();
  assert.deepEqual(rows.map((r) => r.replace(/^\S+ /, "")), want.ranked.map(([i]) => want.texts[i]));
  rows.forEach((r, i) => assert.ok(Math.abs(parseFloat(r) - want.ranked[i][1]) < 1e-4, r));
}

async function chats() {
  await page.getByRole("tab", { name: "Chat" }).click();
  await page.locator("#chat .most").fill("8");
  await page.locator("#chat .temperature").fill("0");
  await page.locator("#chat .message").fill("Hi");
  await page.locator("#chat .message").press("Enter");
  await answered("chat", "8 written");
  await page.locator("#chat .assistant .copy").waitFor();
  assert.equal((await page.locator("#chat .assistant").last().textContent()).trim(), want.chat);
  const history = page.waitForRequest((r) => r.url().endsWith("/v1/chat/completions"));
  await page.locator("#chat .message").fill("<b>And</b> now?");
  await page.getByRole("button", { name: "Send" }).click();
  const { messages } = JSON.parse((await history).postData());
  assert.deepEqual(messages.map((m) => m.role), ["user", "assistant", "user"]);
  assert.equal(messages[1].content.trim(), want.chat);
  await page.waitForFunction(() => !document.querySelector("#chat .send").disabled);
  assert.equal(await page.locator("#chat .user").last().textContent(), "<b>And</b> now?"); // as text
  assert.equal(await page.locator("#chat .messages > *").count(), 4);
  await page.locator("#chat .assistant .copy").first().click();
  assert.equal((await page.evaluate(() => navigator.clipboard.readText())).trim(), want.chat);
}

// A system prompt, an answer that is stopped, and a new beginning.
async function systems() {
  await page.getByRole("button", { name: "Start again" }).click();
  await page.getByText("System prompt").click();
  await page.locator("#chat .system").fill("Be brief.");
  await page.locator("#chat .most").fill("400");
  await page.locator("#chat .message").fill("Tell me all.");
  const sent = page.waitForRequest((r) => r.url().endsWith("/v1/chat/completions"));
  await page.locator("#chat .message").press("Enter");
  assert.deepEqual(JSON.parse((await sent).postData()).messages.map((m) => m.role), ["system", "user"]);
  await page.locator("#chat .assistant").first().waitFor();
  await page.locator("#chat .message").press("Escape");
  await page.waitForFunction(() => /stopped|written/.test(document.querySelector("#chat .result").textContent));
  assert.ok((await page.locator("#chat .assistant").first().textContent()).trim());
  await page.locator("#chat .system").fill("");
  await page.getByRole("button", { name: "Start again" }).click();
  assert.equal(await page.locator("#chat .messages > *").count(), 0);
}

// What is dropped or chosen: an image is a part of the message, speech becomes its text.
async function files() {
  const drawn = await page.evaluate(() => document.createElement("canvas").toDataURL("image/png"));
  const blank = Buffer.from(drawn.split(",")[1], "base64");
  await page.locator("#chat .model").selectOption("gemma4");
  await page.locator("#chat .most").fill("4");
  await page.locator("#chat .files").setInputFiles({ name: "blank.png", mimeType: "image/png", buffer: blank });
  await page.locator("#chat .images img").waitFor();
  await page.locator("#chat .message").fill("What is this?");
  const sent = page.waitForRequest((r) => r.url().endsWith("/v1/chat/completions"));
  await page.locator("#chat .message").press("Enter");
  const [message] = JSON.parse((await sent).postData()).messages;
  assert.deepEqual(message.content.map((part) => part.type), ["image_url", "text"]);
  await answered("chat", "4 written");
  assert.equal(await page.locator("#chat .user img").count(), 1);
  const rate = 16000, wav = Buffer.alloc(44 + 2 * rate);
  wav.write("RIFF", 0), wav.writeUInt32LE(36 + 2 * rate, 4), wav.write("WAVEfmt ", 8), wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20), wav.writeUInt16LE(1, 22), wav.writeUInt32LE(rate, 24), wav.writeUInt32LE(2 * rate, 28), wav.writeUInt16LE(2, 32), wav.writeUInt16LE(16, 34);
  wav.write("data", 36), wav.writeUInt32LE(2 * rate, 40);
  for (let i = 0; i < rate; i++) wav.writeInt16LE(Math.round(9000 * Math.sin(i / 9)), 44 + 2 * i);
  await page.locator("#chat .files").setInputFiles({ name: "tone.wav", mimeType: "audio/wav", buffer: wav });
  await answered("chat", "heard tone.wav");
  await page.locator("#chat .files").setInputFiles({ name: "x.zip", mimeType: "application/zip", buffer: Buffer.from("PK") });
  await answered("chat", "neither an image nor a sound");
  await page.getByRole("button", { name: "Start again" }).click();
}

// Markdown becomes elements, and nothing that an answer writes becomes a part of the page.
async function marks() {
  const html = (text) => page.evaluate((text) => {
    const div = document.createElement("div");
    div.append(...markdown(text));
    return div.innerHTML;
  }, text);
  for (const [text, want] of [
    ["# A *b*\n\ntwo\nlines", "<h3>A <em>b</em></h3><p>two\nlines</p>"],
    ["```go\nfmt.Println(\"<b>\")\n```\nthen", '<pre><code data-language="go">fmt.Println("&lt;b&gt;")</code></pre><p>then</p>'],
    ["```\nopen", "<pre><code>open</code></pre>"],
    ["- a\n- b\n  - c\n\nend", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><p>end</p>"],
    ["3. x\n4. y", '<ol start="3"><li>x</li><li>y</li></ol>'],
    ["In 1999. It was\n2000. Then", "<p>In 1999. It was\n2000. Then</p>"],
    ["> quoted **b**", "<blockquote><p>quoted <strong>b</strong></p></blockquote>"],
    ["a | b\n--|--\n`1` | 2 \\| 3", '<div class="scroll"><table><tbody><tr><th>a</th><th>b</th></tr><tr><td><code>1</code></td><td>2 | 3</td></tr></tbody></table></div>'],
    ["snake_case_name 2*3*4 a\\*b", "<p>snake_case_name 2<em>3</em>4 a*b</p>"],
    ["see [it](https://example.com/a_(b)) or https://example.org.", '<p>see <a href="https://example.com/a_(b)" rel="noreferrer noopener" target="_blank">it</a> or <a href="https://example.org/" rel="noreferrer noopener" target="_blank">https://example.org</a>.</p>'],
    ["[x](javascript:alert(1)) <img src=x onerror=alert(1)> <script>1</script>", "<p>x &lt;img src=x onerror=alert(1)&gt; &lt;script&gt;1&lt;/script&gt;</p>"],
    ["a **b *c", "<p>a **b *c</p>"], ["---", "<hr>"], ["", ""],
  ]) assert.equal(await html(text), want, text);
  const began = Date.now();
  await html("*".repeat(3000) + "[".repeat(3000) + "`a".repeat(3000) + "\n> ".repeat(500));
  assert.ok(Date.now() - began < 5000, "a long answer takes seconds");
}

// A folder's text is cut into passages, of which the best are shown.
async function searches() {
  await page.getByRole("tab", { name: "Search" }).click();
  const folder = mkdtempSync(join(tmpdir(), "texts-"));
  writeFileSync(join(folder, "a.txt"), want.texts.join("\n\n"));
  writeFileSync(join(folder, "b.bin"), Buffer.from([0, 1, 2]));
  writeFileSync(join(folder, "c.md"), "# A heading\n\n## Another\n\nIts paragraph.\n");
  await page.locator("#search .files").setInputFiles(folder);
  await answered("search", `${want.texts.length + 1} passages of 2 files`);
  await page.locator("#search .query").fill(want.texts[1]);
  await page.getByRole("button", { name: "Search" }).click();
  await answered("search", "the best");
  assert.equal(await page.locator("#search li p").count(), want.texts.length + 1);
  assert.equal(await page.locator("#search li p", { hasText: "heading" }).textContent(), "# A heading\n## Another\nIts paragraph.");
  const scores = (await page.locator("#search li").allTextContents()).map((t) => parseFloat(/ (-?\d\.\d{3})/.exec(t)[1]));
  assert.deepEqual(scores, [...scores].sort((a, b) => b - a));
  rmSync(folder, { recursive: true });
  await page.getByRole("button", { name: "Light or dark" }).click();
  assert.equal(await page.evaluate(() => document.documentElement.style.colorScheme), "dark");
  await page.screenshot({ path: `${pictures}/dark.png` });
  await page.getByRole("tab", { name: "Search" }).press("ArrowRight");
  assert.equal(await page.getByRole("tab", { name: "Embeddings" }).getAttribute("aria-selected"), "true");
}

// What the server refuses is said, and loses nothing.
async function refusals() {
  await page.getByRole("tab", { name: "Embeddings" }).click();
  await page.locator("#embed .texts").fill("");
  await page.getByRole("button", { name: "Compare" }).click();
  await answered("embed", "\\(4\\d\\d\\)");
  assert.ok(await result("embed").evaluate((e) => e.classList.contains("wrong")));
  await context.setOffline(true);
  await page.getByRole("button", { name: "Compare" }).click();
  await answered("embed", "the server does not answer");
  await context.setOffline(false);
  wrong.splice(0, wrong.length, ...wrong.filter((w) => !/status of 4\d\d|ERR_INTERNET_DISCONNECTED/.test(w)));
}

// Nothing is wider than the screen of a small phone.
async function narrow() {
  await page.setViewportSize({ width: 320, height: 640 });
  for (const tab of ["Embeddings", "Ranking", "Chat", "Search"]) {
    await page.getByRole("tab", { name: tab }).click();
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${tab} is wider than the screen`);
    await page.screenshot({ path: `${pictures}/narrow-${tab}.png` });
  }
}

for (const test of [embeddings, ranking, chats, systems, files, marks, searches, refusals, narrow]) {
  await test();
  console.log("page.mjs:", test.name, "ok");
}
assert.deepEqual(wrong, []);
assert.deepEqual(asked.filter((url) => !url.startsWith(address + "/") && !url.startsWith("data:")), []);
await browser.close();
