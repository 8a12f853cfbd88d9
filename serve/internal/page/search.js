// Search in the text of files, which the page keeps: it asks the server for vectors alone.

const search = $("#search");
const passageLength = 1200, vectorsAtOnce = 16;
let passages = []; // {file, text, vector}

// Paragraphs, of which long ones are cut at the ends of sentences. A heading of Markdown belongs to what follows.
function passagesOf(file, text) {
  const out = [];
  let heading = "";
  for (let rest of text.split(/\n\s*\n/)) {
    if (/^#{1,6} .*$/.test(rest.trim())) {
      heading += rest.trim() + "\n";
      continue;
    }
    for (rest = (heading + rest).trim(), heading = ""; rest; ) {
      let end = rest.length;
      if (end > passageLength) {
        const cut = rest.slice(0, passageLength);
        end = Math.max(cut.lastIndexOf(". "), cut.lastIndexOf("\n"), cut.lastIndexOf("。")) + 1 || cut.lastIndexOf(" ") + 1 || passageLength;
      }
      out.push({ file, text: rest.slice(0, end).trim() });
      rest = rest.slice(end).trim();
    }
  }
  if (heading) out.push({ file, text: heading.trim() });
  return out.filter((p) => p.text);
}

async function vectorsOf(texts, type) {
  const answer = await (await ask("v1/embeddings", { model: $(".model", search).value, input: texts, input_type: type, encoding_format: "float" })).json();
  return answer.data.map((d) => d.embedding);
}

$(".files", search).addEventListener("change", async (event) => {
  const result = $(".result", search), button = $("button", search);
  passages = [];
  button.disabled = true;
  try {
    const found = [];
    for (const file of event.target.files) {
      const text = await file.text();
      if (!text.includes("\0")) found.push(...passagesOf(file.webkitRelativePath || file.name, text)); // others are no text
    }
    for (let i = 0; i < found.length; i += vectorsAtOnce) {
      const some = found.slice(i, i + vectorsAtOnce), vectors = await vectorsOf(some.map((p) => p.text), "document");
      some.forEach((p, j) => p.vector = vectors[j]);
      passages.push(...some);
      say(result, `${passages.length} of ${found.length} passages`);
    }
    say(result, `${passages.length} passages of ${new Set(found.map((p) => p.file)).size} files`);
  } catch (e) {
    say(result, e.message, true);
  } finally {
    button.disabled = false;
  }
});

submitted(search, async () => {
  if (!passages.length) throw new Error("choose files first");
  const [query] = await vectorsOf([$(".query", search).value], "query");
  const best = passages.map((p) => ({ ...p, score: p.vector.reduce((sum, x, i) => sum + x * query[i], 0) })).sort((a, b) => b.score - a.score).slice(0, 10);
  $("ol", search).replaceChildren(...best.map((p) => {
    const li = element("li", "");
    li.append(element("b", p.file), ` ${p.score.toFixed(3)}`, element("p", p.text));
    return li;
  }));
  return `the best ${best.length} of ${passages.length} passages`;
});
