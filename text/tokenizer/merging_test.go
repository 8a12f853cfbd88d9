package tokenizer

import (
	"errors"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestLongMerge: a merge of more bytes than a block of merges counts is an error.
func TestLongMerge(t *testing.T) {
	v := newVocabulary(1)
	v.set("a", 0)
	long := make([]byte, mostMerged) // whose memory nothing touches
	for _, pair := range [][2][]byte{{long, long}, {long, long[:1]}} {
		g := newMerging(v, "", false, 1)
		g.add(0, pair[0], pair[1])
		if err := g.done(); !errors.Is(err, fault.ErrFormat) {
			t.Errorf("a merge of %d and %d bytes: %v, want an ErrFormat", len(pair[0]), len(pair[1]), err)
		}
	}
}
