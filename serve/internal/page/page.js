// What the page does: it asks the routes that it was served with, and writes answers as text alone.
"use strict";

const $ = (selector, from = document) => from.querySelector(selector);
const panels = [...document.querySelectorAll(".panel")];
const tabs = [...document.querySelectorAll("[role=tab]")];

let transcriber; // the model that writes down speech, if one is served

function element(tag, text, className) {
  const e = document.createElement(tag);
  e.textContent = text;
  if (className) e.className = className;
  return e;
}

// Addresses are relative, so that the page works wherever the server is mounted.
async function ask(path, body, signal) {
  const headers = {}, form = body instanceof FormData;
  if ($("#key").value) headers.Authorization = "Bearer " + $("#key").value;
  if (body && !form) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && (form ? body : JSON.stringify(body)), signal }).catch((e) => {
    throw e instanceof TypeError ? new Error("the server does not answer") : e; // and not stopped
  });
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
  for (const t of tabs) {
    t.setAttribute("aria-selected", t.dataset.for === id);
    t.tabIndex = t.dataset.for === id ? 0 : -1;
  }
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
  transcriber = list.find((m) => m.kind === "transcriber")?.id;
  for (const p of panels) {
    const fitting = list.filter((m) => m.kind === p.dataset.kind);
    $(".model", p).replaceChildren(...fitting.map((m) => new Option(m.id)));
    p.classList.toggle("empty", fitting.length === 0);
  }
  choose((panels.find((p) => !p.classList.contains("empty")) ?? panels[0]).id);
}

// Arrows go through the tabs, as people who use no mouse expect.
function turn(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
  next.focus();
  choose(next.dataset.for);
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
