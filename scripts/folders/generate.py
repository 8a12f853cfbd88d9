#!/usr/bin/env python3
"""Small model folders in the form of the Hugging Face hub, with what transformers computes for each.

    generate.py OUT [NAME...]

Weights are random, token ids too: nothing is downloaded, and there is no tokenizer. Each folder
OUT/NAME holds config.json, the weights in safetensors (some in shards with an index) and

  expected.safetensors   inputs, and the outputs that transformers computes in float32 from the
                         folder's files. Rows under padding are 0. The metadata "about" is a JSON
                         object with "class", "noise" (largest difference to float64, for each
                         output) and, with greedy decoding, "margin" (smallest gap between the best
                         two logits, far above the noise).

Outputs, by kind of model:

  encoders     input_ids, attention_mask, perhaps token_type_ids; last_hidden_state, pooler_output,
               logits, sentence_embedding (where there is modules.json)
  vision       pixel_values; last_hidden_state, logits
  two towers   pixel_values, input_ids, attention_mask; image_embeds, text_embeds, logits_per_image
  decoders     input_ids, attention_mask, logits; prompt_K and greedy_K
  seq2seq      input_ids, attention_mask, decoder_input_ids; encoder_last_hidden_state, logits;
               greedy_K for row K without its padding, after decoder_start_token_id
  whisper      input_features instead of input_ids; greedy_K follows decoder_prompt
  moonshine    input_values instead of input_ids
  gguf         model.gguf instead of config.json and safetensors; outputs as for decoders

adapter-NAME writes an adapter of peft to OUT/../adapters/NAME, with what the model in the folder that the
metadata's "base" names gives with it; pickles writes files of torch.save beside OUT, for the readers of pytorch_model.bin;
and log-mel/expected.safetensors has samples and what WhisperFeatureExtractor makes of them.
mtp-NAME writes a layer that predicts further tokens for the folder NAME, and its logits, to OUT/../mtp/NAME.safetensors.
images-NAME writes a language model that reads images to OUT/../images/NAME, with a tokenizer, pictures, and the answers to chats about them.
full-NAME has the sizes of a published configuration, and is written only if it is named.
Greedy decoding is the argmax of all logits at each step: no token is suppressed or forced.

Needs torch, transformers 5, safetensors, numpy, gguf, peft.
"""

import os
import sys
import traceback

os.environ.update(HF_HUB_OFFLINE="1")

import torch
import transformers

from folder import BUILD, register


def main(out, names):
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    register()
    failed = []
    for name in names or [n for n in BUILD if not n.startswith("full-")]:
        try:
            BUILD[name](out, name)
        except Exception:
            traceback.print_exc()
            failed.append(name)
    if failed:
        raise SystemExit("failed: " + " ".join(failed))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2:])
