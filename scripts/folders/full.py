"""Models with the sizes of published configurations, and random weights. They are written only where they are named, somewhere
outside of the tree:

    generate.py /tmp/full full-bge-base full-modernbert-base
    AVOFORMER_HF=/tmp/full go test -run TestFolders ./models
"""

import transformers as hf

import encoders
from encoders import encoder
from folder import folder


@folder("full-bge-base", "full-modernbert-base")
def _(out, name):
    """bge-base-en-v1.5 and ModernBERT-base. Weights are drawn as small as training leaves them: with those of the small folders, which make attention
    far from uniform, twelve layers and more would be chaotic, and float32 would be far from float64."""
    encoders.LENGTHS[:] = [200, 37, 1, 512]
    if name == "full-bge-base":
        cls, model = encoders.NoPooler, encoders.NoPooler(hf.BertConfig())
        encoder(out, name, model, cls, types=True, low=1000, sentence=["cls"], seed=6000, scale=[("weight", 0.5)])
    else:
        c = hf.ModernBertConfig()
        encoder(out, name, hf.ModernBertModel(c), hf.ModernBertModel, pad=c.pad_token_id, low=1000, sentence=["mean"], seed=6010, scale=[("weight", 0.5)])
