"""The sentence encoder and the reranker, on sentences of topics.txt."""

import os

import torch
import transformers as hf

import topics
from common import BERT, Folder, begin, pad, train, words_tokenizer


def bert(vocab, dim, **more):
    return hf.BertConfig(vocab_size=vocab, hidden_size=dim, num_hidden_layers=2, num_attention_heads=4, intermediate_size=2 * dim, max_position_embeddings=64,
                         hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **more)


def embed(out):
    """Contrastive: two sentences of a group belong together, more than those of a topic, more than others."""
    r = begin(1)
    groups = topics.read()
    tokenizer = words_tokenizer(topics.vocabulary(groups))
    model = hf.BertModel(bert(tokenizer.get_vocab_size(), 64), add_pooling_layer=False)
    topic = torch.tensor([sorted({g[0] for g in groups}).index(g[0]) for g in groups])
    near = (topic[:, None] == topic[None, :]).float() * 0.15
    near.fill_diagonal_(1.0)
    target = near / near.sum(1, keepdim=True)

    def vectors(texts):
        ids, mask = pad([e.ids for e in tokenizer.encode_batch(texts)])
        x = model(input_ids=ids, attention_mask=mask).last_hidden_state * mask[:, :, None]
        return torch.nn.functional.normalize(x.sum(1) / mask.sum(1, keepdim=True), dim=1)

    def loss(_):
        a, b = (vectors([topics.sentence(r, groups, i) for i in range(len(groups))]) for _ in range(2))
        return torch.nn.functional.cross_entropy(a @ b.T / 0.15, target)

    train(model, 1500, 2e-3, loss)
    with torch.no_grad():
        texts = [(i, s) for i, g in enumerate(groups) for s in g[2]]
        v = vectors([s for _, s in texts])
        scores = v @ v.T - 2 * torch.eye(len(texts))
        nearest = scores.argmax(1).tolist()
    right = sum(texts[j][0] == i for (i, _), j in zip(texts, nearest))
    alike = sum(groups[texts[j][0]][0] == groups[i][0] for (i, _), j in zip(texts, nearest))
    print(f"  of {len(texts)} sentences never seen, {right} have one of their group as the nearest, {alike} one of their topic")

    f = Folder(out, "embed")
    f.tokenizer(tokenizer, **BERT)
    f.json("modules.json", [{"idx": i, "name": str(i), "path": p, "type": "sentence_transformers.models." + t} for i, (p, t) in enumerate([("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")])])
    f.json("1_Pooling/config.json", {"word_embedding_dimension": 64, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False})
    f.json("sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": False})
    f.model(model)
    with open(os.path.join(out, "sentences.txt"), "w", encoding="utf-8") as t:
        t.writelines(s + "\n" for _, s in texts)


def rerank(out):
    """A cross-encoder: does the text have to do with the query? It begins with the weights of the sentence encoder in OUT."""
    r = begin(2)
    groups = topics.read()
    tokenizer = words_tokenizer(topics.vocabulary(groups))
    model = hf.BertForSequenceClassification(bert(tokenizer.get_vocab_size(), 64, num_labels=1))
    model.bert.load_state_dict(hf.BertModel.from_pretrained(os.path.join(out, "embed"), add_pooling_layer=False, dtype=torch.float32).state_dict(), strict=False)

    def scores(pairs):
        encoded = tokenizer.encode_batch(pairs)
        ids, mask = pad([e.ids for e in encoded])
        types, _ = pad([e.type_ids for e in encoded])
        return model(input_ids=ids, attention_mask=mask, token_type_ids=types).logits[:, 0]

    def loss(_):
        pairs, labels = [], []
        for k in range(64):
            i = r.randrange(len(groups))
            j = i if k % 2 == 0 else r.choice([j for j in range(len(groups)) if j != i])
            pairs.append((topics.sentence(r, groups, i), topics.sentence(r, groups, j)))
            labels.append(float(i == j))
        return torch.nn.functional.binary_cross_entropy_with_logits(scores(pairs), torch.tensor(labels))

    train(model, 800, 1e-3, loss, every=100)
    first = 0
    with torch.no_grad():
        for i, g in enumerate(groups):
            texts = [g[2][1]] + [h[2][1] for h in groups if h is not g]
            first += scores([(g[2][0], t) for t in texts]).argmax().item() == 0
    print(f"  {first} of {len(groups)} queries never seen rank the text of their group first of {len(groups)}")
    f = Folder(out, "rerank")
    f.tokenizer(tokenizer, **BERT)
    f.model(model)
