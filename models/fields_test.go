package models

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// Fields that decide the same are in conflict here: which one holds is what transformers does, as
// `make compare WHAT=models` finds it.

// fields are those of a config.json, changed; "-" takes a field away.
type fields map[string]string

// changed is what the model of a folder computes once fields of its config.json are changed.
func changed(t *testing.T, folder string, change fields) []float32 {
	t.Helper()
	dir := filepath.Join("testdata/folders", folder)
	var config map[string]json.RawMessage
	tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join(dir, "config.json")))(t), &config))
	for name, value := range change {
		if config[name] = json.RawMessage(value); value == "-" {
			delete(config, name)
		}
	}
	m, err := OpenFS(fstest.MapFS{
		"config.json":       {Data: tftest.Must(json.Marshal(config))(t)},
		"model.safetensors": {Data: tftest.Must(os.ReadFile(filepath.Join(dir, "model.safetensors")))(t)},
	}, Options{})
	if err != nil {
		t.Fatalf("%s with %v: %v", folder, change, err)
	}
	return results(t, m)
}

// results is what the parts of a model compute for some input.
func results(t *testing.T, m *Model) (all []float32) {
	t.Helper()
	ws := new(Workspace)
	ids, batch := make([]int, 23), transformer.Ragged(14, 9)
	for i := range ids {
		ids[i] = 5 + 7*i%60
	}
	var memory *Memory
	if e := m.Encoder; e != nil {
		x := make([]float32, len(ids)*e.Dim())
		tftest.NoError(t, e.Encode(ws, x, Tokens{IDs: ids, Batch: batch}))
		all, memory = append(all, x...), &Memory{X: x, Batch: batch}
	}
	if a := m.Audio; a != nil {
		frames := 0
		for a.Rows(frames) < 6 {
			frames++
		}
		features := make([]float32, 2*a.Features()*frames)
		for i := range features {
			features[i] = float32(i%11) / 11
		}
		rows := a.Rows(frames)
		x := make([]float32, 2*rows*a.Dim())
		tftest.NoError(t, a.EncodeAudio(ws, x, features, 2, frames))
		all, memory = append(all, x...), &Memory{X: x, Batch: transformer.Uniform(2, rows)}
	}
	if m.LM != nil {
		x := make([]float32, len(ids)*m.LM.Dim())
		tftest.NoError(t, m.LM.Hidden(ws, x, ids, batch, memory, nil))
		all = append(all, x...)
	}
	if m.Image != nil {
		h, w := m.Image.Size()
		pixels := make([]float32, m.Image.Channels()*h*w)
		for i := range pixels {
			pixels[i] = float32(i%13) / 13
		}
		x := make([]float32, tftest.Must(m.Image.Rows(h, w))(t)*m.Image.Dim())
		tftest.NoError(t, m.Image.EncodeImages(ws, x, pixels, 1, h, w))
		all = append(all, x...)
	}
	return all
}

// TestAliases gives fields by their other names: alone, and beside another value under their own
// name, which they go before.
func TestAliases(t *testing.T) {
	found := map[string]bool{}
	for _, folder := range []string{
		"gpt2", "distilbert", "bart", "mbart", "marian", "m2m_100", "whisper", "moonshine", "t5", "mt5", "mixtral", "qwen3_moe", "gpt_oss", "gemma3", "mistral3", "granitemoehybrid", "nemotron_h", "deepseek_v3", "qwen3_5_vision", "qwen3_5_moe_vision",
	} {
		var config map[string]json.RawMessage
		tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join("testdata/folders", folder, "config.json")))(t), &config))
		want, kind := changed(t, folder, nil), strings.Trim(string(config["model_type"]), `"`)
		found[kind] = true
		aliases := pyclass.Config(kind).Aliases
		if kind == "nemotron_h" {
			aliases = maps.Clone(aliases)
			maps.Copy(aliases, nemotronAliases)
		}
		for alias, name := range aliases {
			value := string(config[name])
			if value == "" {
				continue
			}
			if got := changed(t, folder, fields{name: "-", alias: value}); !slices.Equal(got, want) {
				t.Errorf("%s: %s in place of %s computes something else", folder, alias, name)
			}
			other := "1" + value
			switch value[0] {
			case '[':
				other = "[]"
			case '"':
				other = `"another"`
			case 't', 'f':
				other = strconv.FormatBool(value == "false")
			}
			if got := changed(t, folder, fields{name: other, alias: value}); !slices.Equal(got, want) {
				t.Errorf("%s: %s = %s goes before %s = %s", folder, name, other, alias, value)
			}
		}
	}
	for _, kind := range pyclass.ConfigTypes() {
		if len(pyclass.Config(kind).Aliases) > 0 && !found[kind] {
			t.Errorf("no folder for the aliases of %s", kind)
		}
	}
}

// TestConflicts compares configurations in which two fields say different things.
func TestConflicts(t *testing.T) {
	const (
		yarn   = `{"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}`
		linear = `{"rope_type": "linear", "factor": 2.0}`
		theta  = `{"rope_type": "default", "rope_theta": 500.0}`
		slower = `{"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 500.0}}`
	)
	inside := func(original string) string {
		return `{"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": ` + original + `}`
	}
	for _, c := range []struct {
		name, folder string
		change, as   fields
	}{
		{"rope_scaling hides rope_parameters", "llama", fields{"rope_scaling": yarn, "rope_parameters": linear}, fields{"rope_scaling": yarn}},
		{"rope_scaling hides the theta of rope_parameters", "llama", fields{"rope_scaling": linear, "rope_parameters": theta}, fields{"rope_scaling": linear}},
		{"an empty rope_scaling hides nothing", "llama", fields{"rope_scaling": `{}`, "rope_parameters": linear}, fields{"rope_scaling": linear}},
		{"a theta in rope_parameters goes before rope_theta", "llama", fields{"rope_theta": "77.0", "rope_parameters": theta}, fields{"rope_theta": "500.0"}},
		{"the original length outside goes before that inside", "llama-tied-rope3", fields{"original_max_position_embeddings": "24"}, fields{"rope_scaling": inside("24")}},
		{"rope_parameters without kinds of layers", "gemma3_text", fields{"rope_scaling": "-", "rope_parameters": linear}, fields{"rope_scaling": "-"}},
		{"a kind of layers without rope_theta", "gemma3_text-new",
			fields{"rope_parameters": `{"full_attention": {"rope_type": "linear", "factor": 8.0}, "sliding_attention": {"rope_type": "default"}}`}, nil},
		{"rope_scaling hides rope_parameters by kinds of layers", "gemma4_text", fields{"rope_scaling": slower}, fields{"rope_parameters": slower}},
		{"an empty rope_scaling hides no kinds of layers", "gemma4_text", fields{"rope_scaling": `{}`}, nil},
		{"rope_theta for a kind of layers without", "gemma3_text-new",
			fields{"rope_theta": "77.0", "rope_parameters": `{"full_attention": {"rope_type": "linear", "factor": 8.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}`},
			fields{"rope_parameters": `{"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 77.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}`}},
		{"the gelu of the first Gemma is the approximation", "gemma", fields{"hidden_act": `"gelu"`, "hidden_activation": "-"}, nil},
		{"dense_act_fn goes before feed_forward_proj", "t5", fields{"feed_forward_proj": `"relu"`, "dense_act_fn": `"gelu"`}, fields{"feed_forward_proj": `"gelu"`, "dense_act_fn": "-"}},
		{"scale_decoder_outputs that is null", "t5", fields{"scale_decoder_outputs": "null"}, fields{"scale_decoder_outputs": "false"}},
		{"is_gated_act goes before feed_forward_proj", "t5-gated", fields{"feed_forward_proj": `"relu"`}, nil},
		{"empty rope_parameters of GPT-OSS are not absent", "gpt_oss", fields{"rope_scaling": "-", "rope_parameters": `{}`}, fields{"rope_scaling": "-", "rope_parameters": `{"rope_type": "default", "rope_theta": 150000.0}`}},
		{"an older name goes before the field's own", "nemotron_h-bias", fields{"mamba_dt_min": "0.9"}, fields{"time_step_min": "0.9"}},
	} {
		if !slices.Equal(changed(t, c.folder, c.change), changed(t, c.folder, c.as)) {
			t.Errorf("%s: %s with %v and with %v compute different things", c.name, c.folder, c.change, c.as)
		}
	}
	// What the configurations above have in common is an effect.
	for folder, change := range map[string]fields{
		"llama": {"rope_scaling": yarn}, "llama-tied-rope3": {"original_max_position_embeddings": "24"}, "gemma3_text": {"rope_scaling": "-"}, "t5": {"dense_act_fn": `"gelu"`},
		"nemotron_h-bias": {"mamba_dt_min": "0.9"}, "gpt_oss": {"rope_scaling": "-", "rope_parameters": `{}`}, "gemma4_text": {"rope_scaling": slower},
	} {
		if slices.Equal(changed(t, folder, change), changed(t, folder, nil)) {
			t.Errorf("%s: %v has no effect", folder, slices.Sorted(maps.Keys(change)))
		}
	}
}

// moreWeights are weights, and some of the test's own.
type moreWeights struct {
	transformer.Weights
	more map[string][]float32
}

func (w moreWeights) Names() []string {
	names := append(slices.Collect(maps.Keys(w.more)), w.Weights.Names()...)
	slices.Sort(names)
	return slices.Compact(names)
}

func (w moreWeights) Tensor(name string, shape ...int) ([]float32, error) {
	if x, ok := w.more[name]; ok {
		return slices.Clone(x), nil
	}
	return w.Weights.Tensor(name, shape...)
}

// TestTables gives encoder-decoders tables of embeddings for each side beside the shared one. They
// count where they differ from it, whatever tie_word_embeddings says.
func TestTables(t *testing.T) {
	for _, folder := range []string{"bart", "mbart", "m2m_100", "marian", "t5"} {
		file := tftest.Must(safetensors.Open(filepath.Join("testdata/folders", folder, "model.safetensors")))(t)
		defer file.Close()
		weights := transformer.FromSafetensors(file)
		at := slices.IndexFunc(weights.Names(), func(name string) bool { return strings.HasSuffix(name, "shared.weight") })
		shared := weights.Names()[at]
		prefix := strings.TrimSuffix(shared, "shared.weight")
		table := tftest.Must(file.Float32(shared))(t)
		compute := func(tied string, factor float32) []float32 {
			t.Helper()
			config := tftest.Must(os.ReadFile(filepath.Join("testdata/folders", folder, "config.json")))(t)
			config = append(config[:strings.LastIndexByte(string(config), '}')], `, "tie_word_embeddings": `+tied+"}"...)
			scaled := slices.Clone(table)
			for i := range scaled {
				scaled[i] *= factor
			}
			more := map[string][]float32{prefix + "encoder.embed_tokens.weight": scaled, prefix + "decoder.embed_tokens.weight": scaled}
			if tied == "false" {
				more["lm_head.weight"] = table
			}
			return results(t, tftest.Must(New(config, moreWeights{weights, more}, Options{}))(t))
		}
		want := changed(t, folder, nil)
		for _, c := range []struct {
			tied   string
			factor float32
			same   bool
		}{{"true", 1, true}, {"true", 2, false}, {"false", 1, true}, {"false", 2, false}} {
			if same := slices.Equal(compute(c.tied, c.factor), want); same != c.same {
				t.Errorf("%s: tie_word_embeddings = %s, tables of %g times the shared one: as that one %v, want %v", folder, c.tied, c.factor, same, c.same)
			}
		}
	}
}

// TestBothWays has decoders without a language model whose tokens see those after them: the first
// token of a text no longer sees itself alone.
func TestBothWays(t *testing.T) {
	for _, folder := range []string{"mistral-embed", "llama-classify", "gpt2-classify", "qwen2-tokens"} {
		causal, both := changed(t, folder, fields{"is_causal": "true"}), changed(t, folder, fields{"is_causal": "false"})
		if slices.Equal(causal[:8], both[:8]) {
			t.Errorf("%s: the first token's hidden state is the same with is_causal = false", folder)
		}
		for _, none := range []string{"null", "0"} {
			if !slices.Equal(both, changed(t, folder, fields{"is_causal": none})) {
				t.Errorf("%s: is_causal = %s is not false", folder, none)
			}
		}
	}
}

// TestEncoderAsDecoder has encoders that their configuration calls decoders: the first token of a
// text no longer sees those after it.
func TestEncoderAsDecoder(t *testing.T) {
	for _, folder := range []string{"bert", "roberta", "electra"} {
		both, causal := changed(t, folder, fields{"is_decoder": "false"}), changed(t, folder, fields{"is_decoder": "true"})
		if slices.Equal(causal[:8], both[:8]) {
			t.Errorf("%s: the first token's hidden state is the same with is_decoder = true", folder)
		}
	}
}

// TestActivations has a model with each activation that configurations name: none passes for
// another.
func TestActivations(t *testing.T) {
	for field, folders := range map[string][]string{"hidden_act": {"bert", "gte", "llama", "mpnet"}, "hidden_activation": {"modernbert"}, "dense_act_fn": {"t5"}} {
		for _, folder := range folders {
			computed := map[string][]float32{}
			for _, name := range []string{"relu", "gelu", "gelu_new", "silu", "quick_gelu", "tanh", "relu2"} {
				got := changed(t, folder, fields{field: strconv.Quote(name)})
				for other, have := range computed {
					if slices.Equal(got, have) {
						t.Errorf("%s: %s = %s computes what %s does", folder, field, name, other)
					}
				}
				computed[name] = got
			}
		}
	}
	for name, want := range map[string]float32{"tanh": 0.9640276, "relu2": 4} {
		a, err := configuration.Document{}.Activation("hidden_act", name)
		x := []float32{2, -2, 0}
		block.Activate(a)(1, x)
		low := map[string]float32{"tanh": -want}[name]
		if err != nil || math.Abs(float64(x[0]-want)) > 1e-6 || math.Abs(float64(x[1]-low)) > 1e-6 || x[2] != 0 {
			t.Errorf("%s of 2, -2 and 0 is %v, want %v, %v and 0: %v", name, x, want, low, err)
		}
	}
}

// TestProportional has positions of rope_type proportional, which are linear ones with a factor
// that may be absent.
func TestProportional(t *testing.T) {
	linear := func(kind, factor string) []float32 {
		return changed(t, "llama", fields{"rope_parameters": `{"rope_theta": 100, "rope_type": "` + kind + `"` + factor + `}`})
	}
	if want := linear("linear", `, "factor": 2`); !slices.Equal(linear("proportional", `, "factor": 2`), want) {
		t.Error("proportional and linear positions differ")
	}
	if want := linear("default", ""); !slices.Equal(linear("proportional", ""), want) || slices.Equal(linear("proportional", `, "factor": 2`), want) {
		t.Error("proportional positions have a factor of 1 where none is said")
	}
}

// TestTruncateOfKinds has truncate in the positions for a kind of layers, where transformers 5.24
// does not look for it.
func TestTruncateOfKinds(t *testing.T) {
	positions := func(truncate string) fields {
		return fields{"rope_parameters": "-", "rope_theta": "123", "rope_scaling": `{"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 16` + truncate + `}`}
	}
	if !slices.Equal(changed(t, "gemma3_text-both", positions(`, "truncate": false`)), changed(t, "gemma3_text-both", positions(""))) {
		t.Error("gemma3_text-both: truncate changes what is computed")
	}
	d := tftest.Must(configuration.Parse("config.json", []byte(`{"rope_scaling": `+positions(`, "truncate": false`)["rope_scaling"]+`}`)))(t)
	whole := tftest.Must(configuration.Parse("config.json", []byte(`{"rope_scaling": `+positions("")["rope_scaling"]+`}`)))(t)
	if slices.Equal(tftest.Must(d.Rotary(configuration.Rope(123), 16, 256))(t).Frequencies, tftest.Must(whole.Rotary(configuration.Rope(123), 16, 256))(t).Frequencies) {
		t.Error("truncate changes nothing in the positions of all layers")
	}
}

// TestThetaOfGPTNeoX has the base of the frequencies in rotary_emb_base; rope_theta does not count,
// as in transformers.
func TestThetaOfGPTNeoX(t *testing.T) {
	t.Parallel()
	hidden := func(theta string) ([]float32, []string) {
		m := tftest.Must(New([]byte(`{"model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"], "vocab_size": 11, "hidden_size": 16, "num_hidden_layers": 1,
			"num_attention_heads": 2, "intermediate_size": 16, "rotary_pct": 0.5, "rotary_emb_base": 100`+theta+`}`), transformer.Random(1), Options{}))(t)
		x := make([]float32, 5*16)
		tftest.NoError(t, m.LM.Hidden(new(Workspace), x, []int{1, 2, 3, 4, 5}, transformer.Uniform(1, 5), nil, nil))
		return x, m.Warnings
	}
	want, none := hidden("")
	got, warnings := hidden(`, "rope_theta": 50`)
	if !slices.Equal(got, want) || len(none) != 0 || len(warnings) != 1 || !strings.Contains(warnings[0], "rope_theta = 50") {
		t.Errorf("other positions by rope_theta, or warnings %q and %q, want one of rope_theta", none, warnings)
	}
}

// TestNull: null is not the same as absence where transformers' class takes it: a factor for scores
// that is null is that of the width of heads, as of its scaled_dot_product_attention, and what is
// not there is false.
func TestNull(t *testing.T) {
	for _, c := range []struct{ folder, field, same string }{
		{"granitemoe", "attention_multiplier", "0.35355339059327373"}, // 1/√8
		{"granitemoehybrid-attention", "attention_multiplier", "0.35355339059327373"},
		{"bamba", "mamba_conv_bias", "false"},
		{"granitemoehybrid", "mamba_conv_bias", "false"},
		{"falcon_h1", "mamba_conv_bias", "false"},
		{"falcon_h1-gate", "mamba_norm_before_gate", "false"},
	} {
		t.Run(c.folder+"/"+c.field, func(t *testing.T) {
			computed := func(value string) []float32 {
				var config map[string]json.RawMessage
				tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join("testdata/folders", c.folder, "config.json")))(t), &config))
				if config[c.field] = json.RawMessage(value); value == "" {
					delete(config, c.field)
				}
				return results(t, tftest.Must(New(tftest.Must(json.Marshal(config))(t), tftest.Strong{Weights: transformer.Random(3)}, Options{}))(t))
			}
			null := computed("null")
			if !slices.Equal(null, computed(c.same)) {
				t.Errorf("%s = null does not compute what %s does", c.field, c.same)
			}
			if slices.Equal(null, computed("")) {
				t.Errorf("%s = null computes what its absence does", c.field)
			}
		})
	}
}
