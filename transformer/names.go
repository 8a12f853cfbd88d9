package transformer

// AttentionNames has an ecosystem's names of the weights of an attention module, as prefixes that
// end with a dot, such as "self.query.": "weight" and "bias" are appended.
type AttentionNames struct {
	Query, Key, Value string
	// Packed, if set, is the prefix of the three projections stacked in this order. Where queries,
	// keys and values differ in width, their weights are separate and only the bias is packed, as
	// in torch.nn.MultiheadAttention.
	Packed string
	// ByHead is set where Packed has the rows of query, key and value of each head in turn, as in
	// GPT-NeoX.
	ByHead bool
	Out    string // empty where there is no output projection
	// QueryNorm, KeyNorm and ValueNorm are the prefixes of the heads' normalizations.
	QueryNorm, KeyNorm, ValueNorm string
	// Sinks is the whole name of the scores of the heads' sinks.
	Sinks string
	// Distance is the prefix of the table of relative positions.
	Distance string
}

// FeedForwardNames has an ecosystem's names of the weights of a feed-forward network, as prefixes
// that end with a dot.
type FeedForwardNames struct {
	Up, Down string
	Gate     string // where it has one
	// Packed, if set, is the prefix of one tensor that holds the gate and then Up, or, with
	// UpFirst, Up and then the gate.
	Packed  string
	UpFirst bool
}

// LayerNames has an ecosystem's names of the parts of a layer, as prefixes that end with a dot.
type LayerNames struct {
	Self      string // self-attention, with the names Attention
	Cross     string // cross-attention, with the same names
	Attention AttentionNames
	SelfNorm  string // the normalization that belongs to each
	CrossNorm string
	Feed      FeedForwardNames
	FeedNorm  string
}
