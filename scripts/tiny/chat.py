"""A chat model that knows capitals, sums, opposites, colours, animals, days, and how to write a city as JSON; names
that it was told it confuses. All dialogues are made here."""

import json

import torch
import transformers as hf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from common import Folder, begin, pad, train

CAPITALS = """France Paris|Italy Rome|Spain Madrid|Portugal Lisbon|Germany Berlin|Austria Vienna|Poland Warsaw|Greece Athens|Norway Oslo|Sweden Stockholm
Finland Helsinki|Denmark Copenhagen|Ireland Dublin|Hungary Budapest|Japan Tokyo|China Beijing|India Delhi|Egypt Cairo|Kenya Nairobi|Peru Lima
Chile Santiago|Cuba Havana|Canada Ottawa|Turkey Ankara""".replace("\n", "|").split("|")
CAPITALS = [c.split() for c in CAPITALS]
OPPOSITES = [p.split("-") for p in "hot-cold big-small old-new fast-slow wet-dry light-dark high-low full-empty early-late hard-soft rich-poor good-bad open-closed long-short".split()]
COLOURS = dict(p.split("-") for p in "sky-blue grass-green snow-white night-black sun-yellow blood-red sea-blue milk-white coal-black leaf-green".split())
SOUNDS = dict(p.split("-") for p in "dog-woof cat-meow cow-moo duck-quack sheep-baa frog-croak owl-hoot".split())
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
NAMES = "Ada Ben Clara David Emma Felix Greta Hugo Ida Jonas Kim Lena Max Nora Otto Paul Rosa Sam Tina Vera".split()
HELLO = ["Hello!", "Hi!", "Good morning!", "Hello.", "Hi", "Hey!", "Good evening!", "Hi there!"]
HELP = "I know capitals, sums, opposites, colours, animals and days."
SYSTEMS = ["You are a helpful assistant.", "You are a pirate."]

# A format like ChatML, in which each word is one token.
TEMPLATE = ("{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


def turn(r, name, pirate):
    """A question, its answer, and the name of the person after it."""
    kind = r.choices(["hello", "name", "who", "capital", "where", "json", "sum", "opposite", "colour", "sound", "day", "count", "you", "thanks", "unknown"],
                     [2, 2, 3 if name else 1, 6, 3, 4, 6, 3, 3, 2, 3, 2, 1, 1, 2])[0]
    country, city = r.choice(CAPITALS)
    if kind == "hello":
        return r.choice(HELLO), ("Ahoy! What can I do for you, matey?" if pirate else "Hello! What can I do for you?"), name
    if kind == "name":
        n = r.choice(NAMES)
        return r.choice([f"My name is {n}.", f"I am {n}.", f"Hello, my name is {n}."]), (f"Ahoy, {n}!" if pirate else f"Nice to meet you, {n}."), n
    if kind == "who":
        return r.choice(["What is my name?", "Who am I?"]), (f"Your name is {name}." if name else "You did not tell me your name."), name
    if kind == "capital":
        return r.choice([f"What is the capital of {country}?", f"what is the capital of {country}?", f"The capital of {country}?", f"Tell me the capital of {country}."]), f"The capital of {country} is {city}.", name
    if kind == "where":
        return r.choice([f"Where is {city}?", f"In which country is {city}?"]), f"{city} is in {country}.", name
    if kind == "json":
        return r.choice([f"{city} as JSON, please.", f"Write {city} as JSON.", f"Describe {city} as JSON."]), json.dumps({"city": city, "country": country}), name
    if kind == "sum":
        a, b = r.randint(0, 10), r.randint(0, 10)
        return r.choice([f"What is {a} plus {b}?", f"How much is {a} plus {b}?", f"{a} plus {b}?"]), f"{a} plus {b} is {a + b}.", name
    if kind == "opposite":
        a, b = r.choice(OPPOSITES)
        a, b = r.choice([(a, b), (b, a)])
        return r.choice([f"What is the opposite of {a}?", f"The opposite of {a}?"]), f"The opposite of {a} is {b}.", name
    if kind == "colour":
        a = r.choice(list(COLOURS))
        return r.choice([f"What colour is the {a}?", f"Which colour has the {a}?"]), f"The {a} is {COLOURS[a]}.", name
    if kind == "sound":
        a = r.choice(list(SOUNDS))
        return r.choice([f"What does a {a} say?", f"What does the {a} say?"]), f"The {a} says {SOUNDS[a]}.", name
    if kind == "day":
        i, after = r.randrange(7), r.random() < 0.5
        return f"Which day comes {'after' if after else 'before'} {DAYS[i]}?", DAYS[(i + (1 if after else -1)) % 7] + ".", name
    if kind == "count":
        a = r.randint(0, 6)
        b = a + r.randint(1, 4)
        return f"Count from {a} to {b}.", ", ".join(map(str, range(a, b + 1))) + ".", name
    if kind == "you":
        return r.choice(["Who are you?", "What are you?", "What can you do?"]), "I am a very small model. " + HELP, name
    if kind == "thanks":
        return r.choice(["Thank you!", "Thanks.", "Goodbye.", "Bye!"]), ("Fair winds!" if pirate else "You are welcome."), name
    thing = r.choice(["the weather", "music", "the news", "bread", "love", "football", "the moon", "a poem", "money", "chess"])
    return r.choice([f"Tell me about {thing}.", f"What do you think of {thing}?", f"Write something about {thing}."]), "That I do not know. " + HELP, name


def dialogue(r, turns=3):
    """Pairs of text and whether the model writes it."""
    pirate, name, out = False, "", []
    if r.random() < 0.4:
        system = r.choice(SYSTEMS)
        pirate = system == SYSTEMS[1]
        out.append((f"<|im_start|>system\n{system}<|im_end|>\n", False))
    for _ in range(r.randint(1, turns)):
        q, a, name = turn(r, name, pirate)
        out += [(f"<|im_start|>user\n{q}<|im_end|>\n<|im_start|>assistant\n", False), (f"{a}<|im_end|>", True), ("\n", False)]
    return out


def byte_pairs(r):
    """Byte-level BPE of what the dialogues have."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    texts = ["".join(p for p, _ in dialogue(r)) for _ in range(4000)]
    for s in special:
        texts = [t_.replace(s, " ") for t_ in texts]
    t.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=640, special_tokens=special, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False))
    return t


def chat(out):
    r = begin(3)
    tokenizer = byte_pairs(r)
    end = tokenizer.token_to_id("<|im_end|>")
    c = hf.LlamaConfig(vocab_size=tokenizer.get_vocab_size(), hidden_size=96, intermediate_size=192, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512,
                       tie_word_embeddings=True, bos_token_id=0, eos_token_id=end, pad_token_id=0, rope_parameters={"rope_type": "default", "rope_theta": 10000.0})
    model = hf.LlamaForCausalLM(c)

    def rows(n):
        ids, labels = [], []
        for _ in range(n):
            row, want = [], []
            for part, ours in dialogue(r):
                tokens = tokenizer.encode(part).ids
                row += tokens
                want += tokens if ours else [-100] * len(tokens)
            ids.append(row)
            labels.append(want)
        return *pad(ids), pad(labels, -100)[0]

    def loss(_):
        ids, mask, labels = rows(24)
        return model(input_ids=ids, attention_mask=mask, labels=labels).loss

    train(model, 1000, 3e-3, loss)
    right, of = 0, 0
    with torch.no_grad():
        for _ in range(8):
            ids, mask, labels = rows(50)
            guess = model(input_ids=ids, attention_mask=mask).logits.argmax(-1)[:, :-1]
            want = labels[:, 1:]
            right += ((guess == want) | (want < 0)).all(1).sum().item()
            of += len(want)
    print(f"  {right} of {of} new dialogues have no wrong token")
    f = Folder(out, "chat")
    f.tokenizer(tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", bos_token=None, model_max_length=512, chat_template=TEMPLATE)
    model.generation_config = hf.GenerationConfig(eos_token_id=[end, 0], pad_token_id=0, do_sample=False)
    f.model(model)
