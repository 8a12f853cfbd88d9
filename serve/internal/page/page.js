// What the page does: it asks the routes that it was served with, and writes answers as text alone.
"use strict";

const $ = (selector, from = document) => from.querySelector(selector);
const panels = [...document.querySelectorAll(".panel")];
const tabs = [...document.querySelectorAll("[role=tab]")];

function element(tag, text, className) {
  const e = document.createElement(tag);
  e.textContent = text;
  if (className) e.className = className;
  return e;
}

// Addresses are relative, so that the page works wherever the server is mounted.
async function ask(path, body, signal) {
  const headers = {};
  if ($("#key").value) headers.Authorization = "Bearer " + $("#key").value;
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
  if (answer.ok) return answer;
  const text = await answer.text();
  let message = text;
  try {
    const e = JSON.parse(text);
    message = e.error?.message ?? e.error ?? e.message ?? text;
  } catch {} // an answer of something between
  throw new Error(`${message} (${answer.status})`);
}

function say(where, text, wrong) {
  where.textContent = text;
  where.classList.toggle("wrong", Boolean(wrong));
}

function choose(id) {
  for (const p of panels) p.classList.toggle("chosen", p.id === id);
  for (const t of tabs) t.setAttribute("aria-selected", t.dataset.for === id);
}

// The models decide which panels have something to ask.
async function models() {
  const status = $("#status");
  let list = [];
  try {
    list = (await (await ask("v1/models")).json()).data;
    say(status, list.map((m) => m.id).join(", "));
  } catch (e) {
    say(status, e.message, true);
  }
  for (const p of panels) {
    const fitting = list.filter((m) => m.kind === p.dataset.kind);
    $(".model", p).replaceChildren(...fitting.map((m) => new Option(m.id)));
    p.classList.toggle("empty", fitting.length === 0);
  }
  choose((panels.find((p) => !p.classList.contains("empty")) ?? panels[0]).id);
}

const lines = (p) => $(".texts", p).value.split("\n").filter((line) => line.trim());

// Runs what a form is for, once at a time, and tells how long it took or what was wrong.
function submitted(p, work) {
  p.addEventListener("submit", async (event) => {
    event.preventDefault();
    const result = $(".result", p), button = $("button", p), began = performance.now();
    if (button.disabled) return;
    button.disabled = true;
    say(result, "…");
    try {
      const told = await work();
      say(result, `${told}, ${Math.round(performance.now() - began)} ms`);
    } catch (e) {
      say(result, e.name === "AbortError" ? "stopped" : e.message, e.name !== "AbortError");
    } finally {
      button.disabled = false;
    }
  });
}

const embed = $("#embed");
submitted(embed, async () => {
  const texts = lines(embed);
  const answer = await (await ask("v1/embeddings", { model: $(".model", embed).value, input: texts, encoding_format: "float" })).json();
  const vectors = answer.data.map((d) => d.embedding);
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const norms = vectors.map((v) => Math.sqrt(dot(v, v)));
  const table = $("table", embed);
  table.replaceChildren();
  texts.forEach((text, i) => {
    const row = table.insertRow(), head = element("th", text);
    head.title = text;
    row.append(head, ...vectors.map((v, j) => {
      const cosine = dot(vectors[i], v) / (norms[i] * norms[j]), cell = element("td", cosine.toFixed(3));
      cell.style.background = `rgb(47 125 79 / ${Math.max(0, cosine) * 0.6})`;
      return cell;
    }));
  });
  $("details", embed).hidden = false;
  $(".vector", embed).textContent = vectors[0].map((x) => x.toFixed(4)).join(", ");
  return `cosines of ${texts.length} vectors of ${vectors[0].length} elements, ${answer.usage.total_tokens} tokens`;
});

const rank = $("#rank");
submitted(rank, async () => {
  const texts = lines(rank);
  const answer = await (await ask("v1/rerank", { model: $(".model", rank).value, query: $(".query", rank).value, documents: texts })).json();
  const scores = answer.results.map((r) => r.relevance_score), low = Math.min(0, ...scores), high = Math.max(1, ...scores);
  $("ol", rank).replaceChildren(...answer.results.map((r) => {
    const item = element("li", ""), meter = element("meter", "");
    Object.assign(meter, { min: low, max: high, value: r.relevance_score });
    item.append(meter, `${r.relevance_score.toFixed(4)} `, texts[r.index]);
    return item;
  }));
  return `${texts.length} texts ranked`;
});

const chat = $("#chat");
let messages = [], running = null;

// The data of server-sent events, as they come.
async function* events(answer) {
  const decoder = new TextDecoder();
  let rest = "";
  for (const reader = answer.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const whole = rest.split("\n\n");
    rest = whole.pop();
    for (const event of whole) {
      const data = event.split("\n").filter((l) => l.startsWith("data:")).map((l) => l.slice(5).trimStart()).join("\n");
      if (data && data !== "[DONE]") yield JSON.parse(data);
    }
  }
}

submitted(chat, async () => {
  const text = $(".message", chat).value.trim(), list = $(".messages", chat);
  if (!text) throw new Error("the message is empty");
  const asked = [...messages, { role: "user", content: text }];
  const body = { model: $(".model", chat).value, messages: asked, stream: true, stream_options: { include_usage: true } };
  if ($(".most", chat).value) body.max_completion_tokens = Number($(".most", chat).value);
  if ($(".temperature", chat).value) body.temperature = Number($(".temperature", chat).value);
  running = new AbortController();
  $(".stop", chat).hidden = false;
  const shown = [element("p", text, "user")];
  list.append(shown[0]);
  const answer = { role: "assistant", content: "" };
  let reasoning = null, said = null, usage = null, began = 0, why = "";
  const show = (where, className) => {
    const p = where ?? element("p", "", className);
    if (!where) {
      list.append(p);
      shown.push(p);
    }
    return p;
  };
  try {
    for await (const event of events(await ask("v1/chat/completions", body, running.signal))) {
      if (event.error) throw new Error(event.error.message);
      usage = event.usage ?? usage;
      const choice = event.choices?.[0], delta = choice?.delta ?? {};
      if (delta.reasoning_content) (reasoning = show(reasoning, "reasoning")).textContent += delta.reasoning_content;
      if (delta.content) {
        answer.content += delta.content;
        (said = show(said, "assistant")).textContent = answer.content;
      }
      if (delta.reasoning_content || delta.content) began ||= performance.now();
      why = choice?.finish_reason ?? why;
    }
  } catch (e) {
    if (!answer.content) { // nothing was said, so nothing was asked
      shown.forEach((p) => p.remove());
      throw e;
    }
    messages = [...asked, answer];
    $(".message", chat).value = "";
    throw e;
  } finally {
    running = null;
    $(".stop", chat).hidden = true;
  }
  messages = [...asked, answer];
  $(".message", chat).value = "";
  const seconds = (performance.now() - began) / 1000, tokens = usage?.completion_tokens ?? 0;
  const speed = tokens > 1 && seconds > 0.05 ? `, ${((tokens - 1) / seconds).toFixed(1)} tokens/s` : "";
  return `${usage?.prompt_tokens ?? "?"} tokens read, ${tokens} written${why === "length" ? " (as many as allowed)" : ""}${speed}`;
});

$(".stop", chat).addEventListener("click", () => running?.abort());
$(".clear", chat).addEventListener("click", () => {
  running?.abort();
  messages = [];
  $(".messages", chat).replaceChildren();
  say($(".result", chat), "");
});
$(".message", chat).addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    chat.requestSubmit();
  }
});
tabs.forEach((t) => t.addEventListener("click", () => choose(t.dataset.for)));
$("#key").addEventListener("change", models);
models();
