package transformer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	tf "github.com/avoformer/avoformer/transformer"
)

// brokenReader is weights of which one tensor cannot be read.
type brokenReader struct {
	tf.TensorMap
	broken string
}

var errBroken = errors.New("broken disk")

func (b brokenReader) Shape(name string) ([]int, bool) {
	t, ok := b.TensorMap[name]
	return t.Shape, ok
}

func (brokenReader) Format(string) kernels.Format { return kernels.FormatF32 }

func (b brokenReader) Read(dst []float32, name string, from int) error {
	if name == b.broken {
		return errBroken
	}
	copy(dst, b.TensorMap[name].Data[from:])
	return nil
}

// TestUnreadableTensor is that errors of reading while weights are packed end loading.
func TestUnreadableTensor(t *testing.T) {
	c := tftest.Collected{Tensors: tf.TensorMap{}}
	load := func(w tf.Weights) error {
		l := tf.NewLoader(w)
		e := l.At("table.").Embedding(40, 6)
		l.At("head.").Tied(e, nil)
		l.At("first.").Linear(6, 5, true)
		l.At("positions.").Embedding(9, 6)
		return l.Finish()
	}
	tftest.NoError(t, load(c))
	delete(c.Tensors, "head.weight")
	tftest.NoError(t, load(brokenReader{c.Tensors, ""}))
	for _, name := range []string{"table.weight", "first.weight", "first.bias", "positions.weight"} {
		if err := load(brokenReader{c.Tensors, name}); !errors.Is(err, errBroken) {
			t.Errorf("%s cannot be read: error %v", name, err)
		}
	}
	head := c.Tensors["table.weight"]
	head.Data = append([]float32{1 - head.Data[0]}, head.Data[1:]...)
	c.Tensors["head.weight"] = head
	if err := load(brokenReader{c.Tensors, ""}); !errors.Is(err, tf.ErrConfig) || !strings.Contains(err.Error(), "head.weight differs") {
		t.Errorf("another head than the embedding it is tied to: error %v", err)
	}
}
