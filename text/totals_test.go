package text

import (
	"errors"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestTotals: texts that were cut are counted, whatever the call.
func TestTotals(t *testing.T) {
	long := strings.Repeat("the cat reads ", 60)
	e, err := OpenEmbedder("testdata/embed", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Embed(t.Context(), Texts("a", long, long), EmbedOptions{Prompt: "document"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Embed(t.Context(), Texts(long), EmbedOptions{Prompt: "query"}); err != nil {
		t.Fatal(err)
	}
	if n := e.Totals(); n.Inputs != 4 || n.Cut != 3 || n.Split != 0 || n.Tokens < uint64(3*e.MaxTokens()) {
		t.Errorf("%+v", n)
	}
	if _, err := e.Embed(t.Context(), Texts(long), EmbedOptions{InputOptions: InputOptions{Long: LongRefuse}}); !errors.Is(err, fault.ErrTooLong) || e.Totals().Inputs != 4 {
		t.Errorf("%v, %+v", err, e.Totals())
	}
	split, err := OpenEmbedder("testdata/embed", Options{Long: LongSplit})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := split.Embed(t.Context(), Texts(long), EmbedOptions{}); err != nil || split.Totals().Split != 1 || split.Totals().Cut != 0 {
		t.Errorf("%v, %+v", err, split.Totals())
	}
	r, err := OpenReranker("testdata/rerank", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Score(t.Context(), "cats", []string{"a", long}, RerankOptions{}); err != nil || r.Totals().Cut != 1 || r.Totals().Inputs != 2 {
		t.Errorf("%v, %+v", err, r.Totals())
	}
	tr, err := OpenTranslator("testdata/translate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := TranslateOptions{GenerateOptions: GenerateOptions{MaxTokens: 1}}
	if _, err := tr.Translate(t.Context(), []string{"a", strings.Repeat(long, 4)}, o); err != nil || tr.Totals().Inputs != 2 || tr.Totals().Cut != 1 {
		t.Errorf("%v, %+v with %d tokens", err, tr.Totals(), tr.MaxTokens())
	}
}

// TestMaxLengthBeyond: a length that the model does not have is an error that names its own.
func TestMaxLengthBeyond(t *testing.T) {
	type pipeline interface{ MaxTokens() int }
	for _, folder := range []string{"embed", "classify", "rerank", "tokens", "generate", "fill-mask"} {
		kind, err := KindOf("testdata/" + folder)
		if err != nil {
			t.Fatal(err)
		}
		open := func(length int) (pipeline, error) {
			p, err := OpenKind(kind, "testdata/"+folder, Options{MaxLength: length})
			if err != nil {
				return nil, err
			}
			return p.(pipeline), nil
		}
		p, err := open(0)
		if err != nil {
			t.Fatal(err)
		}
		most := p.MaxTokens()
		if most == 0 {
			t.Errorf("%s has no limit", folder)
			continue
		}
		if p, err := open(most); err != nil || p.MaxTokens() != most {
			t.Errorf("%s with its own length: %v", folder, err)
		}
		if _, err := open(most + 1); !errors.Is(err, fault.ErrOption) || !strings.Contains(err.Error(), "the model takes at most") {
			t.Errorf("%s with one more than %d: %v", folder, most, err)
		}
	}
}
