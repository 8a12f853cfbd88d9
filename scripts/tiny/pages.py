"""What is written on a page: an Idefics 3 that reads a heading and a table of small numbers. Pages are made here, with letters of 5 x 7 pixels."""

import os

import numpy
import torch
import transformers as hf
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

from common import Folder, begin, pad, train

GLYPHS = """A .###. #...# #...# ##### #...# #...# #...#
B ####. #...# #...# ####. #...# #...# ####.
C .###. #...# #.... #.... #.... #...# .###.
E ##### #.... #.... ####. #.... #.... #####
N #...# ##..# #.#.# #..## #...# #...# #...#
O .###. #...# #...# #...# #...# #...# .###.
R ####. #...# #...# ####. #.#.. #..#. #...#
S .#### #.... #.... .###. ....# ....# ####.
T ##### ..#.. ..#.. ..#.. ..#.. ..#.. ..#..
X #...# #...# .#.#. ..#.. .#.#. #...# #...#
0 .###. #...# #..## #.#.# ##..# #...# .###.
1 ..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###.
2 .###. #...# ....# ...#. ..#.. .#... #####
3 ##### ...#. ..#.. ...#. ....# #...# .###.
4 ...#. ..##. .#.#. #..#. ##### ...#. ...#.
5 ##### #.... ####. ....# ....# #...# .###.
6 ..##. .#... #.... ####. #...# #...# .###.
7 ##### ....# ...#. ..#.. ..#.. ..#.. ..#..
8 .###. #...# #...# .###. #...# #...# .###.
9 .###. #...# #...# .#### ....# ...#. .##..
"""
FONT = {line[0]: numpy.array([[c == "#" for c in row] for row in line[2:].split()]) for line in GLYPHS.splitlines()}
LETTERS, DIGITS = [[c for c in FONT if c.isalpha()], [c for c in FONT if c.isdigit()]]
SIDE, CELL = 64, 16  # of a page, and of the place of a letter, in pixels
PLACES = SIDE // CELL


def drawn(lines):
    """A page with letters in a grid; a space is an empty place: [SIDE, SIDE, 3] bytes."""
    page = numpy.full((SIDE, SIDE), 255, numpy.uint8)
    for row, line in enumerate(lines):
        for column, c in enumerate(line):
            if c != " ":
                y, x = row * CELL + 1, column * CELL + 3
                page[y : y + 14, x : x + 10][FONT[c].repeat(2, 0).repeat(2, 1)] = 0
    return numpy.stack([page] * 3, -1)


def page(r):
    """The lines of a page, and its DocTags: a heading, and a table whose first row has letters."""
    heading = "".join(r.choice(LETTERS) for _ in range(r.randint(2, PLACES)))
    columns = r.randint(2, PLACES)
    rows = [[r.choice(LETTERS) for _ in range(columns)]] + [[r.choice(DIGITS) if r.random() < 0.9 else " " for _ in range(columns)] for _ in range(r.randint(1, PLACES - 2))]
    cell = lambda tag, c: "<ecel>" if c == " " else tag + c
    table = "".join("".join(cell("<fcel>" if i else "<ched>", c) for c in row) + "<nl>" for i, row in enumerate(rows))
    return [heading] + ["".join(row) for row in rows], f"<doctag><section_header_level_1>{heading}</section_header_level_1><otsl>{table}</otsl></doctag>"


TEMPLATE = "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{% if p.type == 'image' %}<image>{% endif %}{% endfor %}{% endif %}<end_of_utterance>{% endfor %}"


def pages(out):
    r = begin(9)
    tokens = ["<end_of_utterance>", "<fake_token_around_image>", "<image>", "<global-img>", "<doctag>", "</doctag>", "<section_header_level_1>", "</section_header_level_1>", "<otsl>", "</otsl>", "<ched>", "<fcel>", "<ecel>", "<nl>"]
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(tokens)
    end, fake, image, whole = (tokenizer.token_to_id(t) for t in tokens[:4])
    vision = dict(hidden_size=64, num_hidden_layers=1, num_attention_heads=4, intermediate_size=128, image_size=SIDE, patch_size=8)
    text = dict(model_type="llama", vocab_size=tokenizer.get_vocab_size(), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=128, max_position_embeddings=128,
                pad_token_id=end, bos_token_id=None, eos_token_id=end, tie_word_embeddings=True)
    c = hf.Idefics3Config(text_config=text, vision_config=vision, image_token_id=image, scale_factor=2, tie_word_embeddings=True, eos_token_id=end, pad_token_id=end)
    model = hf.Idefics3ForConditionalGeneration(c)
    seen = PLACES * PLACES
    prompt = [fake, whole] + [image] * seen + [fake, end]
    see = Idefics3ImageProcessorPil(do_image_splitting=False, max_image_size={"longest_edge": SIDE}, size={"longest_edge": SIDE})

    def rows(n):
        drawings, texts = zip(*(page(r) for _ in range(n)))
        x = torch.from_numpy(numpy.stack([drawn(d) for d in drawings]).astype(numpy.float32) / 127.5 - 1).permute(0, 3, 1, 2)[:, None]
        ids = [prompt + tokenizer.encode(t).ids + [end] for t in texts]
        return x, pad([i[:-1] for i in ids], end)[0], pad([[-100] * (len(prompt) - 1) + i[len(prompt) :] for i in ids], -100)[0]

    def loss(_):
        x, ids, labels = rows(32)
        return torch.nn.functional.cross_entropy(model(input_ids=ids, pixel_values=x).logits.flatten(0, 1), labels.flatten())

    train(model, int(os.environ.get("STEPS", 1500)), 3e-3, loss, every=100)
    with torch.no_grad():
        x, ids, labels = rows(100)
        guess = model(input_ids=ids, pixel_values=x).logits.argmax(-1)
    print(f"  {((guess == labels) | (labels < 0)).all(1).sum().item()} of 100 pages are right")
    f = Folder(out, "page")
    f.tokenizer(tokenizer, eos_token="<end_of_utterance>", pad_token="<end_of_utterance>", model_max_length=128, chat_template=TEMPLATE)
    see.save_pretrained(f.path)
    f.json("processor_config.json", {"image_seq_len": seen, "processor_class": "Idefics3Processor"})
    model.generation_config = hf.GenerationConfig(eos_token_id=end, pad_token_id=end, max_new_tokens=80)
    f.model(model)
    Image.fromarray(drawn(["NOTE", "ABC", "123", "45 "])).save(os.path.join(out, "page.png"))
