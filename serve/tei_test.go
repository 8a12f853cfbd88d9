package serve

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// opened returns the pipeline of a folder of the test data.
func opened[P any](t testing.TB, folder string) P {
	t.Helper()
	kind, err := text.KindOf(testdata + folder)
	if err != nil {
		t.Fatal(err)
	}
	p, err := text.OpenKind(kind, testdata+folder, text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p.(P)
}

// posted returns the answer to a request. The status must be 200.
func posted[T any](t testing.TB, url string, body any) T {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	status, answer, _ := ask(t, "POST", url, string(data))
	if status != 200 {
		t.Fatalf("%s: %d %s", url, status, answer)
	}
	return decode[T](t, answer)
}

type object = map[string]any

func TestTEIVectors(t *testing.T) {
	e := opened[*text.Embedder](t, "embed")
	h := started(t, Options{}, "rerank", "embed", "classify")
	texts := []string{"hello world", strings.Repeat("the cat reads ", 30), "Paris."}
	inputs := text.Texts(texts...)
	left := text.InputOptions{Long: text.LongTruncate, TruncateLeft: true}
	for _, c := range []struct {
		name   string
		fields object
		o      text.EmbedOptions
	}{
		{"plain", object{}, text.EmbedOptions{Scale: text.ScaleUnit}},
		{"model", object{"model": "alias-embed"}, text.EmbedOptions{Scale: text.ScaleUnit}},
		{"raw", object{"normalize": false}, text.EmbedOptions{Scale: text.ScaleRaw}},
		{"dimensions", object{"dimensions": 7}, text.EmbedOptions{Scale: text.ScaleUnit, Dim: 7}},
		{"left", object{"truncate": true, "truncation_direction": "left"}, text.EmbedOptions{Scale: text.ScaleUnit, InputOptions: left}},
		{"prompt", object{"prompt_name": "query"}, text.EmbedOptions{Scale: text.ScaleUnit, Prompt: "query"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, err := outputs(e.Embed(t.Context(), inputs, c.o))
			if err != nil {
				t.Fatal(err)
			}
			c.fields["inputs"] = texts
			for i, v := range posted[[][]float32](t, h.URL+"/embed", c.fields) {
				if !near(v, want[i]) {
					t.Errorf("vector %d is another", i)
				}
			}
		})
	}
	tokens, err := outputs(e.EmbedTokens(t.Context(), inputs[:1], text.EmbedOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	got := posted[[][][]float32](t, h.URL+"/embed_all", object{"inputs": texts[0]})
	if len(got) != 1 || len(got[0]) != len(tokens[0]) {
		t.Fatalf("/embed_all: %d texts", len(got))
	}
	for i, v := range got[0] {
		if !near(v, tokens[0][i]) {
			t.Errorf("/embed_all: vector %d is another", i)
		}
	}
	sparse := opened[*text.Embedder](t, "embed-sparse")
	vectors, err := outputs(sparse.EmbedSparse(t.Context(), inputs, text.EmbedOptions{Prompt: "query"}))
	if err != nil {
		t.Fatal(err)
	}
	hs := started(t, Options{}, "embed-sparse")
	weights := posted[[][]struct {
		Index *int
		Value *float32
	}](t, hs.URL+"/embed_sparse", object{"inputs": texts, "prompt_name": "query"})
	for i, v := range weights {
		if len(v) != len(vectors[i]) || len(v) == 0 {
			t.Fatalf("/embed_sparse: %d elements of text %d, want %d", len(v), i, len(vectors[i]))
		}
		for j, w := range v {
			if *w.Index != vectors[i][j].Index || !near([]float32{*w.Value}, []float32{vectors[i][j].Value}) {
				t.Errorf("/embed_sparse: element %d of text %d is another", j, i)
			}
		}
	}
	if status, answer, _ := ask(t, "POST", hs.URL+"/embed", `{"inputs":"a"}`); status != 422 {
		t.Errorf("/embed of a model with sparse vectors alone: %d %s, want 422", status, answer)
	}
	unit, err := outputs(e.Embed(t.Context(), inputs, text.EmbedOptions{Scale: text.ScaleUnit}))
	if err != nil {
		t.Fatal(err)
	}
	var cosines []float32
	for _, v := range unit[1:] {
		sum := float32(0)
		for i, x := range v {
			sum += x * unit[0][i]
		}
		cosines = append(cosines, sum)
	}
	similar := posted[[]float32](t, h.URL+"/similarity", object{"inputs": object{"source_sentence": texts[0], "sentences": texts[1:]}})
	if !near(similar, cosines) {
		t.Errorf("/similarity: %v, want %v", similar, cosines)
	}
}

func TestTEILabels(t *testing.T) {
	p := opened[*text.Classifier](t, "classify")
	h := started(t, Options{}, "rerank", "embed", "classify")
	a, b := text.Input{Text: "hello world"}, text.Input{Text: "the cat", Second: "reads", Pair: true}
	for _, raw := range []bool{false, true} {
		want, err := outputs(p.Classify(t.Context(), []text.Input{a, b}, text.ClassifyOptions{Raw: raw}))
		if err != nil {
			t.Fatal(err)
		}
		same := func(got, want []text.Label) {
			t.Helper()
			for i := range want {
				if len(got) != len(want) || got[i].Label != want[i].Label || !near([]float32{got[i].Score}, []float32{want[i].Score}) {
					t.Fatalf("got %v, want %v", got, want)
				}
			}
		}
		url := h.URL + "/predict"
		same(posted[[]text.Label](t, url, object{"inputs": a.Text, "raw_scores": raw}), want[0])
		same(posted[[]text.Label](t, url, object{"inputs": []string{a.Text}, "raw_scores": raw}), want[0])
		same(posted[[]text.Label](t, url, object{"inputs": []string{b.Text, b.Second}, "raw_scores": raw}), want[1])
		batch := posted[[][]text.Label](t, url, object{"inputs": [][]string{{a.Text}, {b.Text, b.Second}}, "raw_scores": raw})
		same(batch[0], want[0])
		same(batch[1], want[1])
	}
}

type ranks []struct {
	Index int
	Text  *string
	Score float32
}

type cohereRanks struct {
	Results []struct {
		Index    int
		Score    float32 `json:"relevance_score"`
		Document map[string]string
	}
	Meta struct {
		Tokens struct {
			Input int `json:"input_tokens"`
		}
	}
	Usage struct {
		Total int `json:"total_tokens"`
	}
}

func TestRanking(t *testing.T) {
	p := opened[*text.Reranker](t, "rerank")
	h := started(t, Options{}, "rerank")
	query, texts := "capital of France", []string{"hello world", "Paris.", "the cat reads"}
	for _, raw := range []bool{false, true} {
		scores, err := outputs(p.Score(t.Context(), query, texts, text.RerankOptions{Raw: raw}))
		if err != nil {
			t.Fatal(err)
		}
		got := posted[ranks](t, h.URL+"/rerank", object{"query": query, "texts": texts, "raw_scores": raw, "return_text": raw, "truncate": true})
		if len(got) != 3 {
			t.Fatal(got)
		}
		for i, r := range got {
			if i > 0 && r.Score > got[i-1].Score || !near([]float32{r.Score}, []float32{scores[r.Index]}) || (r.Text != nil) != raw || raw && *r.Text != texts[r.Index] {
				t.Errorf("rank %d: %+v, want %v", i, r, scores)
			}
		}
	}
	if got := posted[ranks](t, h.URL+"/rerank", object{"query": query, "texts": texts, "top_n": 2}); len(got) != 2 { // as LiteLLM asks
		t.Errorf("the best 2 of 3 texts: %+v", got)
	}
	scores, counts, err := counted(p.Score(t.Context(), query, texts, text.RerankOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	documents := []any{texts[0], object{"text": texts[1], "title": "x"}, texts[2]}
	for _, path := range []string{"/v1/rerank", "/v2/rerank", "/rerank"} {
		got := posted[cohereRanks](t, h.URL+path, object{"model": "rerank", "query": query, "documents": documents, "top_n": 2, "return_documents": true})
		if len(got.Results) != 2 || got.Usage.Total != counts.Sum() || got.Meta.Tokens.Input != counts.Sum() {
			t.Errorf("%s: %+v, want 2 results and %d tokens", path, got, counts.Sum())
		}
		for _, r := range got.Results {
			if !near([]float32{r.Score}, []float32{scores[r.Index]}) || r.Document["text"] != texts[r.Index] || (r.Document["title"] != "") != (r.Index == 1) {
				t.Errorf("%s: %+v, want %v", path, r, scores)
			}
		}
	}
}

func TestTEITokens(t *testing.T) {
	p := opened[*text.Embedder](t, "embed")
	h := started(t, Options{}, "embed")
	for _, special := range []bool{true, false} {
		e, err := p.Tokenizer().Encode("hello wörld", tokenizer.Options{NoSpecial: !special})
		if err != nil {
			t.Fatal(err)
		}
		type token struct {
			ID          int
			Text        string
			Special     bool
			Start, Stop *int
		}
		got := posted[[][]token](t, h.URL+"/tokenize", object{"inputs": "hello wörld", "add_special_tokens": special})[0]
		var ids []int
		for i, k := range got {
			ids = append(ids, k.ID)
			if k.Special != e.Special[i] || k.Special != (k.Start == nil) || !k.Special && k.Text != "hello wörld"[*k.Start:*k.Stop] {
				t.Errorf("token %d: %+v", i, k)
			}
		}
		if !reflect.DeepEqual(ids, e.IDs) {
			t.Errorf("ids %v, want %v", ids, e.IDs)
		}
		decoded := posted[[]string](t, h.URL+"/decode", object{"ids": ids, "skip_special_tokens": !special})
		if want := p.Tokenizer().Decode(ids, !special); len(decoded) != 1 || decoded[0] != want {
			t.Errorf("decoded %q, want %q", decoded, want)
		}
	}
}

func TestTEIErrors(t *testing.T) {
	h := started(t, Options{MaxBatch: 2}, "embed")
	for _, c := range []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"sparse", "/embed_sparse", `{"inputs":"a"}`, 424, `"Backend"`},
		{"no classifier", "/predict", `{"inputs":"a"}`, 424, `"Backend"`},
		{"no reranker", "/rerank", `{"query":"a","texts":["b"]}`, 424, `"Backend"`},
		{"no query", "/rerank", `{"texts":["b"]}`, 422, `query`},
		{"both", "/rerank", `{"query":"a","texts":["b"],"documents":["b"]}`, 422, `one of them`},
		{"a triple", "/predict", `{"inputs":["a","b","c"]}`, 422, `pair`},
		{"no sentences", "/similarity", `{"inputs":{"source_sentence":"a","sentences":[]}}`, 400, `"Empty"`},
		{"no texts", "/tokenize", `{"inputs":[]}`, 400, `"Empty"`},
		{"ids", "/tokenize", `{"inputs":[1]}`, 422, `list of strings`},
		{"many", "/tokenize", `{"inputs":["a","b","c"]}`, 413, `at most 2`},
		{"no ids", "/decode", `{"ids":[]}`, 400, `"Empty"`},
		{"texts", "/decode", `{"ids":["a"]}`, 422, `token ids`},
		{"a foreign token", "/decode", `{"ids":[100000000]}`, 422, `no token`},
		{"a negative token", "/decode", `{"ids":[[-1]]}`, 422, `no token`},
		{"a document", "/v1/rerank", `{"query":"a","documents":[7]}`, 400, `"message"`},
		{"top_n", "/v1/rerank", `{"query":"a","documents":["b"],"top_n":0}`, 400, `top_n`},
		{"rank_fields", "/v2/rerank", `{"query":"a","documents":["b"],"rank_fields":["title"]}`, 400, `rank_fields`},
		{"max_tokens_per_doc", "/v2/rerank", `{"query":"a","documents":["b"],"max_tokens_per_doc":3}`, 400, `max_tokens_per_doc`},
		{"no documents", "/rerank", `{"query":"a","documents":[]}`, 400, `"Empty"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, answer, _ := ask(t, "POST", h.URL+c.path, c.body)
			if status != c.status || !strings.Contains(answer, c.want) {
				t.Errorf("status %d, want %d with %q: %s", status, c.status, c.want, answer)
			}
		})
	}
}
