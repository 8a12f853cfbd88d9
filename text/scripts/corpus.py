"""Text that is the same in every run: random strings that are hard on tokenizers, and
running text in made-up English, German, Chinese and code with Zipf's distribution."""

import bisect, itertools, random

# ---------------------------------------------------------------------------- hard strings

RANGES = {
    "latin": [(0x41, 0x5B), (0x61, 0x7B)],
    "latin1": [(0xC0, 0x100)],
    "latin extended": [(0x100, 0x250), (0x1E00, 0x1F00)],
    "greek": [(0x386, 0x3CF), (0x1F00, 0x1FFF)],
    "cyrillic": [(0x400, 0x460)],
    "armenian and hebrew": [(0x531, 0x587), (0x591, 0x5F4)],
    "arabic": [(0x600, 0x6FF), (0xFB50, 0xFDFF)],
    "devanagari": [(0x900, 0x980)],
    "bengali to malayalam": [(0x980, 0xD80)],
    "thai and lao": [(0xE01, 0xE5C), (0xE81, 0xEDF)],
    "tibetan": [(0xF00, 0xFD8)],
    "georgian": [(0x10A0, 0x1100)],
    "hangul jamo": [(0x1100, 0x1200)],
    "hangul": [(0xAC00, 0xD7A4)],
    "hiragana and katakana": [(0x3041, 0x3100)],
    "han": [(0x4E00, 0x9FFF)],
    "han extended": [(0x3400, 0x4DBF), (0x20000, 0x2A6DF)],
    "compatibility": [(0xF900, 0xFAFF), (0xFF01, 0xFFEF), (0x3300, 0x33FF), (0x2F800, 0x2FA1D)],
    "numbers": [(0x30, 0x3A), (0xB2, 0xBF), (0x660, 0x66A), (0x966, 0x970), (0x2150, 0x218B), (0x2460, 0x24FF)],
    "ascii punctuation": [(0x21, 0x30), (0x3A, 0x41), (0x5B, 0x61), (0x7B, 0x7F)],
    "punctuation": [(0x2010, 0x2070), (0x3000, 0x3040), (0xA1, 0xC0)],
    "symbols": [(0x20A0, 0x20C0), (0x2100, 0x2150), (0x2190, 0x2400), (0x2500, 0x2800)],
    "combining marks": [(0x300, 0x370), (0x1AB0, 0x1ABE), (0x20D0, 0x20F0)],
    "emoji": [(0x1F300, 0x1F650), (0x1F680, 0x1F700), (0x1F900, 0x1FA00), (0x1F1E6, 0x1F200)],
    "mathematical letters": [(0x1D400, 0x1D7FF)],
    "controls": [(0x00, 0x20), (0x7F, 0xA0)],
    "format characters": [(0x200B, 0x2010), (0x202A, 0x202F), (0x2060, 0x2070), (0xFE00, 0xFE10), (0xFEFF, 0xFF00), (0xFFF9, 0xFFFE)],
    "tags and private use": [(0xE000, 0xE010), (0xE0000, 0xE0080), (0xFFFE, 0x10000), (0x10FFF0, 0x110000)],
    "anything": [(0x20, 0xD800), (0xE000, 0x30000)],
}
SPACES = [" "] * 12 + ["  ", "   ", "\n", "\n\n", "\t", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u00a0", "\u1680", "\u2003", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\u200b", "\u180e"]
WORDS = """the quick brown fox reads a long letter unaffordable reworking lowest attention is all you need Hello HELLO hello World
don't you'll They're I'D we've IT'S i'm o'clock 'tis rock'n'roll l'élève naïve café İstanbul STRASSE Straße ǅ ſ ﬁ ﬂ ½ ² ™ Å Ω
3.14159 1,000,000 2024-01-31 12:30 0x1F 1e-9 snake_case camelCase kebab-case XMLHttpRequest https://example.com/a?b=c&d=e#f
user.name+tag@mail.example.org def main(argv): return x[1:] { y[i] += a*x; } -->  === *** ... ?! “curly” ‘curly’ «guillemets» —dash–
東京は日本の首都です。 我喜欢机器学习 안녕하세요 Привет, мир! مرحبا नमस्ते ไทยภาษา ▁underline ▁▁ Ġ Ċ ## ##ing @@ </w> <0x41> <0xE4> <unk> [UNK]
👩‍👩‍👧 🇫🇷 👍🏽 ❤️ 😀 e\u0301 A\u030a o\u0308 \u1112\u1161\u11ab \u0e01\u0e33 \u0958 \u0344 \u1e9b\u0323 \u212b \u2126 ㌔ ① Ａｂｃ""".split()


def character(rng, kind):
    first, end = rng.choice(RANGES[kind])
    return chr(rng.randrange(first, end))


def hard_string(rng, pieces=(), special=()):
    """A random string of up to some 60 parts. pieces are a vocabulary's, special its
    special and added tokens."""
    kinds = list(RANGES)
    mine = rng.sample(kinds, 3)
    out = []
    for _ in range(min(60, int(rng.expovariate(1 / 7)))):
        choice = rng.random()
        if choice < 0.30:
            out.append(rng.choice(WORDS))
        elif choice < 0.50:
            kind = rng.choice(mine)
            out.append("".join(character(rng, kind) for _ in range(1 + int(rng.expovariate(1 / 3)))))
        elif choice < 0.60:
            out.append("".join(character(rng, rng.choice(kinds)) for _ in range(rng.randrange(1, 5))))
        elif choice < 0.72 and pieces:
            out.append(rng.choice(pieces))
        elif choice < 0.80 and special:
            s = rng.choice(special)
            out.append(rng.choice([s, s, s, s.lower(), s.upper(), s + s, s[:-1], "x" + s, s + "x"]))
        elif choice < 0.82:
            out.append(character(rng, rng.choice(kinds)) * rng.randrange(2, 40))
        if rng.random() < 0.6:
            out.append(rng.choice(SPACES))
    return "".join(out)


# ---------------------------------------------------------------------------- running text

SYLLABLES = {
    "english": ("b c d f g h l m n p r s t w th sh ch st tr pr pl br cl gr wh sp".split(), "a e i o u ea ou ai oo".split(), " n r s t l d m ck ng st nd ll nt ss".split(" ")),
    "german": ("b d f g h k l m n p r s t w z sch st tr pf kl br gr schw spr".split(), "a e i o u ä ö ü ei au ie eu".split(), " n r s t l ch ng st nd ß lt nk rt tz".split(" ")),
}
ENDINGS = {"english": ["", "", "", "s", "ed", "ing", "er", "ly", "ness", "able", "'s"], "german": ["", "", "en", "er", "e", "ung", "lich", "keit", "es", "isch"]}
KEYWORDS = "if for return func def class import while else switch case var const int string float struct range nil None True self".split()


class Zipf:
    """Draws words so that the k-th one comes 1/k as often as the first."""

    def __init__(self, words):
        self.words = words
        self.sums = list(itertools.accumulate(1 / (k + 3) for k in range(len(words))))

    def __call__(self, rng):
        return self.words[bisect.bisect_left(self.sums, rng.random() * self.sums[-1])]


def lexicon(language, size, seed=3):
    rng = random.Random(f"{seed} {language} {size}")
    words = {}
    if language == "chinese":
        letters = Zipf([chr(c) for c in rng.sample(range(0x4E00, 0x9FA5), 6000)])
        while len(words) < size:
            words["".join(letters(rng) for _ in range(rng.choice([1, 2, 2, 2, 3, 4])))] = None
    elif language == "code":
        parts = lexicon("english", max(400, size // 20), seed)
        while len(words) < size:
            w = [rng.choice(parts).replace("'", "") for _ in range(rng.choice([1, 1, 2, 2, 3]))]
            words[rng.choice(["_".join(w), w[0] + "".join(x.capitalize() for x in w[1:]), "".join(x.capitalize() for x in w)])] = None
    else:
        onsets, nuclei, codas = SYLLABLES[language]
        while len(words) < size:
            n = min(6, 1 + int(rng.expovariate(0.9)))
            w = "".join(rng.choice(onsets) + rng.choice(nuclei) + rng.choice(codas) for _ in range(n)) + rng.choice(ENDINGS[language])
            words[w] = None
    return list(words)


def lines(language, count, size=60000, seed=4):
    """count lines of running text over a lexicon of size words."""
    rng = random.Random(f"{seed} {language}")
    word = Zipf(lexicon(language, size))
    for _ in range(count):
        if language == "chinese":
            yield "".join(word(rng) + rng.choice(["", "", "", "", "，", "的"]) for _ in range(rng.randrange(8, 40))) + rng.choice("。。！？")
        elif language == "code":
            yield code(rng, word)
        else:
            w = [word(rng) for _ in range(rng.randrange(6, 30))]
            w = [x.capitalize() if language == "german" and rng.random() < 0.3 else x + "," if rng.random() < 0.06 else str(rng.randrange(10 ** rng.randrange(1, 6))) if rng.random() < 0.02 else x for x in w]
            yield w[0].capitalize() + " " + " ".join(w[1:]) + rng.choice([".", ".", ".", "!", "?", ' (see "%s").' % word(rng)])


def code(rng, word):
    out, depth = [], 0
    for _ in range(rng.randrange(2, 9)):
        kind = rng.randrange(5)
        if kind == 0:
            out.append("\t" * depth + f"{rng.choice(KEYWORDS)} {word(rng)}({word(rng)}, {word(rng)} {rng.choice(KEYWORDS)}) {{")
            depth += 1
        elif kind == 1:
            out.append("    " * depth + f"{word(rng)}[{rng.choice('ijk')}] += {word(rng)}.{word(rng)}({rng.randrange(1000)}) * 0x{rng.randrange(65536):X};")
        elif kind == 2:
            out.append("\t" * depth + f"{word(rng)} := \"{word(rng)} {word(rng)}\\n\"  // {word(rng)} {word(rng)}")
        elif kind == 3:
            out.append("    " * depth + f"if {word(rng)} != {rng.choice(['nil', 'None', '0', word(rng)])} && !{word(rng)}:")
        else:
            depth = max(0, depth - 1)
            out.append("\t" * depth + "}")
    return "\n".join(out) + "\n"


LANGUAGES = ["english", "german", "chinese", "code"]
