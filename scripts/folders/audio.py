"""Models of speech, and the log-mel spectrograms that they take."""

import contextlib

import numpy
import torch
import transformers as hf

from folder import Folder, folder, greedy, hide

PROMPT = [90, 91, 92, 93]


@folder("whisper")
def _(out, name):
    c = hf.WhisperConfig(vocab_size=101, num_mel_bins=12, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
                         max_source_positions=30, max_target_positions=40, begin_suppress_tokens=None, pad_token_id=100, bos_token_id=100, eos_token_id=100, decoder_start_token_id=90)
    f = Folder(out, name)
    g = torch.Generator().manual_seed(6)
    features = torch.randn((2, 12, 60), generator=g)
    target = torch.cat([torch.tensor([PROMPT] * 2), torch.randint(0, 90, (2, 6), generator=g)], 1)
    inputs = {"input_features": features, "decoder_input_ids": target, "decoder_prompt": torch.tensor(PROMPT)}

    def run(m, dtype):
        with torch.no_grad():
            o = m(input_features=features.to(dtype), decoder_input_ids=target, use_cache=False)
        return {"encoder_last_hidden_state": o.encoder_last_hidden_state, "logits": o.logits}

    def decode(m):
        tokens, margin = {}, float("inf")
        for i in range(2):
            with torch.no_grad():
                ids, gap = greedy(lambda x: m(input_features=features[i:i + 1], decoder_input_ids=torch.tensor([x]), use_cache=False).logits[0, -1], PROMPT, 12)
            tokens[f"greedy_{i}"] = torch.tensor(ids)
            margin = min(margin, gap)
        return tokens, margin

    f.write(hf.WhisperForConditionalGeneration(c), hf.WhisperForConditionalGeneration, run, decode, eos=[100], inputs=inputs, seed=1500, keep=["encoder.embed_positions"], scale=[("embed_tokens", 0.2)])


MOONSHINE = dict(vocab_size=101, hidden_size=24, intermediate_size=24, encoder_num_hidden_layers=2, decoder_num_hidden_layers=1, encoder_num_attention_heads=2, decoder_num_attention_heads=2,
                 bos_token_id=1, decoder_start_token_id=1, eos_token_id=100, pad_token_id=100)


@folder("moonshine", "moonshine-bias")
def _(out, name):
    """moonshine has heads of which zeros make more features; moonshine-bias has biases, a head of its own, and sizes of heads that are odd."""
    more = {"moonshine": dict(pad_head_dim_to_multiple_of=16, rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.7)),
            "moonshine-bias": dict(hidden_size=28, attention_bias=True, tie_word_embeddings=False, encoder_num_hidden_layers=1, decoder_num_hidden_layers=2, encoder_num_attention_heads=4, decoder_num_attention_heads=4,
                                   encoder_hidden_act="relu", decoder_hidden_act="gelu", rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.6))}[name]
    c = hf.MoonshineConfig(**MOONSHINE | more)
    g = torch.Generator().manual_seed(6)
    values = 0.1 * torch.randn((2, 3600), generator=g)
    target = torch.cat([torch.tensor([[1]] * 2), torch.randint(0, 100, (2, 7), generator=g)], 1)

    def run(m, dtype):
        with torch.no_grad():
            o = m(values.to(dtype), decoder_input_ids=target, use_cache=False)
        return {"encoder_last_hidden_state": o.encoder_last_hidden_state, "logits": o.logits}

    def decode(m):
        tokens, margin = {}, float("inf")
        for i in range(2):
            with torch.no_grad():
                ids, gap = greedy(lambda x: m(values[i:i + 1], decoder_input_ids=torch.tensor([x]), use_cache=False).logits[0, -1], [1], 12)
            tokens[f"greedy_{i}"] = torch.tensor(ids)
            margin = min(margin, gap)
        return tokens, margin

    Folder(out, name).write(hf.MoonshineForConditionalGeneration(c), hf.MoonshineForConditionalGeneration, run, decode, eos=[100], inputs={"input_values": values, "decoder_input_ids": target}, seed=1580, scale=[("proj_out", 2), ("embed_tokens", 0.2)])


def wav2vec2(**more):
    return hf.Wav2Vec2Config(**(dict(vocab_size=29, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, conv_dim=[16, 24, 16], conv_stride=[5, 3, 2], conv_kernel=[10, 3, 2],
                                     num_conv_pos_embeddings=6, num_conv_pos_embedding_groups=4) | more))


@folder("wav2vec2", "wav2vec2-stable")
def _(out, name):
    """wav2vec2-stable is as the large models are: normalization of every convolution, and first in layers; its positions are a convolution
    of an odd number of steps, and the names of its weights those of PyTorch 2."""
    stable = name == "wav2vec2-stable"
    c = wav2vec2(feat_extract_norm="layer", do_stable_layer_norm=True, conv_bias=True, num_conv_pos_embeddings=5, num_hidden_layers=1, mask_time_prob=0.0) if stable else wav2vec2()
    cls = hf.Wav2Vec2Model if stable else hf.Wav2Vec2ForCTC
    values = torch.randn((2, 700), generator=torch.Generator().manual_seed(16))
    inputs = {"input_values": values}

    def run(m, dtype):
        with torch.no_grad():
            o = m(values.to(dtype))
            return {"last_hidden_state": o.last_hidden_state} if stable else {"logits": o.logits, "last_hidden_state": m.wav2vec2(values.to(dtype)).last_hidden_state}

    names = ("weight_g", "weight_v") if not stable else ("parametrizations.weight.original0", "parametrizations.weight.original1")

    def rename(w):
        kinds = {"parametrizations.weight.original0": names[0], "parametrizations.weight.original1": names[1], "weight_g": names[0], "weight_v": names[1]}
        return {next((k.removesuffix(a) + b for a, b in kinds.items() if k.endswith("pos_conv_embed.conv." + a)), k): v for k, v in w.items()}

    Folder(out, name).write(cls(c), cls, run, inputs=inputs, seed=1520, published={"rename": rename})


def parakeet_encoder(**more):
    return hf.ParakeetEncoderConfig(**(dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, conv_kernel_size=5, subsampling_conv_channels=8, num_mel_bins=16, max_position_embeddings=40) | more))


def statistics(seed):
    """Draws the means and variances of batch normalizations."""

    def draw(m):
        g = torch.Generator().manual_seed(seed)
        for name, b in m.named_buffers():
            if name.endswith("running_mean"):
                b.copy_((0.3 * torch.randn(b.shape, generator=g)).bfloat16())
            elif name.endswith("running_var"):
                b.copy_((0.5 + torch.rand(b.shape, generator=g)).bfloat16())

    return draw


@folder("parakeet_ctc", "parakeet_encoder")
def _(out, name):
    """parakeet_ctc hears sounds of several lengths, parakeet_encoder is without biases, of other strides and of one sound."""
    ctc = name == "parakeet_ctc"
    e = parakeet_encoder() if ctc else parakeet_encoder(attention_bias=False, convolution_bias=False, scale_input=False, subsampling_factor=4, subsampling_conv_stride=3, subsampling_conv_kernel_size=3, num_mel_bins=18, hidden_act="gelu", conv_kernel_size=1, num_hidden_layers=1)
    cls = hf.ParakeetForCTC if ctc else hf.ParakeetEncoder
    lengths = [180, 77, 9] if ctc else [300]
    features = torch.randn((len(lengths), max(lengths), e.num_mel_bins), generator=torch.Generator().manual_seed(17))
    mask = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    features *= mask[..., None]

    def run(m, dtype):
        with torch.no_grad():
            x = features.to(dtype)
            if not ctc:
                return {"last_hidden_state": m(x).last_hidden_state}
            o = m.encoder(x, attention_mask=mask)
            return {"last_hidden_state": hide(o.last_hidden_state, o.attention_mask), "logits": hide(m(x, attention_mask=mask).logits, o.attention_mask)}

    inputs = {"input_features": features} | ({"attention_mask": mask.long()} if ctc else {})
    m = cls(hf.ParakeetCTCConfig(vocab_size=29, pad_token_id=28, encoder_config=e.to_dict())) if ctc else cls(e)
    Folder(out, name).write(m, cls, run, inputs=inputs, seed=1540, after=statistics(18))


@folder("parakeet_tdt")
def _(out, name):
    """emissions_K are the tokens of sound K that are not blank, the hidden state from which on each is said, and how many it is about."""
    e = parakeet_encoder(num_hidden_layers=1)
    lengths = [400, 77]
    frames = max(lengths) + 1  # as ParakeetFeatureExtractor has it, with a frame that the mask hides
    features = torch.randn((len(lengths), frames, e.num_mel_bins), generator=torch.Generator().manual_seed(19))
    mask = torch.arange(frames)[None] < torch.tensor(lengths)[:, None]
    features *= mask[..., None]
    c = hf.ParakeetTDTConfig(vocab_size=29, pad_token_id=2, blank_token_id=28, decoder_hidden_size=24, durations=[0, 1, 2, 3], encoder_config=e.to_dict())
    c.decoder_start_token_id = 28

    def said(m, i, noise=0.0):
        x = features[i:i + 1, :lengths[i] + 1] + noise * torch.randn((1, lengths[i] + 1, e.num_mel_bins), generator=torch.Generator().manual_seed(1)) * mask[i:i + 1, :lengths[i] + 1, None]
        o = m.generate(input_features=x, attention_mask=mask[i:i + 1, :lengths[i] + 1], decoder_start_token_id=28, suppress_tokens=list(range(29, 33)))
        tokens, durations = o.sequences[0].tolist(), o.durations[0].tolist()
        return [v for k, (t, d) in enumerate(zip(tokens, durations)) if t != 28 for v in (t, sum(durations[:k]), d)]

    def decode(m):
        all = [said(m, i) for i in range(len(lengths))]
        varied = len(set(all[0][::3])) > 4 and {0, 1} < set(all[0][2::3]) and len(all[0]) < 3 * 60 and len(all[1]) > 6
        sure = varied and all == [said(m, i, 1e-3) for i in range(len(lengths))]
        return {f"emissions_{i}": torch.tensor(v) for i, v in enumerate(all)}, float(sure)

    def run(m, dtype):
        with torch.no_grad():
            o = m.encoder(features.to(dtype), attention_mask=mask)
            return {"last_hidden_state": hide(o.last_hidden_state, o.attention_mask)}

    Folder(out, name).write(hf.ParakeetForTDT(c), hf.ParakeetForTDT, run, decode, inputs={"input_features": features, "attention_mask": mask.long(), "frames": torch.tensor(lengths)}, seed=1560, after=statistics(18), scale=[("encoder_projector", 2), ("joint.head", 2)])


def speechlike(n, seed):
    """n samples at 16 kHz: a few gliding tones that come and go, and noise."""
    r = numpy.random.default_rng(seed)
    t = numpy.arange(n) / 16000
    x = 0.003 * r.standard_normal(n)
    for f in (140.0, 420.0, 1300.0, 3100.0, 6500.0):
        x += 0.15 * numpy.sin(2 * numpy.pi * (f * t + 20 * numpy.sin(3 * t))) * numpy.clip(numpy.sin(2 * numpy.pi * t * (1 + f / 4000)), 0, 1)
    return x.astype(numpy.float32)


@folder("log-mel")
def _(out, name):
    """samples_K and mel_K, [bins, frames], without the padding to 30 seconds that Whisper itself adds, and
    mel_padded, the first frames of samples_0 with it. mel is what the extractor's numpy implementation
    computes; noise is how far its default, float32 in torch, is from that."""
    f = Folder(out, name)
    tensors, noise = {}, {}
    for i, (bins, n) in enumerate([(80, 16000), (80, 7777), (128, 4000)]):
        x = speechlike(n, i)
        e = hf.WhisperFeatureExtractor(feature_size=bins)
        mel = {f"mel_{i}": e._np_extract_fbank_features(x[None], "cpu")[0]}
        default = {f"mel_{i}": e(x, sampling_rate=16000, padding=False, truncation=False, return_tensors="np").input_features[0]}
        if i == 0:
            padded = numpy.pad(x, (0, 480000 - n))
            mel["mel_padded"] = e._np_extract_fbank_features(padded[None], "cpu")[0][:, :110]
            default["mel_padded"] = e(x, sampling_rate=16000, return_tensors="np").input_features[0][:, :110]
        for k in mel:
            noise[k] = "%.2g" % abs(mel[k] - default[k]).max()
            tensors[k] = torch.from_numpy(mel[k].astype(numpy.float32).copy())
        tensors[f"samples_{i}"] = torch.from_numpy(x)
    f.expected(tensors, {"class": "WhisperFeatureExtractor", "transformers": hf.__version__, "noise": noise})
    print(f"{name:24}", {k: tuple(v.shape) for k, v in tensors.items()}, noise, flush=True)


@folder("log-mel-normalized")
def _(out, name):
    """samples_K and mel_K, [bins, frames], of ParakeetFeatureExtractor. mel is its code in float64; noise is how far its float32 is from that."""
    f = Folder(out, name)
    tensors, noise = {}, {}
    for i, (bins, n) in enumerate([(80, 16000), (128, 7777), (80, 320)]):
        x = speechlike(n, i)
        e = hf.ParakeetFeatureExtractor(feature_size=bins)

        def mel():
            o = e(x, sampling_rate=16000, return_tensors="pt")
            return o.input_features[0][o.attention_mask[0].bool()].T.double()

        single = mel()
        with doubled(e):
            tensors[f"mel_{i}"] = mel().float()
        noise[f"mel_{i}"] = "%.2g" % float((tensors[f"mel_{i}"] - single).abs().max())
        tensors[f"samples_{i}"] = torch.from_numpy(x)
    f.expected(tensors, {"class": "ParakeetFeatureExtractor", "transformers": hf.__version__, "noise": noise})
    print(f"{name:24}", {k: tuple(v.shape) for k, v in tensors.items()}, noise, flush=True)


@contextlib.contextmanager
def doubled(e):
    """Has an extractor of features compute in float64."""
    single, pad, filters = torch.float32, e.pad, e.mel_filters
    torch.set_default_dtype(torch.float64)

    def padded(*args, **kwargs):
        o = pad(*args, **kwargs)
        o["input_features"] = o["input_features"].double()
        return o

    exact = hf.audio_utils.mel_filter_bank(e.n_fft // 2 + 1, e.feature_size, 0.0, 8000.0, 16000, norm="slaney", mel_scale="slaney")
    e.pad, e.mel_filters = padded, torch.from_numpy(exact.T.copy())
    try:
        yield
    finally:
        e.pad, e.mel_filters = pad, filters
        torch.set_default_dtype(single)
