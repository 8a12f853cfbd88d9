package models

import (
	"fmt"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// Heads: what turns hidden states into logits and pooled vectors.

// head pools the rows of each sequence, or takes every row, and passes them through
// those of its layers that are not nil.
type head struct {
	pool  pooling // nil: every row is a result
	dense *transformer.Linear
	act   func(t kernels.Threads, x []float32) // in place
	norm  *transformer.Norm
	out   *transformer.Linear
}

func (h *head) Out() int {
	if h.out == nil {
		return h.dense.Out
	}
	return h.out.Out
}

func (h *head) Forward(ws *Workspace, dst, x []float32, batch Batch) error {
	defer ws.Release(ws.Mark())
	dim := h.width()
	if len(x) != batch.Rows()*dim {
		return fmt.Errorf("%w: %d hidden states for %d rows of %d", transformer.ErrShape, len(x), batch.Rows(), dim)
	}
	if h.pool != nil {
		pooled := ws.Alloc(batch.Len() * dim) // [sequences, D]
		if err := h.pool(pooled, x, batch, dim); err != nil {
			return err
		}
		x = pooled
	}
	if h.dense != nil {
		y := dst // [results, D]
		if h.out != nil {
			y = ws.Alloc(len(x) / dim * h.dense.Out)
		}
		if err := h.dense.Forward(ws, y, x); err != nil {
			return err
		}
		x = y
	}
	if h.act != nil {
		h.act(ws.Threads, x)
	}
	if h.norm != nil {
		if err := h.norm.Forward(ws, x, x); err != nil {
			return err
		}
	}
	if h.out == nil {
		return nil
	}
	return h.out.Forward(ws, dst, x) // [results, labels]
}

// width is that of the hidden states.
func (h *head) width() int {
	if h.dense != nil {
		return h.dense.In
	}
	return h.out.In
}

// activate applies an activation in place.
func activate(a kernels.Activation) func(t kernels.Threads, x []float32) {
	return func(t kernels.Threads, x []float32) {
		switch a {
		case kernels.ActReLU:
			t.ReLU(x, x)
		case kernels.ActGELU:
			t.GELU(x, x)
		case kernels.ActGELUTanh:
			t.GELUTanh(x, x)
		case kernels.ActSiLU:
			t.SiLU(x, x)
		}
	}
}

func tanh(t kernels.Threads, x []float32) { t.Tanh(x, x) }

// classify is the last layer of a classifier, whose labels are as many as the
// configuration names, or as its weight has rows.
func (c *Checkpoint) classify(l *transformer.Loader, in int, bias bool) *transformer.Linear {
	if len(c.Config.Labels) == 0 {
		n := 2 // the default of transformers
		if shape, ok := l.Shape("weight"); ok && len(shape) == 2 && shape[0] < 1<<20 {
			n = shape[0]
		}
		for i := range n {
			c.Config.Labels = append(c.Config.Labels, fmt.Sprintf("LABEL_%d", i))
		}
	}
	return l.Linear(in, len(c.Config.Labels), bias)
}

// unknownHead is the error of an architecture with a head that is not supported.
func (c *Checkpoint) unknownHead() error {
	return c.JSON.Errorf("architectures", "this head is not supported")
}
