"""A classifier of messages, and one of words: names of people, places and firms. All text is made here."""

import torch
import transformers as hf

from common import BERT, Folder, begin, pad, train, words_tokenizer
from sentences import bert

SPAM = """you have won {prize} ! click {here} to claim it|congratulations , you are the winner of {prize}|cheap {goods} without prescription , order {now}|earn {money} from home , no experience needed
get a loan of {money} {now} , no questions asked|your account is suspended , verify your card {here}|{goods} at {percent} off , only today|dear friend , i want to send you {money} , reply {now}
free {goods} for the first hundred customers|act {now} , this offer ends tonight|double your coins in a week , guaranteed|lose ten kilos in a week with our {goods}|claim your refund of {money} {here}
urgent : confirm your password {here} or lose access|hot singles in your area wait for you|you are selected for {prize} , reply with your card number|limited offer : {goods} for {money} , buy {now}"""
HAM = """are we still meeting {when} ?|i will be {minutes} late , sorry|can you send me the {paper} before {when} ?|thanks for {thing} , it was lovely|the {paper} is attached , tell me what you think
dinner at our place {when} ?|please buy {food} on your way home|mom called , she asks about {thing}|i have read your {paper} and have two small remarks|the meeting is moved to {when}
did you see my keys ?|the train is {minutes} late|happy birthday ! see you {when}|could you water the plants {when} ?|the doctor can see you {when}|your {paper} looks good to me , let us send it {when}
the children want {food} for breakfast|i left my umbrella at your place|shall we take the bus or walk ?|our {thing} was great , thank you"""
SLOTS = {"prize": "a free phone|a luxury cruise|one million dollars|a new car|a gift card|the lottery|a big cash prize".split("|"), "here": "here|this link|the link below|on our site".split("|"), "now": "now|today|right now|immediately".split("|"),
         "goods": "pills|watches|handbags|medication|followers|crypto coins|diet pills".split("|"), "money": "500 dollars|1000 euros|$ 5000|big money|thousands of dollars|cash".split("|"), "percent": "50 %|70 %|90 %".split("|"),
         "when": "tomorrow|on friday|tonight|on monday morning|next week|at six|after lunch|on sunday".split("|"), "minutes": "ten minutes|a bit|half an hour|five minutes".split("|"),
         "paper": "report|draft|minutes|slides|invoice|contract|letter".split("|"), "thing": "the weekend|your visit|the present|the book|the trip|the dinner|your help".split("|"), "food": "bread|milk|some apples|cheese and eggs|pancakes|coffee".split("|")}
# These texts are not in the training data.
TRIED = {"spam": ["Congratulations! You won a luxury car, click this link now!", "Cheap pills and watches, 90% off today only", "Reply immediately and we send you a loan of 5000 dollars", "Verify your password here to claim the cash prize"],
         "ham": ["Can you buy bread and milk after lunch?", "The slides look good, see you on Monday.", "Sorry, the bus is late, I will be there at six.", "Thank you for the dinner, the children were happy."]}


def fill(r, frame):
    while "{" in frame:
        slot = frame[frame.index("{") + 1:frame.index("}")]
        frame = frame.replace("{" + slot + "}", r.choice(SLOTS[slot]), 1)
    return frame


def message(r, spam):
    frames = (SPAM if spam else HAM).replace("\n", "|").split("|")
    words = " ".join(fill(r, r.choice(frames)) for _ in range(r.randint(1, 2))).split()
    for _ in range(r.randrange(3)):  # unknown words say nothing
        words.insert(r.randrange(len(words) + 1), "".join(r.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(r.randint(2, 7))))
    return " ".join(w for w in words if r.random() > 0.1) or words[0]


def spam(out):
    r = begin(4)
    words = {w for f in (SPAM + HAM).replace("\n", "|").split("|") for w in f.split()} | {w for s in SLOTS.values() for p in s for w in p.split()}
    tokenizer = words_tokenizer({w for w in words if w.isalpha() and len(w) > 1})
    model = hf.BertForSequenceClassification(bert(tokenizer.get_vocab_size(), 32, id2label={0: "ham", 1: "spam"}, label2id={"ham": 0, "spam": 1}))

    def logits(texts):
        ids, mask = pad([e.ids for e in tokenizer.encode_batch(texts)])
        return model(input_ids=ids, attention_mask=mask).logits

    def loss(_):
        want = [k % 2 for k in range(48)]
        return torch.nn.functional.cross_entropy(logits([message(r, k == 1) for k in want]), torch.tensor(want), label_smoothing=0.02)

    train(model, 500, 2e-3, loss)
    with torch.no_grad():
        right = sum((logits(TRIED[n]).argmax(1) == i).sum().item() for i, n in enumerate(["ham", "spam"]))
    print(f"  {right} of 8 messages never seen are right")
    f = Folder(out, "spam")
    f.tokenizer(tokenizer, **BERT)
    f.model(model)


STARTS = "An Ber Cla Da El Fer Gi Han Il Jo Ka Lu Mar Ni Ol Pe Ro Sa To Ul Ve Wil Ya Zo Ingr Mo Fa Chi".split()
ENDS = "na to ra vid len mo sa nes ka lo ta a ia an in ert a id us er o el ina ette ard".split()
PLACES = "Lisbon Paris Oslo Berlin Vienna Rome Cairo Lima Tokyo Delhi Boston Dublin Prague Bergen Porto Geneva".split()
FIRMS = ["Works", "Bank", "Motors", "Group", "Labs", "Foods", "Press", "Airlines"]
SENTENCES = """{P} lives in {L} .|{P} works for {O} in {L} .|{O} opened an office in {L} .|yesterday {P} flew from {L} to {L} .|{P} and {P} met in {L} .|the head of {O} is {P} .|{P} sold the house to {P} .
in {L} , {O} hired {P} .|we wrote to {O} last week .|{P} , who was born in {L} , now leads {O} .|the train to {L} was late .|did {P} call ?|my letter to {P} came back from {L} .|{O} and {O} will build a plant near {L} .
I think that the weather will be good .|the old bridge was closed in spring .|She bought a new bicycle for her brother .|Nobody knew the answer .""".replace("\n", "|").split("|")
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]


def name(r):
    return r.choice(STARTS) + r.choice(ENDS)


def tagged(r):
    """Words and their tags."""
    words, tags = [], []
    for w in r.choice(SENTENCES).split():
        kind = {"{P}": "PER", "{L}": "LOC", "{O}": "ORG"}.get(w)
        if not kind:
            entity = [w[0].upper() + w[1:] if not words else w]
        elif kind == "PER":
            entity = [name(r)] + ([name(r) + r.choice(["", "s", "son", "ez"])] if r.random() < 0.6 else [])
        elif kind == "LOC":
            entity = [r.choice(PLACES) if r.random() < 0.6 else name(r) + r.choice(["burg", "ville", "ton", ""])]
        else:
            entity = [name(r), r.choice(FIRMS)] if r.random() < 0.8 else [name(r) + r.choice(["co", "corp", "soft"])]
        words += entity
        tags += ["O"] if not kind else ["B-" + kind] + ["I-" + kind] * (len(entity) - 1)
    return words, tags


def names(out):
    r = begin(5)
    known = {w for s in SENTENCES for w in s.split()} | {s.split()[0].capitalize() for s in SENTENCES} | set(PLACES) | set(FIRMS)
    tokenizer = words_tokenizer({w for w in known if w.isalpha() and len(w) > 1}, lowercase=False)
    model = hf.BertForTokenClassification(bert(tokenizer.get_vocab_size(), 48, id2label=dict(enumerate(TAGS)), label2id={t: i for i, t in enumerate(TAGS)}))

    def rows(n):
        made = [tagged(r) for _ in range(n)]
        encoded = tokenizer.encode_batch([" ".join(words) for words, _ in made])
        labels = []
        for (words, tags), e in zip(made, encoded):
            starts = {}
            at = 0
            for w, t in zip(words, tags):
                starts[at] = t
                at += len(w) + 1
            labels.append([-100 if s == d else TAGS.index(starts[max(k for k in starts if k <= s)]) for s, d in e.offsets])
        return *pad([e.ids for e in encoded]), pad(labels, -100)[0]

    def loss(_):
        ids, mask, labels = rows(32)
        return model(input_ids=ids, attention_mask=mask, labels=labels).loss

    train(model, 600, 2e-3, loss)
    with torch.no_grad():
        ids, mask, labels = rows(200)
        guess = model(input_ids=ids, attention_mask=mask).logits.argmax(-1)
    print(f"  {((guess == labels) & (labels >= 0)).sum().item()} of {(labels >= 0).sum().item()} tokens of new sentences are right")
    f = Folder(out, "names")
    f.tokenizer(tokenizer, **BERT)
    f.model(model)
