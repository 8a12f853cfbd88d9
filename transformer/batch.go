package transformer

// A Batch says how the rows of an activation split into sequences: the first Length(0) rows are
// sequence 0, and so on, without padding between them. The zero Batch has no sequences.
type Batch struct {
	n, length int   // n sequences of this length, unless
	starts    []int // is set: the first row of each sequence, and the number of rows
}

// Uniform returns a batch of n sequences of the same length: [n, length, width].
func Uniform(n, length int) Batch { return Batch{n: max(n, 0), length: max(length, 0)} }

// Ragged returns a batch of sequences of the given lengths. A sequence of length 0 has no rows.
func Ragged(lengths ...int) Batch {
	if len(lengths) == 0 {
		return Batch{}
	}
	b := Batch{n: len(lengths), length: max(lengths[0], 0)}
	equal := true
	starts := make([]int, 1, len(lengths)+1)
	for _, l := range lengths {
		l = max(l, 0)
		equal = equal && l == b.length
		starts = append(starts, starts[len(starts)-1]+l)
	}
	if !equal {
		b.starts = starts
	}
	return b
}

// Reuse is Ragged, but reuses the memory of b, which must not be used again.
func (b Batch) Reuse(lengths ...int) Batch {
	starts := append(b.starts[:0], 0)
	for _, l := range lengths {
		starts = append(starts, starts[len(starts)-1]+max(l, 0))
	}
	return Batch{n: len(lengths), starts: starts}
}

// Len returns the number of sequences.
func (b Batch) Len() int { return b.n }

// Rows returns the number of rows of all sequences.
func (b Batch) Rows() int { return b.Start(b.n) }

// Start returns the first row of sequence i; Start(Len()) is Rows().
func (b Batch) Start(i int) int {
	if b.starts != nil {
		return b.starts[i]
	}
	return i * b.length
}

// Length returns the number of rows of sequence i.
func (b Batch) Length(i int) int {
	if b.starts != nil {
		return b.starts[i+1] - b.starts[i]
	}
	return b.length
}

// MaxLength returns the length of the longest sequence.
func (b Batch) MaxLength() int {
	if b.starts == nil {
		if b.n == 0 {
			return 0
		}
		return b.length
	}
	longest := 0
	for i := range b.n {
		longest = max(longest, b.Length(i))
	}
	return longest
}

// Shape is [Len, length, width] where all lengths are equal, else [Rows, width].
func (b Batch) Shape(width int) []int {
	if b.starts == nil {
		return []int{b.n, b.length, width}
	}
	return []int{b.Rows(), width}
}

// uniformLength returns the length of all sequences, 0 if they differ.
func (b Batch) uniformLength() int {
	if b.starts != nil || b.n == 0 {
		return 0
	}
	return b.length
}
