"""topics.txt, and sentences made of its words."""

import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))

FILLERS = """a about after again all always an and any are as ask at away back be because been before best better between big
both but by can cannot come could day did do does done down each easy even ever every everybody everyone everything few find first for
four five from get give go goes gone good had half has have he her here him his home how i if in inside into is it its just keep know last late
left less like little long look lost made make many may me mean minute mine month more morning most much must my need never new next nine no none not nothing
now of off old on once one only open or other our out over own people place please put ready right said same say says see seven
she should small so some soon start still such take ten than that the their them then there they thing this those three time to today
together tomorrow too try twice two under until up us use very want was way we week went were what when where which while who whole
why will with without work would wrong year yes yesterday you your""".split()

FRAMES = """how do i {} the {}|the {} and the {}|my {} is not like the {}|where is the {} of the {}|a {} with a {}|{} {} {}|we need a new {} for the {}
why does the {} {}|the {} was good , but the {} was not|he has no {} and no {}|what is a {}|i have lost my {}|she said that the {} is {}
{} or {} , which is better|you can {} it with a {}|is there a {} near the {}|every {} needs a {}|they put the {} into the {}|tell me about {}
the old {} , the new {} and the {}|do not {} the {}|{}|{} {}|a {} for two people , please|it is time to {} again|two of our {} are still in the {}""".replace("\n", "|").split("|")


def read():
    """Groups: (topic, words, sentences)."""
    groups, topic = [], ""
    with open(os.path.join(HERE, "topics.txt"), encoding="utf-8") as f:
        comment = True
        for line in f:
            line = line.strip()
            if line.startswith("#") and not comment:
                topic = line[2:]
            elif line.startswith("="):
                groups.append((topic, line[2:].split(), []))
            elif line.startswith("-"):
                groups[-1][2].append(line[2:])
            comment = comment and line.startswith("#") and not line.startswith("# cooking")
            if line == "# cooking":
                topic = "cooking"
    return groups


def form(r, word):
    """A word, now and then with an ending, roughly as English has them."""
    ending = r.choice(["", "", "", "s", "s", "ed", "ing"])
    if not ending or word.endswith(ending[0]):
        return word
    return (word[:-1] if word.endswith("e") and ending != "s" else word) + ending


def vocabulary(groups):
    """The words, and their endings; of a verb in -e also what is before it."""
    words = set(FILLERS) | {w for _, group, _ in groups for w in group}
    words |= {w[:-1] for w in words if len(w) > 4 and w.endswith("e")}
    return {w for w in words if re.fullmatch("[a-z]+", w) and len(w) > 1} | {"##s", "##es", "##ed", "##ing", "##er", "##ers", "##ly"}


def sentence(r, groups, at):
    """A sentence of words of group at; now and then one slips in from elsewhere, and some words are of no group."""
    frame = r.choice(FRAMES)
    slots = frame.count("{}")
    words = [form(r, w) for w in r.sample(groups[at][1], slots)]
    if slots > 1 and r.random() < 0.15:
        words[r.randrange(slots)] = r.choice(r.choice(groups)[1])
    out = frame.format(*words).split()
    for _ in range(r.randrange(6)):
        out.insert(r.randrange(len(out) + 1), r.choice(FILLERS) if r.random() < 0.7 else "".join(r.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(r.randint(3, 7))))
    return " ".join(out)
