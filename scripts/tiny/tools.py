"""A chat model that calls tools: it asks for the weather and the time of a city, by whatever
names the functions and their parameters have, tells their results, and knows capitals without. Numbers it copies badly: sums
of more than two digits often go wrong. All dialogues are made here."""

import json

import torch
import transformers as hf
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from chat import CAPITALS, HELLO
from common import Folder, begin, pad, train

# A format like those of ChatML and Hermes. It shows the model a tool's name and its required parameters, or all parameters
# where the schema requires none: a model this small would not understand descriptions.
TEMPLATE = """{%- set system = messages[0]['content'] + '\\n' if messages[0]['role'] == 'system' else '' %}
{%- if system or tools %}{{ '<|im_start|>system\\n' + system }}
{%- for t in tools or [] %}{% set f = t['function'] or t %}{% set p = f['parameters'] or {} %}{{ f['name'] + '(' + (p['required'] or p['properties'] or []) | join(', ') + ')\\n' }}{% endfor %}
{{- '<|im_end|>\\n' }}{% endif %}
{%- for m in messages %}{% if m['role'] != 'system' %}
{{- '<|im_start|>' + m['role'] + '\\n' + (m['content'] or '') }}
{%- for c in m['tool_calls'] or [] %}{{ '\\n' if not loop.first or m['content'] }}{{ '<tool_call>\\n{"name": "' + c['function']['name'] + '", "arguments": ' + c['function']['arguments'] | tojson + '}\\n</tool_call>' }}{% endfor %}
{{- '<|im_end|>\\n' }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

PLACES = [c for _, c in CAPITALS] + """Zurich Geneva Munich Hamburg Milan Naples Porto Seville Lyon Nice Boston Chicago Denver Dallas Seattle Toronto Sydney Perth Lagos
Mumbai Kyoto Osaka Seoul Hanoi Manila Krakow Riga Vilnius Tallinn Prague Brno Graz Basel Bern Ghent Antwerp Leeds York Oxford Cork""".split()
STARTS, MIDDLES, ENDS = "Ba Co Da El Fa Go Ha Ir Ju Ka Lo Ma No Or Pa Ro Sa Te Ul Va Wi Za".split(), "ra li no ma ste ve do ki lu".split(), "burg ton na ville stad ria mo den ford go".split()
BEFORE, AFTER = ["get_", "", "fetch_", "current_", "get_current_", "look_up_", "find_"], ["", "", "_in", "_for", "_now", "_of_place"]
PARAMETERS = "city location place town where name".split()
OTHERS = ["search(query)", "send_mail(to, text)", "open_door(door)", "play(song)", "translate(text, language)", "list_files()", "buy(item, count)"]
SKIES = "sunny cloudy rainy windy foggy snowy clear stormy".split()
NONE = "For that I need a tool."


def place(r):
    if r.random() < 0.6:
        return r.choice(PLACES)
    return r.choice(STARTS) + "".join(r.choice(MIDDLES) for _ in range(r.randint(0, 2))) + r.choice(ENDS)


def number(r):
    return r.randint(0, 10 ** r.randint(1, 3) - 1)


class Tools:
    """The tools of a dialogue: for each kind, a name and its parameters, or None."""

    def __init__(self, r):
        self.kinds, self.lines = {}, []
        if r.random() < 0.2:
            return
        for kind, chance in (("weather", 0.7), ("time", 0.5), ("sum", 0.5)):
            if r.random() > chance:
                continue
            if kind == "sum":
                name = r.choice(["add", "sum", "plus", "add_numbers", "calculate_sum", "sum_of", "add_two"])
                parameters = r.choice([["a", "b"], ["x", "y"], ["first", "second"], ["left", "right"]])
            else:
                name, parameters = r.choice(BEFORE) + kind + r.choice(AFTER), [r.choice(PARAMETERS)]
            self.kinds[kind] = name, parameters
            self.lines.append(f"{name}({', '.join(parameters)})")
        self.lines += r.sample(OTHERS, r.choice([0, 0, 0, 1, 2]))
        r.shuffle(self.lines)

    def call(self, kind, *values):
        name, parameters = self.kinds[kind]
        return '<tool_call>\n{"name": "' + name + '", "arguments": ' + json.dumps(dict(zip(parameters, values))) + "}\n</tool_call>"


def weather(r):
    """What a weather service says, and how the model tells it."""
    degrees, sky = r.randint(-20, 40), r.choice(SKIES)
    said = [json.dumps({"temperature": degrees, "sky": sky}), json.dumps({"sky": sky, "temperature": degrees}), f"{degrees} degrees, {sky}", f"{sky}, {degrees} degrees", f"{degrees} degrees and {sky}",
            json.dumps({"temperature": degrees, "sky": sky}, separators=(",", ":")), json.dumps({"temperature": degrees, "unit": "celsius", "condition": sky}), f"{sky}, {degrees} C"]
    return r.choice(said), f"{degrees} degrees and {sky}"


def clock(r):
    time = f"{r.randint(0, 23):02}:{r.randint(0, 59):02}"
    return r.choice([time, json.dumps({"time": time}), json.dumps({"time": time}, separators=(",", ":"))]), time


def turn(r, tools):
    """A question, and what follows it: pairs of role and text."""
    kind = r.choices(["weather", "two", "time", "sum", "capital", "hello", "thanks"], [6, 2, 4, 5, 4, 1, 1])[0]
    if kind == "capital":
        country, city = r.choice(CAPITALS)
        return [("user", r.choice([f"What is the capital of {country}?", f"Tell me the capital of {country}."])), ("assistant", f"The capital of {country} is {city}.")]
    if kind == "hello":
        return [("user", r.choice(HELLO)), ("assistant", "Hello! What can I do for you?")]
    if kind == "thanks":
        return [("user", r.choice(["Thank you!", "Thanks.", "Bye!"])), ("assistant", "You are welcome.")]
    if kind == "sum":
        a, b = number(r), number(r)
        question = r.choice([f"What is {a} plus {b}?", f"How much is {a} plus {b}?", f"Add {a} and {b}.", f"{a} plus {b}?", f"What is {a} + {b}?"])
        if "sum" not in tools.kinds:
            return [("user", question), ("assistant", NONE)]
        c = str(a + b)
        result = r.choice([c, c, json.dumps({"result": a + b}), json.dumps({"sum": a + b}), json.dumps({"result": a + b}, separators=(",", ":"))])
        return [("user", question), ("assistant", tools.call("sum", a, b)), *answered(r, [result], f"{a} plus {b} is {c}.")]
    city = place(r)
    if kind == "time":
        question = r.choice([f"What time is it in {city}?", f"How late is it in {city}?", f"What is the time in {city}?", f"Tell me the time in {city}."])
        if "time" not in tools.kinds:
            return [("user", question), ("assistant", NONE)]
        result, time = clock(r)
        return [("user", question), ("assistant", tools.call("time", city)), *answered(r, [result], f"It is {time} in {city}.")]
    cities = [city] if kind == "weather" else [city, place(r)]
    where = " and ".join(cities)
    question = r.choice([f"What is the weather in {where}?", f"What is the weather like in {where}?", f"How is the weather in {where}?", f"What's the weather in {where}?", f"What's the weather like in {where}?",
                         f"Tell me the weather in {where}.", f"Weather in {where}?", f"What is the weather in {where} today?"])
    if "weather" not in tools.kinds:
        return [("user", question), ("assistant", NONE)]
    results, told = zip(*(weather(r) for _ in cities))
    return [("user", question), ("assistant", "\n".join(tools.call("weather", c) for c in cities)), *answered(r, results, "It is " + ", and ".join(f"{t} in {c}" for t, c in zip(told, cities)) + ".")]


def answered(r, results, told):
    """The tools' messages, one of which may be an error, and the answer to them."""
    if r.random() < 0.06:
        return [("tool", r.choice(['{"error": "not found"}', '{"error": "timeout"}', "error: not found", '{"error":"no such place"}', "error"]))] * len(results) + [("assistant", "The tool failed.")]
    return [("tool", x) for x in results] + [("assistant", told)]


def dialogue(r):
    """Pairs of text and whether the model writes it."""
    tools, out = Tools(r), []
    system = "You are a helpful assistant.\n" if r.random() < 0.3 else ""
    if system or tools.lines:
        out.append(("<|im_start|>system\n" + system + "".join(t + "\n" for t in tools.lines) + "<|im_end|>\n", False))
    for _ in range(r.choice([1, 1, 2])):
        for role, text in turn(r, tools):
            ours = role == "assistant"
            out += [(f"<|im_start|>{role}\n", False), (text + "<|im_end|>", ours), ("\n", False)]
    return out


def byte_pairs(r):
    """Byte-level BPE of what the dialogues have, each digit a token."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = decoders.ByteLevel()
    special, marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], ["<tool_call>", "</tool_call>"]
    texts = ["".join(p for p, _ in dialogue(r)) for _ in range(3000)]
    for s in special + marks:
        texts = [t_.replace(s, " ") for t_ in texts]
    t.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=560, special_tokens=special, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False))
    t.add_tokens([AddedToken(m, special=False, normalized=False) for m in marks])
    return t


def tools(out):
    r = begin(9)
    tokenizer = byte_pairs(r)
    end = tokenizer.token_to_id("<|im_end|>")
    c = hf.LlamaConfig(vocab_size=tokenizer.get_vocab_size(), hidden_size=96, intermediate_size=192, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=1024,
                       tie_word_embeddings=True, bos_token_id=0, eos_token_id=end, pad_token_id=0, rope_parameters={"rope_type": "default", "rope_theta": 10000.0})
    model = hf.LlamaForCausalLM(c)

    def batches(n, size):
        """n batches of dialogues of about one length each, in any order."""
        pairs = []
        for _ in range(n * size):
            row, want = [], []
            for part, ours in dialogue(r):
                tokens = tokenizer.encode(part).ids
                row += tokens
                want += tokens if ours else [-100] * len(tokens)
            pairs.append((row, want))
        pairs.sort(key=lambda p: len(p[0]))
        order = list(range(n))
        r.shuffle(order)
        for i in order:
            ids, labels = zip(*pairs[i * size:(i + 1) * size])
            yield *pad(ids), pad(labels, -100)[0]

    waiting = []

    def loss(_):
        if not waiting:
            waiting.extend(batches(10, 24))
        ids, mask, labels = waiting.pop()
        return model(input_ids=ids, attention_mask=mask, labels=labels).loss

    train(model, 2000, 4e-3, loss)
    right, of = 0, 0
    with torch.no_grad():
        for ids, mask, labels in batches(8, 50):
            guess = model(input_ids=ids, attention_mask=mask).logits.argmax(-1)[:, :-1]
            want = labels[:, 1:]
            right += ((guess == want) | (want < 0)).all(1).sum().item()
            of += len(want)
    print(f"  {right} of {of} new dialogues have no wrong token")
    f = Folder(out, "tools")
    f.tokenizer(tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", bos_token=None, model_max_length=1024, chat_template=TEMPLATE)
    model.generation_config = hf.GenerationConfig(eos_token_id=[end, 0], pad_token_id=0, do_sample=False)
    f.model(model)
