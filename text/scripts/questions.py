#!/usr/bin/env python3
"""Writes what the question answering pipeline of transformers 4, its last versions with one, finds with the folder of pipelines.py.

    questions.py OUT"""

import json, os, sys

import torch
import transformers as hf

torch.set_num_threads(1)
path = os.path.join(sys.argv[1], "answer")
text = "In 2017 eight authors wrote that attention is all you need, and 100,000 papers cited them. Où est la bibliothèque ? 東京は日本の首都です。 "
questions = [["What is the capital of France?", "  What is the capital of France? Paris.  "], ["How many papers?", text], ["Where?", "Yes."], ["What did they write?", text * 3]]
model = hf.AutoModelForQuestionAnswering.from_pretrained(path, dtype=torch.float32)
tokenizer = hf.AutoTokenizer.from_pretrained(path)
ask = hf.pipeline("question-answering", model=model, tokenizer=tokenizer, device="cpu")
cases = []
for how in ({}, {"top_k": 3}, {"top_k": 2, "max_answer_len": 4}, {"top_k": 3, "max_seq_len": 40, "doc_stride": 10}):
    results = []
    for question, context in questions:
        r = ask(question=question, context=context, **({"max_seq_len": 96} | how))
        results.append([{k: a[k] for k in ("answer", "score", "start", "end")} for a in (r if isinstance(r, list) else [r])])
    cases.append(how | {"results": results})
with open(os.path.join(path, "expected.json"), "w", encoding="utf-8") as f:
    json.dump({"questions": questions, "cases": cases}, f, ensure_ascii=False, indent=1)
    f.write("\n")
