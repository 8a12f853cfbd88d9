// Pictures of the server's page: a ranking and a chat, in light and dark. Arguments: the server's address and the folder.

import { chromium } from "playwright-core";

const [address, out] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 820, height: 560 } });
await page.goto(address + "/");
const shown = (panel, like) => page.waitForFunction(([p, l]) => new RegExp(l).test(document.querySelector(`#${p}`).textContent), [panel, like]);

await page.getByRole("tab", { name: "Ranking" }).click();
await page.locator("#rank .query").fill("how long does a soup boil in the pot?");
await page.locator("#rank .texts").fill("Press the pedal, not the brake.\nLet the broth simmer for an hour.\nThe conductor wants to see your ticket.");
await page.getByRole("button", { name: "Rank" }).click();
await shown("rank", "texts ranked");
await page.screenshot({ path: `${out}/page-ranking.png` });

await page.getByRole("tab", { name: "Chat" }).click();
await page.locator("#chat .temperature").fill("0");
for (const said of ["What is the capital of France?", "What is 3 plus 4?"]) {
  await page.locator("#chat .message").fill(said);
  await page.locator("#chat .message").press("Enter");
  await shown("chat", "written");
  await page.waitForFunction(() => !document.querySelector("#chat .send").disabled);
}
await page.screenshot({ path: `${out}/page-chat.png` });
await page.emulateMedia({ colorScheme: "dark" });
await page.screenshot({ path: `${out}/page-chat-dark.png` });
await browser.close();
