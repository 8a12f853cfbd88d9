package text

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// TestEmbedChunks compares the vectors of chunks with means of the hidden states that sentence-transformers gives.
func TestEmbedChunks(t *testing.T) {
	var want struct {
		Text   string
		Chunks [][2]int
		Cases  []struct {
			Folder, Prompt string
			Vectors        [][]float32
		}
	}
	readExpected(t, "late-chunks", &want)
	var chunks []tokenizer.Offset
	for _, c := range want.Chunks {
		chunks = append(chunks, tokenizer.Offset{Start: c[0], End: c[1]})
	}
	for _, c := range want.Cases {
		e, err := OpenEmbedder("testdata/"+c.Folder, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := outputs(e.EmbedChunks(t.Context(), want.Text, chunks, EmbedOptions{Prompt: c.Prompt}))
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range c.Vectors {
			for j, x := range v {
				if d := float64(got[i][j] - x); !(math.Abs(d) < 2e-5) {
					t.Fatalf("%s %s: element %d of chunk %d is %v, want %v", c.Folder, c.Prompt, j, i, got[i][j], x)
				}
			}
		}
		if got, err := outputs(e.EmbedChunks(t.Context(), want.Text, chunks[:1], EmbedOptions{Dim: 7, Scale: ScaleUnit})); err != nil || len(got[0]) != 7 {
			t.Errorf("%s: cut to %d, %v", c.Folder, len(got[0]), err)
		}
		if got, err := outputs(e.EmbedChunks(t.Context(), "", []tokenizer.Offset{{}}, EmbedOptions{})); err != nil || len(got) != 1 || got[0][0] != 0 {
			t.Errorf("%s: an empty text: %v, %v", c.Folder, got, err)
		}
		for _, bad := range []tokenizer.Offset{{Start: -1, End: 2}, {Start: 3, End: 2}, {Start: 0, End: 1000}} {
			if _, err := e.EmbedChunks(t.Context(), want.Text, []tokenizer.Offset{bad}, EmbedOptions{}); !errors.Is(err, fault.ErrInput) {
				t.Errorf("%v: %v", bad, err)
			}
		}
		if _, err := e.EmbedChunks(t.Context(), strings.Repeat(want.Text, 40), chunks, EmbedOptions{}); !errors.Is(err, fault.ErrTooLong) {
			t.Errorf("%s: a long text: %v", c.Folder, err)
		}
	}
	last, err := OpenEmbedder("testdata/embed-last", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := last.EmbedChunks(t.Context(), want.Text, chunks, EmbedOptions{}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("the last hidden state: %v", err)
	}
}
