package transformer

// AttentionNames says what an ecosystem calls the weights of an attention
// module. To each prefix, "weight" and "bias" are added.
type AttentionNames struct {
	Query, Key, Value string
	// Packed, if set, is the prefix of the three projections stacked in this
	// order. Where queries, keys and values differ in width, their weights are
	// separate and only the bias is packed, as in torch.nn.MultiheadAttention.
	Packed string
	Out    string // empty where there is no output projection
	// QueryNorm and KeyNorm are the prefixes of the heads' normalizations.
	QueryNorm, KeyNorm string
	// Distance is the prefix of the table of relative positions.
	Distance string
}

// The names of some ecosystems. Linear weights are [out, in] in all of them.
var (
	TorchAttention = AttentionNames{Query: "q_proj_", Key: "k_proj_", Value: "v_proj_", Packed: "in_proj_", Out: "out_proj."}
	TimmAttention  = AttentionNames{Packed: "qkv.", Out: "proj."}
	D2LAttention   = AttentionNames{Query: "W_q.", Key: "W_k.", Value: "W_v.", Out: "W_o."}
	LlamaAttention = AttentionNames{Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "o_proj."}
	BERTAttention  = AttentionNames{Query: "self.query.", Key: "self.key.", Value: "self.value.", Out: "output.dense.", Distance: "self.distance_embedding."}
	// BERTSelfAttention is Hugging Face's module of that name, which ends before
	// the output projection.
	BERTSelfAttention = AttentionNames{Query: "query.", Key: "key.", Value: "value.", Distance: "distance_embedding."}
)

// FeedForwardNames says what an ecosystem calls the weights of a feed-forward
// network, as prefixes.
type FeedForwardNames struct {
	Up, Down string
	Gate     string // where it has one
	// Packed, if set, is the prefix of the gate and, behind it, Up in one tensor.
	Packed string
}

// LayerNames says what an ecosystem calls the parts of a layer, as prefixes.
type LayerNames struct {
	Self      string // self-attention, with the names Attention
	Cross     string // cross-attention, with the same names
	Attention AttentionNames
	SelfNorm  string // the normalization that belongs to each
	CrossNorm string
	Feed      FeedForwardNames
	FeedNorm  string
}

// The names of some ecosystems.
var (
	TorchEncoderLayer = LayerNames{
		Self: "self_attn.", Attention: TorchAttention, SelfNorm: "norm1.",
		Feed: FeedForwardNames{Up: "linear1.", Down: "linear2."}, FeedNorm: "norm2.",
	}
	TorchDecoderLayer = LayerNames{
		Self: "self_attn.", Attention: TorchAttention, SelfNorm: "norm1.",
		Cross: "multihead_attn.", CrossNorm: "norm2.",
		Feed: FeedForwardNames{Up: "linear1.", Down: "linear2."}, FeedNorm: "norm3.",
	}
	D2LEncoderBlock = LayerNames{
		Self: "attention.", Attention: D2LAttention, SelfNorm: "addnorm1.ln.",
		Feed: FeedForwardNames{Up: "ffn.dense1.", Down: "ffn.dense2."}, FeedNorm: "addnorm2.ln.",
	}
	D2LDecoderBlock = LayerNames{
		Self: "attention1.", Attention: D2LAttention, SelfNorm: "addnorm1.ln.",
		Cross: "attention2.", CrossNorm: "addnorm2.ln.",
		Feed: FeedForwardNames{Up: "ffn.dense1.", Down: "ffn.dense2."}, FeedNorm: "addnorm3.ln.",
	}
	TimmBlock = LayerNames{
		Self: "attn.", Attention: TimmAttention, SelfNorm: "norm1.",
		Feed: FeedForwardNames{Up: "mlp.fc1.", Down: "mlp.fc2."}, FeedNorm: "norm2.",
	}
	BERTLayer = LayerNames{
		Self: "attention.", Attention: BERTAttention, SelfNorm: "attention.output.LayerNorm.",
		Cross: "crossattention.", CrossNorm: "crossattention.output.LayerNorm.",
		Feed: FeedForwardNames{Up: "intermediate.dense.", Down: "output.dense."}, FeedNorm: "output.LayerNorm.",
	}
	LlamaLayer = LayerNames{
		Self: "self_attn.", Attention: LlamaAttention, SelfNorm: "input_layernorm.",
		Feed: FeedForwardNames{Up: "mlp.up_proj.", Down: "mlp.down_proj.", Gate: "mlp.gate_proj."}, FeedNorm: "post_attention_layernorm.",
	}
)
