package generation

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// A Step has tokens of several sequences that pass through a model together: the next token of one,
// a piece of the prompt of another.
type Step struct {
	Tokens []int // of the rows of Batch
	Batch  transformer.Batch
	// Past is the history of each sequence, of one pool of pages, which continues with its tokens.
	Past []*transformer.History
	// Memory has the rows that a decoder after an encoder attends to; nil for other decoders.
	Memory *models.Memory
	// Soft are the soft tokens of rows of Batch; nil: none.
	Soft []models.Soft
	// Want lists the rows whose logits are wanted. If several rows of a sequence are wanted, they
	// get the same bits as one by one.
	Want []int
}

// Stepper runs steps with a model. It keeps memory from step to step; it is for one goroutine at a
// time.
type Stepper struct {
	Model     models.LanguageModel
	Workspace *transformer.Workspace

	cache  transformer.Cache
	hidden []float32
	rows   []float32
	logits []float32
}

// Run passes a step, and returns the logits, [len(Want), V], of the tokens that follow the wanted
// rows. They are valid until the next step. After an error the histories are unchanged. The error
// matches fault.ErrMemory if the tokens exceed the limit of their pages.
func (s *Stepper) Run(step Step) ([]float32, error) {
	rows, dim, vocab := step.Batch.Rows(), s.Model.Dim(), s.Model.Vocab()
	if len(step.Tokens) != rows || len(step.Past) != step.Batch.Len() {
		return nil, check.Errorf(fault.ErrShape, "a step of %d tokens and %d histories, want %d and %d", len(step.Tokens), len(step.Past), rows, step.Batch.Len())
	}
	s.cache.Use(step.Past)
	s.separate(step)
	s.hidden = slices.Grow(s.hidden[:0], rows*dim)[:rows*dim] // [rows, D]
	if err := s.pass(step); err != nil {
		return nil, err
	}
	s.rows = slices.Grow(s.rows[:0], len(step.Want)*dim)[:0]
	for _, row := range step.Want {
		if row < 0 || row >= rows {
			return nil, check.Errorf(fault.ErrShape, "logits of row %d of a step of %d", row, rows)
		}
		s.rows = append(s.rows, s.hidden[row*dim:(row+1)*dim]...) // [wanted, D]
	}
	s.logits = slices.Grow(s.logits[:0], len(step.Want)*vocab)[:len(step.Want)*vocab] // [wanted, V]
	if len(step.Want) == 0 {
		return s.logits, nil
	}
	return s.logits, s.Model.Logits(s.Workspace, s.logits, s.rows)
}

// pass computes the hidden states of the step.
func (s *Stepper) pass(step Step) error {
	if len(step.Soft) == 0 {
		return s.Model.Hidden(s.Workspace, s.hidden, step.Tokens, step.Batch, step.Memory, &s.cache)
	}
	m, ok := s.Model.(models.SoftReader)
	if !ok || step.Memory != nil {
		return check.Errorf(fault.ErrConfig, "the model takes no soft tokens")
	}
	return m.HiddenSoft(s.Workspace, s.hidden, step.Tokens, step.Batch, step.Soft, &s.cache)
}

// separate makes the rows of a sequence attend separately if several of them are wanted.
func (s *Stepper) separate(step Step) {
	sequence, before := 0, -1 // of the row that was wanted before
	for _, row := range step.Want {
		for sequence+1 < step.Batch.Len() && row >= step.Batch.Start(sequence+1) {
			sequence++
		}
		if sequence == before {
			s.cache.Apart(sequence)
		}
		before = sequence
	}
}
