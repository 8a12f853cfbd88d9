// The chat: messages with images, answers as they come.

const chat = $("#chat");
let messages = [], running = null, images = [];

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

// What an answer looks like, while it comes and afterwards.
class Answer {
  constructor(list) {
    this.list = list;
    this.content = this.thoughts = "";
    this.parts = [];
    this.due = false;
  }

  show(tag, className) {
    const e = element(tag, "", className);
    this.list.append(e);
    this.parts.push(e);
    return e;
  }

  think(text) {
    if (!this.folded) {
      this.folded = this.show("details", "reasoning");
      this.folded.append(element("summary", "Thoughts"), element("p", ""));
    }
    $("p", this.folded).textContent = this.thoughts += text;
  }

  say(text) {
    this.content += text;
    this.said ??= this.show("div", "assistant");
    if (this.due) return; // many pieces come between two pictures of the screen
    this.due = true;
    requestAnimationFrame(() => this.due && this.render());
  }

  render() {
    this.due = false;
    this.said?.replaceChildren(...markdown(this.content));
  }

  end() {
    this.render();
    if (!this.said) return;
    const copy = element("button", "", "copy"); // whose name the style has, so that it is no part of the text
    copy.type = "button";
    copy.setAttribute("aria-label", "Copy");
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(this.content);
        copy.classList.add("done");
      } catch (e) { // the page is neither local nor encrypted
        say($(".result", chat), `not copied: ${e.message}`, true);
      }
    });
    this.said.append(copy);
  }
}

submitted(chat, async () => {
  const text = $(".message", chat).value.trim(), list = $(".messages", chat);
  if (!text && !images.length) throw new Error("the message is empty");
  const content = images.length ? [...images.map((url) => ({ type: "image_url", image_url: { url } })), { type: "text", text }] : text;
  const asked = [...messages, { role: "user", content }], system = $(".system", chat).value.trim();
  const body = {
    model: $(".model", chat).value, messages: system ? [{ role: "system", content: system }, ...asked] : asked,
    stream: true, stream_options: { include_usage: true },
  };
  if ($(".most", chat).value) body.max_completion_tokens = Number($(".most", chat).value);
  if ($(".temperature", chat).value) body.temperature = Number($(".temperature", chat).value);
  running = new AbortController();
  $(".stop", chat).hidden = false;
  const shown = element("p", text, "user");
  shown.prepend(...images.map(picture));
  list.append(shown);
  const answer = new Answer(list);
  let usage = null, began = 0, why = "";
  try {
    for await (const event of events(await ask("v1/chat/completions", body, running.signal))) {
      if (event.error) throw new Error(event.error.message);
      usage = event.usage ?? usage;
      const choice = event.choices?.[0], delta = choice?.delta ?? {};
      if (delta.reasoning_content) answer.think(delta.reasoning_content);
      if (delta.content) answer.say(delta.content);
      if (delta.reasoning_content || delta.content) began ||= performance.now();
      why = choice?.finish_reason ?? why;
    }
  } catch (e) {
    if (!answer.content) { // nothing was said, so nothing was asked
      for (const part of [shown, ...answer.parts]) part.remove();
      throw e;
    }
    taken(asked, answer);
    throw e;
  } finally {
    running = null;
    $(".stop", chat).hidden = true;
    answer.end();
  }
  taken(asked, answer);
  const seconds = (performance.now() - began) / 1000, tokens = usage?.completion_tokens ?? 0;
  const speed = tokens > 1 && seconds > 0.05 ? `, ${((tokens - 1) / seconds).toFixed(1)} tokens/s` : "";
  return `${usage?.prompt_tokens ?? "?"} tokens read, ${tokens} written${why === "length" ? " (as many as allowed)" : ""}${speed}`;
});

// The turn is part of the chat.
function taken(asked, answer) {
  messages = [...asked, { role: "assistant", content: answer.content }];
  $(".message", chat).value = "";
  images = [];
  showImages();
}

function picture(url) {
  const e = element("img", "");
  e.setAttribute("src", url);
  e.alt = "image";
  return e;
}

function showImages() {
  $(".images", chat).replaceChildren(...images.map((url, i) => {
    const remove = element("button", "×");
    remove.type = "button";
    remove.title = "Remove the image";
    remove.addEventListener("click", () => {
      images.splice(i, 1);
      showImages();
    });
    const span = element("span", "");
    span.append(picture(url), remove);
    return span;
  }));
}

const asURL = (file) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.addEventListener("load", () => resolve(reader.result));
  reader.addEventListener("error", () => reject(reader.error));
  reader.readAsDataURL(file);
});

// Images go with the next message; speech becomes its text.
async function take(files) {
  const result = $(".result", chat);
  for (const file of files) {
    try {
      if (file.type.startsWith("image/")) {
        images.push(await asURL(file));
        showImages();
      } else if (!/^(audio|video)\//.test(file.type)) {
        throw new Error(`${file.name}: neither an image nor a sound`);
      } else if (!transcriber) {
        throw new Error("no model is served that writes down speech");
      } else {
        say(result, `listening to ${file.name}`);
        const form = new FormData();
        form.append("file", file);
        form.append("model", transcriber);
        const heard = (await (await ask("v1/audio/transcriptions", form)).json()).text.trim(), box = $(".message", chat);
        box.value = [box.value.trim(), heard].filter(Boolean).join(" ");
        say(result, `heard ${file.name}`);
      }
    } catch (e) {
      say(result, e.message, true);
    }
  }
}

chat.addEventListener("dragover", (event) => {
  event.preventDefault();
  chat.classList.add("over");
});
for (const name of ["dragleave", "drop"]) chat.addEventListener(name, () => chat.classList.remove("over"));
chat.addEventListener("drop", (event) => {
  event.preventDefault();
  take(event.dataTransfer.files);
});
$(".message", chat).addEventListener("paste", (event) => {
  if (event.clipboardData.files.length) {
    event.preventDefault();
    take(event.clipboardData.files);
  }
});
$(".files", chat).addEventListener("change", (event) => {
  take(event.target.files);
  event.target.value = "";
});
$(".stop", chat).addEventListener("click", () => running?.abort());
$(".clear", chat).addEventListener("click", () => {
  running?.abort();
  messages = [];
  images = [];
  showImages();
  $(".messages", chat).replaceChildren();
  say($(".result", chat), "");
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") running?.abort();
});
$(".message", chat).addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    chat.requestSubmit();
  }
});
