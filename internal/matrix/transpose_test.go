package matrix

import (
	"slices"
	"testing"
)

func TestTranspose(t *testing.T) {
	for _, c := range []struct {
		x, want []float32
		cols    int
	}{
		{nil, nil, 3},
		{nil, nil, 0},
		{[]float32{1, 2, 3}, []float32{1, 2, 3}, 3},
		{[]float32{1, 2, 3}, []float32{1, 2, 3}, 1},
		{[]float32{1, 2, 3, 4, 5, 6}, []float32{1, 4, 2, 5, 3, 6}, 3},
		{[]float32{1, 2, 3, 4, 5, 6}, []float32{1, 3, 5, 2, 4, 6}, 2},
	} {
		got := make([]float32, len(c.x))
		if Transpose(got, c.x, c.cols); !slices.Equal(got, c.want) {
			t.Errorf("%v with %d columns: %v, want %v", c.x, c.cols, got, c.want)
		}
	}
}
