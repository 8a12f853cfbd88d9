package classic

import "github.com/avoformer/avoformer/transformer"

// What ecosystems call the weights of layers. Linear weights are [out, in] in all of them.

// TorchAttention returns the names of torch.nn.MultiheadAttention.
func TorchAttention() transformer.AttentionNames {
	return transformer.AttentionNames{Query: "q_proj_", Key: "k_proj_", Value: "v_proj_", Packed: "in_proj_", Out: "out_proj."}
}

// D2LAttention returns the names of d2l's MultiHeadAttention.
func D2LAttention() transformer.AttentionNames {
	return transformer.AttentionNames{Query: "W_q.", Key: "W_k.", Value: "W_v.", Out: "W_o."}
}

// BERTAttention returns the names of Hugging Face's BertAttention.
func BERTAttention() transformer.AttentionNames {
	return transformer.AttentionNames{Query: "self.query.", Key: "self.key.", Value: "self.value.", Out: "output.dense.", Distance: "self.distance_embedding."}
}

// BERTSelfAttention returns the names of Hugging Face's BertSelfAttention, which ends before the
// output projection.
func BERTSelfAttention() transformer.AttentionNames {
	return transformer.AttentionNames{Query: "query.", Key: "key.", Value: "value.", Distance: "distance_embedding."}
}

// TorchEncoder returns the names of torch.nn.TransformerEncoder.
func TorchEncoder() transformer.StackNames {
	return transformer.StackNames{Layers: "layers.%d.", Norm: "norm.", Layer: transformer.LayerNames{
		Self: "self_attn.", Attention: TorchAttention(), SelfNorm: "norm1.",
		Feed: transformer.FeedForwardNames{Up: "linear1.", Down: "linear2."}, FeedNorm: "norm2.",
	}}
}

// TorchDecoder returns the names of torch.nn.TransformerDecoder.
func TorchDecoder() transformer.StackNames {
	return transformer.StackNames{Layers: "layers.%d.", Norm: "norm.", Layer: transformer.LayerNames{
		Self: "self_attn.", Attention: TorchAttention(), SelfNorm: "norm1.",
		Cross: "multihead_attn.", CrossNorm: "norm2.",
		Feed: transformer.FeedForwardNames{Up: "linear1.", Down: "linear2."}, FeedNorm: "norm3.",
	}}
}

// D2LEncoder returns the names of d2l's TransformerEncoder.
func D2LEncoder() transformer.StackNames {
	return transformer.StackNames{Layers: "blks.block%d.", Layer: transformer.LayerNames{
		Self: "attention.", Attention: D2LAttention(), SelfNorm: "addnorm1.ln.",
		Feed: transformer.FeedForwardNames{Up: "ffn.dense1.", Down: "ffn.dense2."}, FeedNorm: "addnorm2.ln.",
	}}
}

// D2LDecoder returns the names of d2l's TransformerDecoder.
func D2LDecoder() transformer.StackNames {
	return transformer.StackNames{Layers: "blks.block%d.", Layer: transformer.LayerNames{
		Self: "attention1.", Attention: D2LAttention(), SelfNorm: "addnorm1.ln.",
		Cross: "attention2.", CrossNorm: "addnorm2.ln.",
		Feed: transformer.FeedForwardNames{Up: "ffn.dense1.", Down: "ffn.dense2."}, FeedNorm: "addnorm3.ln.",
	}}
}

// TimmBlocks returns the names of timm's vision transformer.
func TimmBlocks() transformer.StackNames {
	return transformer.StackNames{Layers: "blocks.%d.", Norm: "norm.", Layer: transformer.LayerNames{
		Self: "attn.", Attention: transformer.AttentionNames{Packed: "qkv.", Out: "proj."}, SelfNorm: "norm1.",
		Feed: transformer.FeedForwardNames{Up: "mlp.fc1.", Down: "mlp.fc2."}, FeedNorm: "norm2.",
	}}
}

// BERTEncoder returns the names of Hugging Face's BertEncoder, and of BLIP's.
func BERTEncoder() transformer.StackNames {
	return transformer.StackNames{Layers: "encoder.layer.%d.", Layer: transformer.LayerNames{
		Self: "attention.", Attention: BERTAttention(), SelfNorm: "attention.output.LayerNorm.",
		Cross: "crossattention.", CrossNorm: "crossattention.output.LayerNorm.",
		Feed: transformer.FeedForwardNames{Up: "intermediate.dense.", Down: "output.dense."}, FeedNorm: "output.LayerNorm.",
	}}
}
