"""A translator of number words, English to French: T5 with a vocabulary of 80 pieces."""

import torch
import transformers as hf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from common import Folder, begin, pad, train

ENGLISH = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
ENGLISH_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
FRENCH = "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf".split()
FRENCH_TENS = "_ _ vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt".split()


def english(n):
    if n >= 1000:
        rest = n % 1000
        return english(n // 1000) + " thousand" + ("" if rest == 0 else (" and " if rest < 100 else " ") + english(rest))
    if n >= 100:
        return ENGLISH[n // 100] + " hundred" + (" and " + english(n % 100) if n % 100 else "")
    return ENGLISH[n] if n < 20 else ENGLISH_TENS[n // 10] + ("-" + ENGLISH[n % 10] if n % 10 else "")


def french(n, last=True):
    """last: nothing follows, so that hundreds and eighty take their s."""
    if n >= 1000:
        return ("" if n < 2000 else french(n // 1000, False) + " ") + "mille" + (" " + french(n % 1000) if n % 1000 else "")
    if n >= 100:
        cents = "cent" if n < 200 else FRENCH[n // 100] + " cent" + ("s" if n % 100 == 0 and last else "")
        return cents + (" " + french(n % 100, last) if n % 100 else "")
    if n < 20:
        return FRENCH[n]
    tens, ones = n // 10, n % 10 + (10 if n // 10 in (7, 9) else 0)
    if ones == 0:
        return FRENCH_TENS[tens] + ("s" if n == 80 and last else "")
    return FRENCH_TENS[tens] + (" et " if ones in (1, 11) and tens < 8 else "-") + FRENCH[ones]


def pieces():
    words = set()
    for n in list(range(1000)) + [1000 * k for k in range(1, 1000)]:
        for s in (english(n), french(n)):
            words.update("▁" + p if i == 0 else p for w in s.split() for i, p in enumerate(w.split("-")))
    return ["<pad>", "</s>", "<unk>", "▁", "-"] + sorted(words)


def numbers(out):
    r = begin(6)
    vocab = pieces()
    tokenizer = Tokenizer(models.Unigram([(p, -1.0 - 0.01 * i) for i, p in enumerate(vocab)], unk_id=2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>"])
    c = hf.T5Config(vocab_size=len(vocab), d_model=64, d_kv=16, d_ff=128, num_layers=2, num_decoder_layers=2, num_heads=4, dropout_rate=0.0, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
                    feed_forward_proj="relu", tie_word_embeddings=True)
    model = hf.T5ForConditionalGeneration(c)

    def rows(n):
        values = [r.randrange(10 ** r.randint(1, 6)) for _ in range(n)]
        ids, mask = pad([e.ids for e in tokenizer.encode_batch([english(v) for v in values])])
        return ids, mask, pad([e.ids for e in tokenizer.encode_batch([french(v) for v in values])], -100)[0]

    def loss(_):
        ids, mask, labels = rows(64)
        return model(input_ids=ids, attention_mask=mask, labels=labels).loss

    train(model, 2500, 3e-3, loss, decay=0.0)
    with torch.no_grad():
        ids, mask, labels = rows(500)
        guess = model(input_ids=ids, attention_mask=mask, labels=labels).logits.argmax(-1)
    print(f"  {((guess == labels) | (labels < 0)).all(1).sum().item()} of 500 numbers have no wrong token")
    f = Folder(out, "numbers")
    f.tokenizer(tokenizer, eos_token="</s>", pad_token="<pad>", unk_token="<unk>", model_max_length=64)
    model.generation_config = hf.GenerationConfig(eos_token_id=1, pad_token_id=0, decoder_start_token_id=0, max_new_tokens=40)
    f.model(model)
