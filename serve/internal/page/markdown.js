// Markdown as models write it, as elements: no HTML of an answer becomes part of the page.

const fence = /^ {0,3}(```+|~~~+)\s*([^\s`]*)/;
const item = /^( *)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const rule = /^ {0,3}([-*_])( *\1){2,} *$/;

// Returns the elements of a text, which may end in the middle of anything.
function markdown(text) {
  return blocks(text.replace(/\r\n?/g, "\n").split("\n"));
}

function blocks(lines) {
  const out = [];
  let plain = [];
  const flush = () => {
    if (plain.some((l) => l.trim())) {
      const p = element("p", "");
      p.append(...inline(plain.join("\n").trim()));
      out.push(p);
    }
    plain = [];
  };
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i];
    const code = fence.exec(line), heading = /^ {0,3}(#{1,6})\s+(.*?)#*\s*$/.exec(line);
    if (code) {
      flush();
      const body = [];
      for (i++; i < lines.length && !(lines[i].trim().startsWith(code[1]) && lines[i].trim().replaceAll(code[1][0], "") === ""); i++) body.push(lines[i]);
      const pre = element("pre", ""), inner = element("code", body.join("\n"));
      if (code[2]) inner.dataset.language = code[2];
      pre.append(inner);
      out.push(pre);
    } else if (heading) {
      flush();
      const h = element(`h${Math.min(6, heading[1].length + 2)}`, "");
      h.append(...inline(heading[2]));
      out.push(h);
    } else if (rule.test(line)) {
      flush();
      out.push(element("hr", ""));
    } else if (/^ {0,3}>/.test(line)) {
      flush();
      const quoted = [];
      for (; i < lines.length && /^ {0,3}>/.test(lines[i]); i++) quoted.push(lines[i].replace(/^ {0,3}> ?/, ""));
      i--;
      const quote = element("blockquote", "");
      quote.append(...blocks(quoted));
      out.push(quote);
    } else if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[i + 1] ?? "") && lines[i + 1].includes("-")) {
      flush();
      const rows = [line];
      for (i += 2; i < lines.length && lines[i].includes("|"); i++) rows.push(lines[i]);
      i--;
      out.push(tableOf(rows));
    } else if (item.test(line) && (plain.length === 0 || !/^\s*\d/.test(line) || /^\s*1[.)]/.test(line))) {
      flush();
      const end = listEnd(lines, i);
      out.push(listOf(lines.slice(i, end)));
      i = end - 1;
    } else if (!line.trim()) {
      flush();
    } else {
      plain.push(line);
    }
  }
  flush();
  return out;
}

// Returns where a list that begins at a line ends: at a line that is neither an item nor indented, after a blank one or not.
function listEnd(lines, start) {
  let end = start + 1;
  for (; end < lines.length; end++) {
    const line = lines[end], blank = !line.trim();
    const goes = item.test(line) || /^ {2,}\S/.test(line) || !blank && lines[end - 1].trim() && !fence.test(line) && !/^ {0,3}(#|>)/.test(line);
    if (blank ? !(item.test(lines[end + 1] ?? "") || /^ {2,}\S/.test(lines[end + 1] ?? "")) : !goes) break;
  }
  return end;
}

function listOf(lines) {
  const first = item.exec(lines[0]), depth = first[1].length, ordered = /\d/.test(first[2]);
  const list = element(ordered ? "ol" : "ul", "");
  if (ordered) list.start = parseInt(first[2], 10);
  let own = null;
  const done = () => {
    if (!own) return;
    const li = element("li", ""), inside = blocks(own);
    if (inside[0]?.tagName === "P") inside.splice(0, 1, ...inside[0].childNodes); // a short item has no paragraph
    li.append(...inside);
    list.append(li);
  };
  for (const line of lines) {
    const m = item.exec(line);
    if (m && m[1].length < depth + 2) {
      done();
      own = [m[3]];
    } else {
      own.push(line.replace(new RegExp(`^ {0,${depth + Math.max(2, first[2].length + 1)}}`), ""));
    }
  }
  done();
  return list;
}

function tableOf(rows) {
  const cells = (row) => row.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((c) => c.trim().replaceAll("\\|", "|"));
  const table = element("table", ""), width = cells(rows[0]).length;
  rows.forEach((row, i) => {
    const tr = table.insertRow();
    const all = cells(row);
    for (let j = 0; j < width; j++) {
      const cell = element(i ? "td" : "th", "");
      cell.append(...inline(all[j] ?? ""));
      tr.append(cell);
    }
  });
  const scroll = element("div", "", "scroll");
  scroll.append(table);
  return scroll;
}

const spans = [
  [/^(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)/, (m) => element("code", m[2].replace(/^ (.*\S.*) $/, "$1"))],
  [/^\*\*(?=\S)([\s\S]*?\S)\*\*(?!\*)/, (m) => within("strong", m[1])],
  [/^__(?=\S)([\s\S]*?\S)__(?!\w)/, (m) => within("strong", m[1])],
  [/^\*(?=[^\s*])([\s\S]*?[^\s*])\*(?!\*)/, (m) => within("em", m[1])],
  [/^_(?=[^\s_])([\s\S]*?[^\s_])_(?!\w)/, (m) => within("em", m[1])],
  [/^~~(?=\S)([\s\S]*?\S)~~/, (m) => within("del", m[1])],
  [/^\[([^\]\n]+)\]\(\s*<?([^\s()<>]+(?:\([^\s()]*\)[^\s()<>]*)*)>?(?:\s+"[^"]*")?\s*\)/, (m) => link(m[2], m[1])],
  [/^<?(https?:[^\s<>]*[^\s<>.,;:!?)'"\]])>?/, (m) => link(m[1], m[1])],
  [/^\\([\\`*_{}[\]()#+\-.!|~<>$])/, (m) => document.createTextNode(m[1])],
  [/^ {2,}\n/, () => element("br", "")],
];

function within(tag, text) {
  const e = element(tag, "");
  e.append(...inline(text));
  return e;
}

// A link leads to another site only by http or https, and takes no address of this page along.
function link(address, text) {
  let url = null;
  try {
    url = new URL(address);
  } catch {} // an address within another site
  if (!url || !["http:", "https:", "mailto:"].includes(url.protocol)) return document.createTextNode(text);
  const a = element("a", "");
  a.append(...(text === address ? [text] : inline(text)));
  a.href = url.href;
  a.rel = "noreferrer noopener";
  a.target = "_blank";
  return a;
}

function inline(text) {
  const out = [];
  let plain = "";
  const flush = () => {
    if (plain) out.push(document.createTextNode(plain));
    plain = "";
  };
  while (text) {
    let found = null;
    const word = /\w$/.test(plain);
    for (const [pattern, make] of spans) {
      if (word && text[0] === "_") continue; // snake_case
      const m = pattern.exec(text);
      if (m) {
        found = [m, make];
        break;
      }
    }
    if (found) {
      flush();
      out.push(found[1](found[0]));
      text = text.slice(found[0][0].length);
    } else {
      const next = /^[\s\S][^`*_~[<\\h ]*/.exec(text)[0];
      plain += next;
      text = text.slice(next.length);
    }
  }
  flush();
  return out;
}
