package text

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// sparseOf reads "index:value" and so on.
func sparseOf(t *testing.T, s string) SparseVector {
	v := SparseVector{}
	for pair := range strings.FieldsSeq(s) {
		i, x, _ := strings.Cut(pair, ":")
		index, err1 := strconv.Atoi(i)
		value, err2 := strconv.ParseFloat(x, 32)
		if err1 != nil || err2 != nil {
			t.Fatal(pair)
		}
		v = append(v, models.TokenWeight{Index: index, Value: float32(value)})
	}
	return v
}

// closeSparse fails unless the elements are the same except for those that are next to 0.
func closeSparse(t *testing.T, what string, got, want SparseVector) {
	t.Helper()
	left := map[int]float32{}
	for _, w := range want {
		left[w.Index] = w.Value
	}
	for i, g := range got {
		if i > 0 && got[i-1].Index >= g.Index {
			t.Fatalf("%s: element %d comes after %d", what, g.Index, got[i-1].Index)
		}
		if d := math.Abs(float64(g.Value - left[g.Index])); !(d <= 2e-5) {
			t.Fatalf("%s: element %d is %v, want %v", what, g.Index, g.Value, left[g.Index])
		}
		delete(left, g.Index)
	}
	for i, v := range left {
		if v > 2e-5 {
			t.Fatalf("%s: no element %d, want %v", what, i, v)
		}
	}
}

// TestEmbedSparse compares with sentence-transformers' SparseEncoder, on every tier.
func TestEmbedSparse(t *testing.T) {
	var want struct{ Texts, Vectors, Queries []string }
	readExpected(t, "embed-sparse", &want)
	for _, isa := range kernels.Supported() {
		t.Run(isa.String(), func(t *testing.T) {
			defer machine.Use(isa)()
			e, err := OpenEmbedder("testdata/embed-sparse", Options{BatchTokens: 64})
			if err != nil {
				t.Fatal(err)
			}
			if e.HasDense() || !e.HasSparse() || e.HasMultiVector() {
				t.Error("want sparse vectors alone")
			}
			for prompt, vectors := range map[string][]string{"": want.Vectors, "query": want.Queries} {
				got, n, err := counted(e.EmbedSparse(context.Background(), Texts(want.Texts...), EmbedOptions{Prompt: prompt}))
				if err != nil {
					t.Fatal(err)
				}
				for i := range got {
					closeSparse(t, fmt.Sprintf("prompt %q, text %d", prompt, i), got[i], sparseOf(t, vectors[i]))
				}
				if n.Sum() == 0 {
					t.Error("no tokens are counted")
				}
			}
			if _, err := e.Embed(context.Background(), Texts(want.Texts...), EmbedOptions{}); !errors.Is(err, fault.ErrInput) {
				t.Errorf("Embed: error %v, want a fault.ErrInput", err)
			}
			if _, err := e.EmbedMultiVector(context.Background(), nil, EmbedOptions{}); !errors.Is(err, fault.ErrInput) {
				t.Errorf("EmbedMultiVector: error %v, want a fault.ErrInput", err)
			}
		})
	}
	if kind, err := KindOf("testdata/embed-sparse"); kind != KindEmbedder || err != nil {
		t.Errorf("kind %v, %v", kind, err)
	}
}

// TestEmbedMultiVector compares with sentence-transformers' MultiVectorEncoder, which reads
// PyLate's folders too, on every tier.
func TestEmbedMultiVector(t *testing.T) {
	for _, folder := range []string{"embed-late", "embed-late-new"} {
		var want struct {
			Texts              []string
			Queries, Documents [][][]float32
			Scores             [][]float32
		}
		readExpected(t, folder, &want)
		for _, isa := range kernels.Supported() {
			t.Run(folder+"/"+isa.String(), func(t *testing.T) {
				defer machine.Use(isa)()
				e, err := OpenEmbedder("testdata/"+folder, Options{BatchTokens: 64})
				if err != nil {
					t.Fatal(err)
				}
				embed := func(prompt string, want [][][]float32, texts []string) [][][]float32 {
					got, err := outputs(e.EmbedMultiVector(context.Background(), Texts(texts...), EmbedOptions{Prompt: prompt}))
					if err != nil {
						t.Fatal(err)
					}
					for i := range want {
						if len(got[i]) != len(want[i]) {
							t.Fatalf("%s %d: %d vectors, want %d", prompt, i, len(got[i]), len(want[i]))
						}
						for j := range want[i] {
							close32(t, fmt.Sprint(prompt, " ", i, " ", j), got[i][j], want[i][j], 1e-5)
						}
					}
					return got
				}
				queries, documents := embed("query", want.Queries, want.Texts), embed("document", want.Documents, want.Texts)
				for i := range queries {
					for j := range documents {
						if got := e.Interact(queries[i], documents[j]); math.Abs(float64(got-want.Scores[i][j])) > 2e-4 {
							t.Errorf("score of %d and %d: %v, want %v", i, j, got, want.Scores[i][j])
						}
					}
				}
				if e.HasDense() || e.HasSparse() || !e.HasMultiVector() || e.MultiVectorDim() != 12 {
					t.Error("want vectors of 12 of tokens alone")
				}
			})
		}
		if kind, err := KindOf("testdata/" + folder); kind != KindEmbedder || err != nil {
			t.Errorf("kind %v, %v", kind, err)
		}
	}
}

func TestMaxSim(t *testing.T) {
	a := [][]float32{{1, 0}, {0, 1}}
	for _, c := range []struct {
		query, document [][]float32
		want            float32
	}{{a, a, 2}, {a, [][]float32{{-1, -2}}, -3}, {a, nil, 0}, {nil, a, 0}, {[][]float32{{2, 1}}, [][]float32{{0, 1}, {1, 1}}, 3}} {
		if got := MaxSim(c.query, c.document); got != c.want {
			t.Errorf("MaxSim(%v, %v) = %v, want %v", c.query, c.document, got, c.want)
		}
	}
}

// TestUnited puts the vectors of a long text's parts together.
func TestUnited(t *testing.T) {
	a, b := SparseVector{{Index: 1, Value: 2}, {Index: 5, Value: 1}}, SparseVector{{Index: 0, Value: 3}, {Index: 5, Value: 4}}
	if got, want := fmt.Sprint(united([][]float32{flat(a), flat(b)})), "[{0 3} {1 2} {5 4}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := a.Dot(b); got != 4 {
		t.Errorf("inner product %v, want 4", got)
	}
}

// TestEmbedTokens takes the mean of the tokens' vectors, which is what the folder's pooling is.
func TestEmbedTokens(t *testing.T) {
	e, err := OpenEmbedder("testdata/embed", Options{})
	if err != nil {
		t.Fatal(err)
	}
	inputs := Texts("hello world", "the cat reads", "Paris.")
	want, wanted, err := counted(e.Embed(t.Context(), inputs, EmbedOptions{Scale: ScaleRaw}))
	if err != nil {
		t.Fatal(err)
	}
	got, counts, err := counted(e.EmbedTokens(t.Context(), inputs, EmbedOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	for i, tokens := range got {
		if len(tokens) != wanted.Tokens[i] || counts.Tokens[i] != wanted.Tokens[i] {
			t.Fatalf("text %d has %d tokens, want %d", i, len(tokens), wanted.Tokens[i])
		}
		for j := range want[i] {
			sum := float32(0)
			for _, v := range tokens {
				sum += v[j]
			}
			if d := sum/float32(len(tokens)) - want[i][j]; !(d > -1e-4 && d < 1e-4) {
				t.Fatalf("text %d: the mean of element %d is %g off", i, j, d)
			}
		}
	}
	if _, err := e.EmbedTokens(t.Context(), inputs, EmbedOptions{Prompt: "none"}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("a prompt that the folder lacks: %v", err)
	}
	split, err := OpenEmbedder("testdata/embed", Options{MaxLength: 4, Long: LongSplit})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := split.EmbedTokens(t.Context(), inputs, EmbedOptions{}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("several windows: %v", err)
	}
}

// TestEmbedChunks compares the vectors of chunks with means of the hidden states that
// sentence-transformers gives.
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

// TestLateRefusals opens folders for late interaction whose files ask for what is not computed
// here: a default prompt or cuts at the beginning beside PyLate's prefixes, which are tokens, and
// padding at the beginning, whose places tokens would take.
func TestLateRefusals(t *testing.T) {
	fixed := `"query_expansion": {"strategy": "fixed", "length": 24}`
	whole := `{"model_type": "ColBERT", "query_prefix": "[PAD] ", "document_prefix": "[D] ", "default_prompt_name": `
	for _, c := range []struct {
		folder string
		files  map[string]string
		field  string // "": it opens
	}{
		{"embed-late", map[string]string{"config_sentence_transformers.json": whole + `"query"}`}, "default_prompt_name"},
		{"embed-late", map[string]string{"config_sentence_transformers.json": whole + `"document"}`}, ""},
		{"embed-late", map[string]string{"tokenizer_config.json": `{"truncation_side": "left"}`}, "truncation_side"},
		{"embed-late-new", map[string]string{"tokenizer_config.json": `{"truncation_side": "left"}`}, ""},
		{"embed-late-new", map[string]string{"sentence_bert_config.json": `{` + fixed + `, "tokenizer_args": {"padding_side": "left"}}`}, "padding_side"},
		{"embed-late-new", map[string]string{"sentence_bert_config.json": `{` + fixed + `}`, "tokenizer_config.json": `{"padding_side": "left"}`}, "padding_side"},
		{"embed-late-new", map[string]string{"sentence_bert_config.json": `{` + fixed + `, "processor_kwargs": {"padding_side": "right"}}`, "tokenizer_config.json": `{"padding_side": "left"}`}, ""},
		{"embed-late-new", map[string]string{"tokenizer_config.json": `{"padding_side": "left"}`}, ""}, // it has the strategy min
	} {
		_, err := OpenEmbedder(".", Options{FS: overlay(c.folder, c.files), Model: models.Options{Warn: func(string) {}}})
		if (err == nil) != (c.field == "") || err != nil && (!strings.Contains(err.Error(), c.field) || !errors.Is(err, fault.ErrConfig) && !errors.Is(err, fault.ErrFolder)) {
			t.Errorf("%s with %v: error %v, want one about %q", c.folder, c.files, err, c.field)
		}
	}
}
