package serve

import (
	"math"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text"
)

// TestHuggingFaceVectors asks an embedder at the bare address, as one model alone is served.
func TestHuggingFaceVectors(t *testing.T) {
	e := opened[*text.Embedder](t, "embed")
	h := started(t, Options{}, "embed")
	texts := []string{"hello world", "the cat reads", "Paris."}
	for _, c := range []struct {
		name string
		body object
		o    text.EmbedOptions
	}{
		{"plain", object{}, text.EmbedOptions{Scale: text.ScaleUnit}},
		{"beside", object{"normalize": false, "dimensions": 7}, text.EmbedOptions{Scale: text.ScaleRaw, Dim: 7}},
		{"inside", object{"parameters": object{"prompt_name": "query"}, "options": object{"wait_for_model": true}}, text.EmbedOptions{Scale: text.ScaleUnit, Prompt: "query"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, err := outputs(e.Embed(t.Context(), text.Texts(texts...), c.o))
			if err != nil {
				t.Fatal(err)
			}
			c.body["inputs"] = texts
			got := posted[[][]float32](t, h.URL+"/", c.body)
			c.body["inputs"] = texts[0]
			got = append(got, posted[[][]float32](t, h.URL, c.body)...)
			for i, v := range append(want, want[0]) {
				if len(got) != 4 || !near(got[i], v) {
					t.Errorf("vector %d of %d is another", i, len(got))
				}
			}
		})
	}
	unit, err := outputs(e.Embed(t.Context(), text.Texts(texts...), text.EmbedOptions{Scale: text.ScaleUnit}))
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
	got := posted[[]float32](t, h.URL, object{"inputs": object{"source_sentence": texts[0], "sentences": texts[1:]}, "parameters": object{}})
	if !near(got, cosines) {
		t.Errorf("cosines %v, want %v", got, cosines)
	}
}

// TestHuggingFaceLabels asks one of two models, by the address, for labels with each function.
func TestHuggingFaceLabels(t *testing.T) {
	for _, folder := range []string{"classify", "classify-multi"} {
		p := opened[*text.Classifier](t, folder)
		h := started(t, Options{}, "embed", folder)
		inputs := text.Texts("hello world", "the cat reads")
		plain, err := outputs(p.Classify(t.Context(), inputs, text.ClassifyOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		logits, err := outputs(p.Classify(t.Context(), inputs, text.ClassifyOptions{Raw: true}))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			function any
			want     [][]text.Label
			score    func(all []text.Label, x float64) float64
		}{
			{nil, plain, func(_ []text.Label, x float64) float64 { return x }},
			{"none", logits, func(_ []text.Label, x float64) float64 { return x }},
			{"sigmoid", logits, func(_ []text.Label, x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
			{"softmax", logits, func(all []text.Label, x float64) float64 {
				sum := 0.0
				for _, l := range all {
					sum += math.Exp(float64(l.Score))
				}
				return math.Exp(x) / sum
			}},
		} {
			got := posted[[][]text.Label](t, h.URL+"/models/alias-"+folder, object{"inputs": []string{"hello world", "the cat reads"}, "parameters": object{"function_to_apply": c.function}})
			for i, labels := range c.want {
				for j, l := range labels {
					if g := got[i]; len(g) != len(labels) || g[j].Label != l.Label || !near([]float32{g[j].Score}, []float32{float32(c.score(labels, float64(l.Score)))}) {
						t.Errorf("%s, %v: %v, of %v", folder, c.function, g, labels)
					}
				}
			}
		}
		got := posted[[][]text.Label](t, h.URL, object{"model": folder, "inputs": "hello world", "parameters": object{"top_k": 1}})
		if len(got) != 1 || len(got[0]) != 1 || got[0][0].Label != plain[0][0].Label {
			t.Errorf("%s: %v, want the first of %v", folder, got, plain[0])
		}
	}
}

func TestHuggingFaceEntities(t *testing.T) {
	p := opened[*text.TokenClassifier](t, "tokens")
	h := started(t, Options{}, "tokens")
	texts := []string{"Où est la bibliothèque ? 東京は日本の首都です。 😀", "Yes."}
	type entity struct {
		Group      string `json:"entity_group"`
		Word       string
		Score      float32
		Start, End int
	}
	for name, how := range map[string]text.Aggregation{"": text.AggregateSimple, "first": text.AggregateFirst, "average": text.AggregateAverage, "max": text.AggregateMax} {
		want, err := outputs(p.Entities(t.Context(), texts, text.EntityOptions{Aggregation: how}))
		if err != nil {
			t.Fatal(err)
		}
		parameters := object{}
		if name != "" {
			parameters["aggregation_strategy"] = name
		}
		got := posted[[][]entity](t, h.URL, object{"inputs": texts, "parameters": parameters})
		parameters["ignore_labels"] = []string{"O", want[0][0].Label}
		left := posted[[]entity](t, h.URL, object{"inputs": texts[0], "parameters": parameters})
		n := 0
		for i := range texts {
			if len(got[i]) != len(want[i]) {
				t.Fatalf("%q: %d entities, want %d", name, len(got[i]), len(want[i]))
			}
			runes := []rune(texts[i])
			for j, w := range want[i] {
				g := got[i][j]
				if g.Group != w.Label || g.Start != w.StartChar || g.End != w.EndChar || g.Word != string(runes[g.Start:g.End]) || !near([]float32{g.Score}, []float32{w.Score}) {
					t.Errorf("%q: %+v, want %+v", name, g, w)
				}
				if i == 0 && w.Label != want[0][0].Label {
					n++
				}
			}
		}
		if len(left) != n {
			t.Errorf("%q: %d entities without one label, want %d", name, len(left), n)
		}
	}
}

func TestHuggingFaceTexts(t *testing.T) {
	tr, g := opened[*text.Translator](t, "translate"), opened[*text.Generator](t, "generate")
	h := started(t, Options{}, "translate", "generate")
	type answer struct {
		Translation string `json:"translation_text"`
		Summary     string `json:"summary_text"`
		Generated   string `json:"generated_text"`
	}
	texts := []string{"The quick brown", "Yes."}
	of, err := tr.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fields object
		change func(o *text.TranslateOptions)
	}{
		{object{}, func(*text.TranslateOptions) {}},
		{object{"max_new_tokens": 5, "num_beams": 3}, func(o *text.TranslateOptions) { o.MaxTokens, o.Beams = 5, 3 }},
		{object{"max_new_tokens": 9, "repetition_penalty": 1.6, "no_repeat_ngram_size": 0}, func(o *text.TranslateOptions) { o.MaxTokens, o.RepetitionPenalty, o.NoRepeatNgram = 9, 1.6, -1 }},
		{object{"max_new_tokens": 9, "top_k": 40, "seed": 3}, func(o *text.TranslateOptions) { o.MaxTokens, o.TopK, o.Seed, o.Temperature, o.Beams = 9, 40, 3, 1, 0 }},
	} {
		o := of
		c.change(&o)
		want, err := outputs(tr.Translate(t.Context(), texts, o))
		if err != nil {
			t.Fatal(err)
		}
		got := posted[[]answer](t, h.URL+"/models/translate", object{"inputs": texts, "parameters": object{"generate_parameters": c.fields}})
		if len(got) != 2 || got[0] != (answer{want[0].Text, want[0].Text, ""}) || got[1].Translation != want[1].Text {
			t.Errorf("%v: %q, want %q", c.fields, got, []string{want[0].Text, want[1].Text})
		}
	}
	base, err := g.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fields object
		change func(o *text.GenerateOptions)
	}{
		{object{"max_new_tokens": 7, "do_sample": false}, func(o *text.GenerateOptions) { o.MaxTokens, o.Temperature = 7, 0 }},
		{object{"max_new_tokens": 7, "do_sample": true, "temperature": 0.7, "seed": 4}, func(o *text.GenerateOptions) { o.MaxTokens, o.Temperature, o.Seed = 7, 0.7, 4 }},
	} {
		o := base
		c.change(&o)
		var want []string
		for _, s := range texts {
			out, err := text.Collect(g.Generate(t.Context(), s, o))
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, out.Text)
		}
		got := posted[[][]answer](t, h.URL+"/models/generate", object{"inputs": texts, "parameters": c.fields})
		if len(got) != 2 || got[0][0].Generated != want[0] || got[1][0].Generated != want[1] {
			t.Errorf("%v: %q, want %q", c.fields, got, want)
		}
		c.fields["return_full_text"] = true
		c.fields["stop"] = want[0][2:]
		one := posted[[]answer](t, h.URL+"/models/generate", object{"inputs": texts[0], "parameters": c.fields, "stream": false})
		if before, _, _ := strings.Cut(want[0], want[0][2:]); len(one) != 1 || one[0].Generated != texts[0]+before {
			t.Errorf("%v: %q, want %q after the prompt", c.fields, one, before)
		}
	}
}

func TestHuggingFaceErrors(t *testing.T) {
	h := started(t, Options{MaxBatch: 2}, "embed", "classify", "tokens", "translate", "generate", "rerank", "image")
	const some = `{"inputs":"a","parameters":`
	for _, c := range []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"which", "/", `{"inputs":"a"}`, 422, "several models"},
		{"unknown", "/models/x", `{"inputs":"a"}`, 422, "no model"},
		{"two", "/models/embed", `{"inputs":"a","model":"classify"}`, 422, "the address has"},
		{"method", "/v1/models/embed", `{}`, 405, "not possible"},
		{"no body", "/", ``, 422, "no body"},
		{"no inputs", "/models/embed", `{}`, 400, "no texts"},
		{"an object", "/models/classify", `{"inputs":{"a":1}}`, 422, "want a string"},
		{"ids", "/models/classify", `{"inputs":[1,2]}`, 422, "list of strings"},
		{"stream", "/models/generate", `{"inputs":["a","b"],"stream":true}`, 422, "stream is for one"},
		{"stream of labels", "/models/classify", `{"inputs":"a","stream":true}`, 422, "stream"},
		{"field", "/models/classify", `{"inputs":"a","normalize":true}`, 422, "normalize"},
		{"parameter", "/models/classify", some + `{"x":1}}`, 422, `\"x\"`},
		{"twice", "/models/embed", `{"inputs":"a","normalize":true,"parameters":{"dimensions":3}}`, 422, "want one of them"},
		{"parameter of vectors", "/models/embed", some + `{"top_k":3}}`, 422, "top_k"},
		{"similarity", "/models/embed", `{"inputs":{"source_sentence":"a","sentences":[]}}`, 400, "empty"},
		{"top_k", "/models/classify", some + `{"top_k":0}}`, 422, "top_k"},
		{"function", "/models/classify", some + `{"function_to_apply":"x"}}`, 422, "softmax, sigmoid or none"},
		{"none", "/models/tokens", some + `{"aggregation_strategy":"none"}}`, 422, "not supported"},
		{"strategy", "/models/tokens", some + `{"aggregation_strategy":"x"}}`, 422, "simple, first"},
		{"labels", "/models/tokens", some + `{"ignore_labels":[]}}`, 422, "ignore_labels"},
		{"stride", "/models/tokens", some + `{"stride":3}}`, 422, "stride"},
		{"source", "/models/translate", some + `{"src_lang":"en","tgt_lang":"fr"}}`, 422, "src_lang"},
		{"language", "/models/translate", some + `{"tgt_lang":"no such"}}`, 422, "no such"},
		{"beams", "/models/translate", some + `{"generate_parameters":{"num_beams":0}}}`, 422, "num_beams"},
		{"beams at random", "/models/translate", some + `{"generate_parameters":{"num_beams":2,"top_k":4}}}`, 422, "num_beams"},
		{"tokens", "/models/generate", some + `{"max_new_tokens":0}}`, 422, "max_new_tokens"},
		{"top_p", "/models/generate", some + `{"top_p":1.5}}`, 422, "top_p"},
		{"greedy", "/models/generate", some + `{"do_sample":false,"temperature":2}}`, 422, "contradict"},
		{"seed", "/models/generate", some + `{"seed":0}}`, 422, "seed"},
		{"details", "/models/generate", some + `{"decoder_input_details":true}}`, 422, "decoder_input_details"},
		{"empty", "/models/generate", `{"inputs":[]}`, 400, "no texts"},
		{"many", "/models/generate", `{"inputs":["a","b","c"]}`, 413, "at most 2"},
		{"reranker", "/models/rerank", `{"inputs":"a"}`, 424, "ask /rerank"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, answer, _ := ask(t, "POST", h.URL+c.path, c.body)
			if status != c.status || !strings.Contains(answer, c.want) || !strings.Contains(answer, `"error"`) {
				t.Errorf("status %d, want %d with %q: %s", status, c.status, c.want, answer)
			}
		})
	}
}

// TestGeneratedStream: the stream of tokens of text-generation-inference has the text that comes at
// once, and details.
func TestGeneratedStream(t *testing.T) {
	h := started(t, Options{}, "generate")
	for _, fields := range []object{{"max_new_tokens": 12}, {"max_new_tokens": 12, "stop": []string{"mo"}}, {"max_new_tokens": 40, "return_full_text": true, "temperature": 0.5, "seed": 3}, {"max_new_tokens": 9, "grammar": object{"type": "regex", "value": "a{3}"}}} {
		type token struct {
			ID      int
			Text    string
			LogProb *float32
			Special *bool
		}
		type details struct {
			Finish string  `json:"finish_reason"`
			Tokens int     `json:"generated_tokens"`
			Input  int     `json:"input_length"`
			List   []token `json:"tokens"`
		}
		fields["details"] = true
		whole := posted[[]struct {
			Text    string `json:"generated_text"`
			Details details
		}](t, h.URL+"/", object{"inputs": "hello", "parameters": fields})[0]
		status, answer, header := ask(t, "POST", h.URL+"/models/generate", encoded(t, object{"inputs": "hello", "stream": true, "parameters": fields}))
		if status != 200 || header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%v: %d %s", fields, status, answer)
		}
		said := ""
		if fields["return_full_text"] == true {
			said = "hello"
		}
		var last struct {
			Index   int
			Token   token
			Text    *string `json:"generated_text"`
			Details *details
		}
		n := 0
		for line := range strings.SplitSeq(answer, "\n\n") {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			if last.Text != nil {
				t.Fatalf("%v: an event after the last", fields)
			}
			last.Text, last.Details = nil, nil
			last = decode[struct {
				Index   int
				Token   token
				Text    *string `json:"generated_text"`
				Details *details
			}](t, data)
			said += last.Token.Text
			if n++; last.Index != n || last.Token.LogProb == nil || last.Token.Special == nil {
				t.Errorf("%v: event %d: %s", fields, n, data)
			}
			if n <= len(whole.Details.List) && last.Token.ID != whole.Details.List[n-1].ID {
				t.Errorf("%v: token %d is %d, want %d", fields, n, last.Token.ID, whole.Details.List[n-1].ID)
			}
		}
		if last.Text == nil || *last.Text != whole.Text || said != whole.Text || last.Details.Finish != whole.Details.Finish || last.Details.Tokens != whole.Details.Tokens || last.Details.Input == 0 {
			t.Errorf("%v: the stream says %q, ends with %+v; the whole text is %+v", fields, said, last, whole)
		}
	}
}
