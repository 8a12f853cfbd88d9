package transformer

// This file has the inputs of encoders, and the memory that a decoder attends to.

// Tokens is a batch of sequences of tokens, without padding.
type Tokens struct {
	IDs   []int // of the rows of Batch
	Types []int // token_type_ids; nil: all 0. Models without types do not read them.
	Batch Batch
	// Visible has for each sequence the number of its first tokens that all of its tokens see; nil:
	// all. Encoders use it that lengthen queries by tokens which the other tokens do not see.
	Visible []int
}

// Soft has soft tokens: vectors that enter a decoder in place of the vectors of tokens, such as
// those of an image.
type Soft struct {
	At int       // the token that the first vector replaces: its place in a prompt or its row in a batch
	X  []float32 // [rows, Dim]
	// Across is the columns of an image whose vectors come row by row, for models whose positions
	// have several axes; 0: each vector has the position of the token that it replaces.
	Across int
	// Before is the number of vectors of the same image that passed before these.
	Before int
}

// Memory is the output of an encoder: as many sequences as the decoder has, or one that all of them
// share.
type Memory struct {
	X     []float32 // [rows of Batch, width]
	Batch Batch
	Mask  *Mask // which rows each target sequence sees; nil: all
}
