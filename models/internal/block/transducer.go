package block

import (
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// Transducers, which write tokens of hidden states of sound.

// TransducerConfig is the sizes of a [Transducer], and what its tokens mean.
type TransducerConfig struct {
	In, Dim, Layers int // width of hidden states of sound; width and number of the layers of the prediction network
	Vocab           int
	Blank, Start    int   // the token that says nothing; what the prediction network sees first
	End             []int // tokens after which nothing is said
	Durations       []int // hidden states by which a token advances; from 0 on
	MaxSymbols      int   // most tokens, blanks included, for each hidden state on average
	Activation      kernels.Activation
}

// Transducer writes the tokens of hidden states of sound. Each token says how many hidden states it
// spans. The next token depends on the tokens so far, which an LSTM turns into a vector (Graves,
// 2012, "Sequence Transduction with Recurrent Neural Networks"; Xu et al., 2023, "Efficient
// Sequence Transduction by Jointly Predicting Tokens and Durations").
type Transducer struct {
	TransducerConfig
	enter, predict, joint *transformer.Linear // [In, Dim], [Dim, Dim], [Dim, Vocab+durations]
	tokens                *transformer.Embedding
	layers                []lstm
	act                   func(t kernels.Threads, x []float32)
}

// lstm is a layer of an LSTM (Hochreiter and Schmidhuber, 1997, "Long Short-Term Memory").
type lstm struct{ in, state *transformer.Linear } // [Dim, 4*Dim] each: input, forget, cell and output gates side by side

// LoadTransducer takes the tensors of transformers' ParakeetForTDT.
func LoadTransducer(c TransducerConfig, l *transformer.Loader) *Transducer {
	t := &Transducer{
		TransducerConfig: c,
		enter:            l.At("encoder_projector.").Linear(c.In, c.Dim, true),
		tokens:           l.At("decoder.embedding.").Embedding(c.Vocab, c.Dim),
		predict:          l.At("decoder.decoder_projector.").Linear(c.Dim, c.Dim, true),
		joint:            l.At("joint.head.").Linear(c.Dim, c.Vocab+len(c.Durations), true),
		act:              Activate(c.Activation),
	}
	for i := 0; i < c.Layers && !l.Stopped(); i++ {
		part := func(kind string) *transformer.Linear {
			at := l.At("decoder.lstm.")
			name := func(of string) string { return of + "_" + kind + "_l" + strconv.Itoa(i) }
			return at.LinearOf(c.Dim, 4*c.Dim, at.Tensor(name("weight"), 4*c.Dim, c.Dim), at.Tensor(name("bias"), 4*c.Dim))
		}
		t.layers = append(t.layers, lstm{part("ih"), part("hh")})
	}
	return t
}

// A Transduction is what a transducer has heard of one sound, and written. It is for one goroutine.
type Transduction struct {
	hidden, cells [][]float32 // [layers][Dim]
	predicted     []float32   // [Dim], of the tokens so far; nil: before the first
	heard         int         // hidden states that were handed over
	row           int         // the hidden state that is heard next
	left          int         // tokens that may follow, blanks included
}

// An Emission is a token that is said from a hidden state on.
type Emission struct {
	Token     int
	Row, Rows int // the hidden state, from the beginning of the sound on, and how many the token is about
}

// Begin returns the state before sound of a number of hidden states, of which at most MaxSymbols
// times as many tokens are written, less one: transformers counts the first token that the
// prediction network sees.
func (t *Transducer) Begin(rows int) *Transduction {
	s := &Transduction{left: t.MaxSymbols*rows - 1}
	for range t.layers {
		s.hidden, s.cells = append(s.hidden, make([]float32, t.Dim)), append(s.cells, make([]float32, t.Dim))
	}
	return s
}

// jointRows is how many hidden states are compared at once with what the tokens so far predict.
// Most say nothing, which changes no prediction.
const jointRows = 8

// Hear returns the tokens of the hidden states x, [rows, In], that follow those of s. Errors match
// fault.ErrShape for sizes that do not fit, and fault.ErrNotFinite for logits that are not numbers.
func (t *Transducer) Hear(ws *transformer.Workspace, s *Transduction, x []float32) (all []Emission, err error) {
	rows := len(x) / t.In
	switch {
	case len(x) != rows*t.In:
		return nil, check.Errorf(fault.ErrShape, "x has %d elements, want rows of %d", len(x), t.In)
	case s == nil || len(s.hidden) != len(t.layers) || slices.ContainsFunc(s.hidden, func(h []float32) bool { return len(h) != t.Dim }):
		return nil, check.Errorf(fault.ErrShape, "the state is not one of this transducer, of %d layers of width %d", len(t.layers), t.Dim)
	}
	defer ws.Release(ws.Mark())
	entered := ws.Alloc(rows * t.Dim) // [rows, Dim]
	if err := t.enter.Forward(ws, entered, x); err != nil {
		return nil, err
	}
	if s.predicted == nil {
		if err := t.see(ws, s, t.Start); err != nil {
			return nil, err
		}
	}
	first := s.heard
	for s.heard += rows; s.row < s.heard && s.left > 0; {
		n := min(jointRows, s.heard-s.row)
		from := s.row - first
		said, err := t.say(ws, s, entered[from*t.Dim:(from+n)*t.Dim])
		if err != nil {
			return nil, err
		}
		if said.Token != t.Blank {
			all = append(all, said)
			if err := t.see(ws, s, said.Token); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// say returns the first token that is not a blank at the hidden states x, [n, Dim], beginning with
// that of s; a blank if there is no such token.
func (t *Transducer) say(ws *transformer.Workspace, s *Transduction, x []float32) (Emission, error) {
	defer ws.Release(ws.Mark())
	n, width, first := len(x)/t.Dim, t.joint.Out, s.row
	both, logits := ws.Alloc(len(x)), ws.Alloc(n*width) // [n, Dim], [n, Vocab+durations]
	for at := 0; at < len(x); at += t.Dim {
		kernels.Add(both[at:at+t.Dim], x[at:at+t.Dim], s.predicted)
	}
	t.act(ws.Threads, both)
	if err := t.joint.Forward(ws, logits, both); err != nil {
		return Emission{}, err
	}
	if err := check.Finite(logits); err != nil {
		return Emission{}, err
	}
	for s.row < first+n && s.left > 0 {
		at := logits[(s.row-first)*width:][:width]
		e := Emission{Token: largest(at[:t.Vocab]), Row: s.row, Rows: t.Durations[largest(at[t.Vocab:])]}
		if e.Token == t.Blank {
			s.row, s.left = s.row+max(e.Rows, 1), s.left-1
			continue
		}
		s.row, s.left = s.row+e.Rows, s.left-1
		if slices.Contains(t.End, e.Token) {
			s.left = 0
		}
		return e, nil
	}
	return Emission{Token: t.Blank}, nil
}

// largest returns the index of the largest element, the first of several.
func largest(x []float32) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

// see passes a token through the prediction network.
func (t *Transducer) see(ws *transformer.Workspace, s *Transduction, token int) error {
	defer ws.Release(ws.Mark())
	x, gates, more := ws.Alloc(t.Dim), ws.Alloc(4*t.Dim), ws.Alloc(4*t.Dim)
	if err := t.tokens.Forward(ws, x, []int{token}); err != nil { // [Dim]
		return err
	}
	for i, l := range t.layers {
		if err := l.in.Forward(ws, gates, x); err != nil { // [4*Dim]
			return err
		}
		if err := l.state.Forward(ws, more, s.hidden[i]); err != nil { // [4*Dim]
			return err
		}
		kernels.Add(gates, gates, more)
		gate := func(i int) []float32 { return gates[i*t.Dim : (i+1)*t.Dim] }
		kernels.Sigmoid(gates[:2*t.Dim], gates[:2*t.Dim]) // input and forget
		kernels.Tanh(gate(2), gate(2))
		kernels.Sigmoid(gate(3), gate(3))
		cell := s.cells[i]
		kernels.Mul(gate(0), gate(0), gate(2))
		kernels.Mul(cell, cell, gate(1))
		kernels.Add(cell, cell, gate(0)) // cell = forget * cell + input * tanh(new)
		kernels.Tanh(x, cell)
		kernels.Mul(x, x, gate(3)) // hidden = output * tanh(cell)
		copy(s.hidden[i], x)
	}
	if s.predicted == nil {
		s.predicted = make([]float32, t.Dim)
	}
	return t.predict.Forward(ws, s.predicted, x)
}
