#!/usr/bin/env python3
"""Makes tokenizers with vocabularies as large as published ones, from made-up text.

    vocabularies.py OUT [NAME...]

Each folder OUT/NAME has tokenizer.json. The names say model, form and size."""

import collections, io, json, math, os, sys

os.environ.update(TOKENIZERS_PARALLELISM="true")
import corpus
import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as proto
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])


def text(count, size):
    """count lines of each language over lexicons of size words, and one line a word, so
    that rare words are there too."""
    for language in corpus.LANGUAGES:
        yield from corpus.lines(language, count, size)
        yield from (" ".join(w) for w in zip(*[iter(corpus.lexicon(language, size))] * 8))


def parts(counts, limit, mark=""):
    """The most frequent substrings of words, weighed by the letters that they save; mark
    comes before those that do not begin a word."""
    saved = collections.Counter()
    for w, n in counts.items():
        for i in range(len(w)):
            for j in range(i + 1, min(len(w), i + 14) + 1):
                saved[(mark if i else "") + w[i:j]] += n * (j - i - 1) + (j - i == 1)
    letters = sorted({(mark if i else "") + c for w in counts for i, c in enumerate(w)})
    return list(dict.fromkeys(letters + [p for p, _ in sorted(saved.items(), key=lambda x: (-x[1], x[0]))[:limit]]))[:limit], saved


def count_words(t, lines):
    counts = collections.Counter()
    for line in lines:
        s = t.normalizer.normalize_str(line) if t.normalizer else line
        counts.update(w for w, _ in t.pre_tokenizer.pre_tokenize_str(s))
    return counts


def wordpiece(size, lowercase):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces, _ = parts(count_words(t, text(3000, 12000)), size - len(special), "##")
    t.model = models.WordPiece({p: i for i, p in enumerate(special + pieces)}, unk_token="[UNK]")
    t.add_special_tokens(special)
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    t.decoder = decoders.WordPiece()
    return t


def bytelevel(size, lexicon, split=None, normalizer=None, special=("<|endoftext|>",), ignore_merges=False):
    t = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer:
        t.normalizer = normalizer
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=split is None)
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(split), "isolated"), level]) if split else level
    t.train_from_iterator(text(4000, lexicon), trainers.BpeTrainer(vocab_size=size - len(special), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    t.add_special_tokens(list(special))
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t


def byte_fallback(size, lexicon, gemma):
    special = ["<pad>", "<eos>", "<bos>", "<unk>"] if gemma else ["<unk>", "<s>", "</s>"]
    t = Tokenizer(models.BPE(unk_token="<unk>"))
    space = normalizers.Replace(" ", "▁")
    t.normalizer = space if gemma else normalizers.Sequence([normalizers.Prepend("▁"), space])
    t.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next") # for training: no merge crosses words
    t.train_from_iterator(text(4000, lexicon), trainers.BpeTrainer(vocab_size=size - 255 - len(special), special_tokens=["<unk>"], show_progress=False))
    j = json.loads(t.to_str())
    order = sorted(j["model"]["vocab"], key=j["model"]["vocab"].get)
    names = list(dict.fromkeys(special + ["<0x%02X>" % b for b in range(256)] + order))
    j["model"].update(vocab={w: i for i, w in enumerate(names)}, byte_fallback=True, fuse_unk=True)
    j.update(added_tokens=[], pre_tokenizer=None)
    t = Tokenizer.from_str(json.dumps(j))
    t.add_special_tokens(special)
    bos = "<bos>" if gemma else "<s>"
    t.post_processor = processors.TemplateProcessing(single=f"{bos} $A", pair=f"{bos} $A {bos}:1 $B:1", special_tokens=[(bos, t.token_to_id(bos))])
    decode = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    if gemma:
        t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.decoder = decoders.Sequence(decode if gemma else decode + [decoders.Strip(" ", 1, 0)])
    return t


def nmt_nfkc():
    """SentencePiece's own character map, from a model of a few pieces."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus.lines("english", 50, 100)), model_writer=out, vocab_size=60, hard_vocab_limit=False,
                                             normalization_rule_name="nmt_nfkc", minloglevel=2)
    return proto.ModelProto.FromString(out.getvalue()).normalizer_spec.precompiled_charsmap


def unigram(size, lexicon):
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    t = Tokenizer(models.Unigram([("<unk>", 0.0)], unk_id=0))
    meta = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    t.normalizer = normalizers.Precompiled(nmt_nfkc())
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), meta])
    pieces, saved = parts(count_words(t, text(4000, lexicon)), size - len(special))
    total = math.log(sum(saved[p] for p in pieces) + len(pieces))
    scored = [(p, math.log(saved[p] + 1) - total) for p in pieces]
    t.model = models.Unigram([(w, 0.0) for w in special] + scored, unk_id=3)
    t.add_special_tokens([AddedToken(w, normalized=False) for w in special])
    t.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return t


MADE = {
    "wordpiece-bert-30k": lambda: wordpiece(30522, True),
    "wordpiece-cased-120k": lambda: wordpiece(119547, False),
    "bpe-gpt2-50k": lambda: bytelevel(50257, 20000),
    "bpe-llama3-128k": lambda: bytelevel(128256, 60000, GPT4 % "{1,3}", ignore_merges=True, special=("<|begin_of_text|>", "<|end_of_text|>")),
    "bpe-qwen-152k": lambda: bytelevel(151669, 80000, GPT4 % "", normalizers.NFC(), special=("<|endoftext|>", "<|im_start|>", "<|im_end|>")),
    "bpe-o200k-200k": lambda: bytelevel(200018, 120000, O200K),
    "bpe-llama2-32k": lambda: byte_fallback(32000, 20000, False),
    "bpe-gemma-256k": lambda: byte_fallback(256000, 150000, True),
    "unigram-t5-32k": lambda: unigram(32128, 12000),
    "unigram-xlmr-250k": lambda: unigram(250002, 60000),
}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in sys.argv[2:] or MADE:
        t = MADE[name]()
        path = os.path.join(sys.argv[1], name)
        os.makedirs(path, exist_ok=True)
        t.save(os.path.join(path, "tokenizer.json"), pretty=False)
        print(f"{name:24} {t.get_vocab_size()} pieces", flush=True)


if __name__ == "__main__":
    main()
