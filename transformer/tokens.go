package transformer

// What enters an encoder, and what a decoder attends to.

// Tokens is a batch of sequences of tokens, without padding.
type Tokens struct {
	IDs   []int // of the rows of Batch
	Types []int // token_type_ids; nil: all 0. Models without types do not read them.
	Batch Batch
	// Visible is how many tokens of each sequence, its first, are seen by all of them; nil: all. Encoders
	// that lengthen queries by tokens which the others do not see read it.
	Visible []int
}

// Soft is soft tokens: vectors that enter a decoder in the place of those of tokens, such as the vectors of an image.
type Soft struct {
	At int       // the token that the first vector replaces, by its place in a prompt or its row in a batch
	X  []float32 // [rows, Dim]
}

// Memory is the output of an encoder: as many sequences as the decoder has, or one that
// all of them share.
type Memory struct {
	X     []float32 // [rows of Batch, width]
	Batch Batch
	Mask  *Mask // which rows each target sequence sees; nil: all
}
