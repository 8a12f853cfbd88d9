// The page at / in headless Chromium, as a person uses it. Arguments: the server's address, the file that expected.py
// wrote, and where the screenshots go.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [address, file, pictures] = process.argv.slice(2);
const want = JSON.parse(readFileSync(file));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage({ viewport: { width: 900, height: 700 } });
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
  assert.equal((await page.locator("#chat .assistant").last().textContent()).trim(), want.chat);
  const history = page.waitForRequest((r) => r.url().endsWith("/v1/chat/completions"));
  await page.locator("#chat .message").fill("<b>And</b> now?");
  await page.getByRole("button", { name: "Send" }).click();
  const { messages } = JSON.parse((await history).postData());
  assert.deepEqual(messages.map((m) => m.role), ["user", "assistant", "user"]);
  assert.equal(messages[1].content.trim(), want.chat);
  await page.waitForFunction(() => !document.querySelector("#chat .send").disabled);
  assert.equal(await page.locator("#chat .user").last().textContent(), "<b>And</b> now?"); // as text
  assert.equal(await page.locator("#chat .messages > p").count(), 4);
}

// What the server refuses is said, and loses nothing.
async function refusals() {
  await page.getByRole("tab", { name: "Embeddings" }).click();
  await page.locator("#embed .texts").fill("");
  await page.getByRole("button", { name: "Compare" }).click();
  await answered("embed", "\\(4\\d\\d\\)");
  assert.ok(await result("embed").evaluate((e) => e.classList.contains("wrong")));
  wrong.splice(0, wrong.length, ...wrong.filter((w) => !/status of 4\d\d/.test(w)));
}

for (const test of [embeddings, ranking, chats, refusals]) {
  await test();
  console.log("page.mjs:", test.name, "ok");
}
assert.deepEqual(wrong, []);
assert.deepEqual(asked.filter((url) => !url.startsWith(address + "/") && !url.startsWith("data:")), []);
await browser.close();
