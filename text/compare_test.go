package text

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer"
)

// TestCompare serves scripts/configs/sentences.py, which starts it with AVOFORMER_COMPARE: each line of
// the standard input is a folder and texts in JSON, and the answer a line of JSON.
func TestCompare(t *testing.T) {
	if os.Getenv("AVOFORMER_COMPARE") == "" {
		t.Skip("make compare-sentences starts it")
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var request struct {
			Dir   string
			Texts []string
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			t.Fatal(err)
		}
		answer, err := json.Marshal(embedAll(request.Dir, request.Texts))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("@%s\n", answer)
	}
}

// embedded is what an Embedder makes of texts with each kind of prompt.
type embedded struct {
	Refused                     string   `json:"refused"`
	Named                       bool     `json:"named"` // the error is one of those for folders and inputs
	Warnings                    []string `json:"warnings"`
	Vectors, Queries, Documents [][]float32
}

// compared are the kinds of errors that folders and texts may have.
var compared = []error{
	ErrFolder, ErrInput, ErrTooLong, ErrConfig, ErrFormat, ErrWeights, tokenizer.ErrFormat, tokenizer.ErrTruncation, tokenizer.ErrUnsupported,
	transformer.ErrMissing, transformer.ErrMisshapen, transformer.ErrLeftOver, transformer.ErrTooLong,
}

func embedAll(dir string, texts []string) (r embedded) {
	ctx := context.Background()
	e, err := OpenEmbedder(dir, Warnings(func(w string) { r.Warnings = append(r.Warnings, w) }))
	if err == nil {
		r.Vectors, err = e.Embed(ctx, texts)
	}
	if err == nil {
		r.Queries, err = e.EmbedQueries(ctx, texts)
	}
	if err == nil {
		r.Documents, err = e.EmbedDocuments(ctx, texts)
	}
	if err != nil {
		r.Refused = err.Error()
		r.Named = slices.ContainsFunc(compared, func(kind error) bool { return errors.Is(err, kind) })
	}
	return r
}
