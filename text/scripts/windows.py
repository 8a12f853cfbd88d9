#!/usr/bin/env python3
"""Writes windows.json of a folder with a small Whisper: what transformers hears in sound of several lengths, by generation_config.json.

    windows.py FOLDER SOUNDS

SOUNDS is the folder with sound0.wav and sound1.wav, as pipelines.py writes them. A case is left out where float32 and float64 differ, and
where more than MOST windows are heard, as random weights may ask for. Words are those of the pipeline, by alignment_heads, of the cases of WORDS. They are left out
where float32 and float64 differ in them, where the pipeline joins tokens across a time that the model wrote, and where a window begins after the
end of the sound or has so few tokens that the pipeline's times are negative."""

import copy, json, os, shutil, sys, tempfile, wave

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np, torch, transformers as hf
from transformers.models.whisper import tokenization_whisper as tokenization


MOST = 20
WORDS = ({}, {"num_beams": 3}, {"max_length": 10})  # fields, in addition to the most new tokens, of the cases with words
torch.set_num_threads(1)


class Many(Exception):
    pass


def counter(begins=None):
    """What generate calls with the frame at which each window begins, which are added to begins."""
    left = [MOST]

    def count(progress):
        if begins is not None:
            begins.append(int(progress[0][0]))
        left[0] -= 1
        if left[0] < 0:
            raise Many

    return count


def read(path):
    with wave.open(path) as w:
        return np.frombuffer(w.readframes(w.getnframes()), "<i2").astype(np.float32) / 32768


class Whisper:
    """A tokenizer with what only WhisperTokenizer has."""

    language = None

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __getattr__(self, name):
        return getattr(self.tokenizer, name)

    def decode(self, ids, **k):
        return self.tokenizer.decode(ids)

    def _strip_prompt(self, ids, *k):
        return ids


def words_of(model, tokenizer, features, mask, first):
    """What the pipeline says with times of words; None where it does not count."""
    begins = []
    o = model.generate(features, attention_mask=mask, return_timestamps=True, return_token_timestamps=True, return_segments=True, monitor_progress=counter(begins))
    times = torch.cat([s["token_timestamps"] for s in o["segments"][0]])[None]
    chunks = tokenization._decode_asr(tokenizer, [{"tokens": o["sequences"], "token_timestamps": times}], return_timestamps="word", return_language=None, time_precision=0.02)[1]["chunks"]
    texts, part = [], []
    for token in [t for t in o["sequences"][0].tolist() if t not in tokenizer.all_special_ids] + [first]:
        if token < first:
            part.append(token)
        else:
            texts += tokenization._combine_tokens_into_words(tokenizer, part)[0] if part else []
            part = []
    late = any(begin >= int(mask.sum()) for begin in begins)
    if times.min() < 0 or late or texts != [c["text"] for c in chunks]:
        return None
    return [{"start": c["timestamp"][0], "end": c["timestamp"][1], "text": c["text"]} for c in chunks]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    hf.logging.set_verbosity_error()
    folder, sounds = sys.argv[1:]
    ids = {a["content"]: a["id"] for a in json.load(open(os.path.join(folder, "tokenizer.json"), encoding="utf-8"))["added_tokens"]}
    notimes, transcribe, english, french = (ids[f"<|{w}|>"] for w in ("notimestamps", "transcribe", "en", "fr"))
    first, window = notimes + 1, 32000
    base = json.load(open(os.path.join(folder, "generation_config.json"), encoding="utf-8"))
    whole = np.concatenate([read(os.path.join(sounds, n)) for n in ("sound1.wav", "sound0.wav", "sound1.wav", "sound0.wav", "sound0.wav")])
    new = {"max_new_tokens": 24}
    old = {"lang_to_id": None, "task_to_id": None, "is_multilingual": None}  # null takes a field out
    # Fields, and the samples of each sound. One of up to a window is heard without times.
    cases = [(new, [20000, 31999, 32000, 32001, 32159, 32160, 33000, 64000, 96000, len(whole)])]
    for fields in (
        new | {"condition_on_prev_tokens": True}, new | {"condition_on_prev_tokens": True, "prev_sot_token_id": 17}, new | {"condition_on_prev_tokens": True, "suppress_tokens": None},
        {"max_new_tokens": 9, "condition_on_prev_tokens": True, "max_initial_timestamp_index": None}, {"max_length": 10}, {"max_length": 30}, {"max_length": 10, "condition_on_prev_tokens": True},
        new | {"forced_decoder_ids": [[1, french], [2, transcribe]]}, new | {"forced_decoder_ids": [[1, None], [2, transcribe]]}, new | {"forced_decoder_ids": [[1, french], [2, transcribe], [3, notimes]]},
        new | {"forced_decoder_ids": [[2, transcribe]]}, new | {"language": "french"}, new | {"language": "<|fr|>"}, new | {"language": "Castilian"}, new | {"language": "fr", "task": "translate"}, new | {"task": "transcribe"},
        new | {"language": "fr", "task_to_id": None}, new | {"task_to_id": None}, new | {"is_multilingual": False}, new | old | {"is_multilingual": False}, new | old | {"is_multilingual": False, "forced_decoder_ids": [[1, notimes]]},
        new | old | {"forced_decoder_ids": [[1, french], [2, transcribe], [3, notimes]]}, new | {"num_beams": 3}, new | {"num_beams": 2, "condition_on_prev_tokens": True}, new | {"num_beams": 3, "length_penalty": 0.0, "no_repeat_ngram_size": 3},
        new | {"repetition_penalty": 1.7}, new | {"no_repeat_ngram_size": 2}, new | {"return_timestamps": True}, new | {"max_initial_timestamp_index": 1}, new | {"max_initial_timestamp_index": None}, new | {"max_initial_timestamp_index": 0},
        new | {"suppress_tokens": [], "begin_suppress_tokens": []}, new | {"compression_ratio_threshold": 1.0}, new | {"do_sample": True, "temperature": 0.7}, new | {"min_new_tokens": 20},
    ):
        cases.append((fields, [20000, len(whole)]))
    out, left = [], 0
    for fields, lengths in cases:
        with tempfile.TemporaryDirectory() as t:
            shutil.copytree(folder, t, dirs_exist_ok=True)
            config = {k: v for k, v in (base | fields).items() if v is not None}
            with open(os.path.join(t, "generation_config.json"), "w") as f:
                json.dump(config, f)
            tokenizer, extractor = hf.AutoTokenizer.from_pretrained(t), hf.WhisperFeatureExtractor.from_pretrained(t)
            words = lambda tokens: tokenizer.decode([i for i in tokens.tolist() if i < first], skip_special_tokens=True)
            for n in lengths:
                x = whole[:n]
                long = {"truncation": False, "padding": "longest"} if n > window else {}
                heard = extractor(x, sampling_rate=16000, return_tensors="pt", return_attention_mask=True, **long)
                features, mask = heard.input_features, heard.attention_mask
                got = []
                try:
                    for dtype in (torch.float32, torch.float64):
                        model = hf.WhisperForConditionalGeneration.from_pretrained(t, dtype=dtype, attn_implementation="eager").eval()
                        with torch.no_grad():
                            plain = copy.deepcopy(model).generate(features.to(dtype), monitor_progress=counter())[0]
                            times = model.generate(features.to(dtype), monitor_progress=counter(), return_timestamps=True, return_segments=True)["segments"][0]
                            said = {k: v for k, v in fields.items() if k != "max_new_tokens"} in WORDS and words_of(copy.deepcopy(model), Whisper(tokenizer), features.to(dtype), mask, first)
                        got.append({"text": words(plain), "segments": [{"start": round(float(s["start"]), 4), "end": round(float(s["end"]), 4), "text": words(s["tokens"])} for s in times], "words": said})
                except Many:
                    left += 1
                    continue
                except Exception as e:
                    got = [{"error": True}] * 2
                    print(fields, n, type(e).__name__, e)
                print(fields, n, flush=True)
                if got[0].get("words") != got[1].get("words"):
                    got[0]["words"] = got[1]["words"] = None
                if got[0] != got[1]:
                    left += 1
                    continue
                if not got[0].get("words"):
                    got[0].pop("words", None)
                out.append({"config": fields, "samples": n} | got[0])
    with open(os.path.join(folder, "windows.json"), "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in out) + "\n]\n")
    print(folder, len(out), "cases,", left, "left out;", sum("words" in c for c in out), "with words")


if __name__ == "__main__":
    main()
