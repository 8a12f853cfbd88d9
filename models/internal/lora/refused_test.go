package lora_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// edited returns a copy of the project's adapter llama-linear, whose factors are of rank 3, after
// edits of its fields and tensors.
func edited(t *testing.T, edit func(fields map[string]any, tensors map[string]safetensors.Tensor)) string {
	t.Helper()
	from := filepath.Join(modelstest.Adapters, "llama-linear")
	fields := map[string]any{}
	tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join(from, "adapter_config.json")))(t), &fields))
	file := tftest.Must(safetensors.Open(filepath.Join(from, "adapter_model.safetensors")))(t)
	defer file.Close()
	tensors := map[string]safetensors.Tensor{}
	for _, name := range file.Names() {
		info, _ := file.Info(name)
		tensors[name] = safetensors.Tensor{Shape: info.Shape, Data: tftest.Must(file.Float32(name))(t)}
	}
	edit(fields, tensors)
	var b bytes.Buffer
	tftest.NoError(t, safetensors.Write(&b, tensors, nil))
	return written(t, tftest.Must(json.Marshal(fields))(t), b.Bytes())
}

// written returns a folder with an adapter's two files.
func written(t *testing.T, config, weights []byte) string {
	dir := t.TempDir()
	tftest.NoError(t, os.WriteFile(filepath.Join(dir, "adapter_config.json"), config, 0o600))
	tftest.NoError(t, os.WriteFile(filepath.Join(dir, "adapter_model.safetensors"), weights, 0o600))
	return dir
}

func withAdapter(dir, model string) (*models.Model, error) {
	return models.Open(filepath.Join(modelstest.Own, model), models.Options{Adapters: []models.Adapter{{Path: dir}}})
}

const queryOf1 = "base_model.model.model.layers.1.self_attn.q_proj.lora_"

// TestAdapterFields sets fields of adapter_config.json to values that change nothing, and to values
// that are refused with an error that names the field.
func TestAdapterFields(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("takes long in emulators, and no tier reads configurations")
	}
	for field, values := range map[string]struct{ idle, refused []string }{
		"peft_type":               {nil, []string{`"LOHA"`, `"ADALORA"`, `null`, `3`}},
		"task_type":               {[]string{`null`, `"SEQ_CLS"`, `"FEATURE_EXTRACTION"`}, []string{`"OTHER"`, `1`}},
		"r":                       {nil, []string{`null`, `0`, `-3`, `"3"`, `3.5`, `99999999999`}},
		"lora_alpha":              {nil, []string{`null`, `-1`, `"a"`, `1e999`}},
		"use_rslora":              {nil, []string{`"yes"`}},
		"bias":                    {[]string{`"all"`, `"lora_only"`}, []string{`null`, `"some"`, `true`}},
		"use_dora":                {[]string{`null`}, []string{`1.5`}},
		"lora_bias":               {[]string{`true`}, []string{`"yes"`}},
		"use_qalora":              {nil, []string{`true`}},
		"modules_to_save":         {[]string{`[]`, `["score"]`}, []string{`"score"`, `["q_proj"]`, `["(?=x)"]`}},
		"layer_replication":       {nil, []string{`[[0, 2], [1, 2]]`}},
		"target_parameters":       {[]string{`[]`}, []string{`["experts.up"]`}},
		"trainable_token_indices": {[]string{`null`}, []string{`[1, 2]`, `{"embed_tokens": [1]}`, `3`, `["a"]`}},
		"alora_invocation_tokens": {nil, []string{`[5]`}},
		"megatron_config":         {nil, []string{`{"a": 1}`}},
		"velora_config":           {nil, []string{`{"scale": 1}`}},
		"monteclora_config":       {nil, []string{`{"a": 1}`}},
		"use_bdlora":              {nil, []string{`{"nblocks": 2}`}},
		"arrow_config":            {nil, []string{`{"top_k": 2}`}},
		"kasa_config":             {nil, []string{`{"a": 2}`}},
		"ensure_weight_tying":     {[]string{`true`}, []string{`"yes"`}},
		"init_lora_weights":       {[]string{`false`, `"gaussian"`, `"orthogonal"`, `"eva"`, `null`}, []string{`"pissa"`, `"pissa_niter_4"`, `"olora"`, `"corda"`, `"loftq"`, `"mica"`, `"lora_ga"`, `3`, `[1]`}},
		"fan_in_fan_out":          {[]string{`true`}, nil},
		"lora_dropout":            {[]string{`0.5`}, nil},
		"inference_mode":          {[]string{`false`}, nil},
		"revision":                {[]string{`"main"`}, nil},
		"auto_mapping":            {[]string{`{"base_model_class": "x"}`}, nil},
		"loftq_config":            {[]string{`{"loftq_bits": 4}`}, nil},
		"eva_config":              {[]string{`{"rho": 2}`}, nil},
		"target_modules":          {[]string{`"all-linear"`, `"All-Linear"`, `".*_proj"`}, []string{`null`, `[]`, `["k_proj"]`, `".*[qk]_proj"`, `3`, `""`, `"("`, `"a{,3}_proj"`, `".*\\pL_proj"`}},
		"exclude_modules":         {[]string{`[]`, `""`, `["_proj"]`, `"q_proj"`}, []string{`["self_attn.q_proj"]`, `".*q_proj"`, `["model.layers.0.mlp.up_proj"]`}},
		"layers_to_transform":     {[]string{`[]`, `[1, 0]`, `0`}, []string{`"a"`}}, // all modules are named whole
		"layers_pattern":          {nil, []string{`"layers"`}},
		"rank_pattern":            {[]string{`null`, `{"q_proj": 3}`, `{"proj": 7}`}, []string{`{"q_proj": 2}`, `{".*proj": 4}`, `{"(": 1}`, `{"q_proj": "3"}`, `{"q_proj": -1}`, `[1]`}},
		"alpha_pattern":           {[]string{`null`, `{"q_proj": 5}`}, []string{`{"q_proj": -5}`, `{"(?i)q": 1}`, `{"[[:alpha:]]": 1}`}},
	} {
		for kind, list := range [][]string{values.idle, values.refused} {
			for _, value := range list {
				dir := edited(t, func(fields map[string]any, _ map[string]safetensors.Tensor) { fields[field] = json.RawMessage(value) })
				m, err := withAdapter(dir, "llama")
				switch {
				case kind == 0 && err != nil:
					t.Errorf("%s = %s: error %v", field, value, err)
				case kind == 0 && len(m.Warnings) > 0:
					t.Errorf("%s = %s: warnings %q", field, value, m.Warnings)
				case kind == 1 && (err == nil || !strings.Contains(err.Error(), field) && !(field == "r" || field == "rank_pattern")):
					t.Errorf("%s = %s: error %v, want one that names the field", field, value, err)
				}
			}
		}
	}
}

// TestAdapterAccount has each field of peft's class read, without effect, or refused: those of the
// table that say something that no default does. A field that the class does not have is a warning.
func TestAdapterAccount(t *testing.T) {
	t.Parallel()
	open := func(field string, value any) (*models.Model, error) {
		return withAdapter(edited(t, func(fields map[string]any, _ map[string]safetensors.Tensor) { fields[field] = value }), "llama")
	}
	refused := strings.Fields(`alora_invocation_tokens arrow_config kasa_config layer_replication megatron_config monteclora_config target_parameters
		use_bdlora use_qalora velora_config`)
	for field := range pyclass.File("LoraConfig").Fields {
		_, err := open(field, map[string]any{"a": 1})
		var e *fault.Error
		if got := errors.As(err, &e) && e.Field == field && e.Err.Error() == "not supported"; got != slices.Contains(refused, field) {
			t.Errorf("%s: error %v; refused whatever it says: %t", field, err, !got)
		}
	}
	m, err := open("of_tomorrow", 1)
	tftest.NoError(t, err)
	if len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0], "adapter_config.json: of_tomorrow = 1: ignored, as by peft") {
		t.Errorf("an unknown field: warnings %q", m.Warnings)
	}
}

// TestAdapterTensors changes what the adapter's file has.
func TestAdapterTensors(t *testing.T) {
	type tensors = map[string]safetensors.Tensor
	of := func(shape ...int) safetensors.Tensor {
		n := 1
		for _, s := range shape {
			n *= s
		}
		return safetensors.Tensor{Shape: shape, Data: make([]float32, n)}
	}
	a, b := queryOf1+"A.weight", queryOf1+"B.weight"
	for name, c := range map[string]struct {
		edit  func(x tensors)
		want  error
		named string
	}{
		"no second":    {func(x tensors) { delete(x, b) }, fault.ErrMissing, b},
		"no first":     {func(x tensors) { delete(x, a) }, fault.ErrMissing, a},
		"other prefix": {func(x tensors) { x["model.x.lora_A.weight"] = x[a] }, fault.ErrLeftOver, "model.x.lora_A.weight"},
		"magnitude":    {func(x tensors) { x[queryOf1+"magnitude_vector"] = of(32) }, fault.ErrLeftOver, "magnitude_vector"},
		"bias":         {func(x tensors) { x[queryOf1+"B.bias"] = of(32) }, fault.ErrLeftOver, "B.bias"},
		"no such module": {func(x tensors) {
			x[strings.Replace(a, "s.1", "s.2", 1)], x[strings.Replace(b, "s.1", "s.2", 1)] = x[a], x[b]
		}, fault.ErrLeftOver, "layers.2"},
		"rank of one":      {func(x tensors) { x[a] = of(2, 32) }, fault.ErrMisshapen, "q_proj"},
		"rank of both":     {func(x tensors) { x[a], x[b] = of(2, 32), of(32, 2) }, fault.ErrMisshapen, "q_proj"},
		"input":            {func(x tensors) { x[a] = of(3, 31) }, fault.ErrMisshapen, "q_proj"},
		"output":           {func(x tensors) { x[b] = of(16, 3) }, fault.ErrMisshapen, "q_proj"},
		"vector":           {func(x tensors) { x[a] = of(96) }, fault.ErrMisshapen, "q_proj"},
		"empty":            {func(x tensors) { x[a], x[b] = of(0, 32), of(32, 0) }, fault.ErrMisshapen, "q_proj"},
		"convolution":      {func(x tensors) { x[a] = of(3, 32, 1, 1) }, fault.ErrMisshapen, "q_proj"},
		"not an embedding": {func(x tensors) { x[queryOf1+"embedding_A"], x[queryOf1+"embedding_B"] = of(3, 32), of(32, 3) }, fault.ErrLeftOver, "embedding_A"},
		"not asked for":    {func(x tensors) { x["base_model.model.score.weight"] = of(2, 32) }, fault.ErrLeftOver, "score.weight"},
		"replaced shape":   {func(x tensors) { x["base_model.model.model.norm.weight"] = of(31) }, fault.ErrMisshapen, "norm.weight"},
		"no module's name": {func(x tensors) {
			x[strings.Replace(a, "q_proj", "é.q_proj", 1)], x[strings.Replace(b, "q_proj", "é.q_proj", 1)] = x[a], x[b]
		}, fault.ErrLeftOver, "letters"},
	} {
		dir := edited(t, func(_ map[string]any, x tensors) { c.edit(x) })
		if _, err := withAdapter(dir, "llama"); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.named) {
			t.Errorf("%s: error %v, want %v of %s", name, err, c.want, c.named)
		}
	}
	const projection = "vision_model.head.attention.out_proj"
	unheard := edited(t, func(f map[string]any, x tensors) {
		clear(x)
		f["target_modules"] = []string{"out_proj"}
		x["base_model.model."+projection+".lora_A.weight"], x["base_model.model."+projection+".lora_B.weight"] = of(3, 32), of(32, 3)
	})
	if _, err := withAdapter(unheard, "siglip"); !errors.Is(err, fault.ErrLeftOver) || !strings.Contains(err.Error(), projection) {
		t.Errorf("a projection that peft leaves as it is: error %v", err)
	}
	part := edited(t, func(_ map[string]any, x tensors) { delete(x, a); delete(x, b) })
	if m, err := withAdapter(part, "llama"); err != nil || len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0], "model.layers.1.self_attn.q_proj.weight") {
		t.Errorf("an adapter without a module: error %v, want a warning", err)
	}
	none := edited(t, func(_ map[string]any, x tensors) {})
	if m, err := withAdapter(none, "llama-linear"); err != nil || len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0], "org/llama") {
		t.Errorf("another model of the same shape: error %v, want a warning", err)
	}
	if _, err := withAdapter(none, "llama-tied-rope3"); err != nil {
		t.Errorf("a tied head that the adapter leaves as it is: %v", err)
	}
	for model, want := range map[string]error{"gpt2": fault.ErrLeftOver, "llama-rope3-new": fault.ErrMisshapen} {
		if _, err := withAdapter(none, model); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", model, err, want)
		}
	}
}

// TestAdapterIsNoModel opens an adapter as a model.
func TestAdapterIsNoModel(t *testing.T) {
	if _, err := models.Open(filepath.Join(modelstest.Adapters, "llama-linear"), models.Options{}); !errors.Is(err, fault.ErrFolder) || !strings.Contains(err.Error(), "an adapter") {
		t.Errorf("error %v, want one that says what it is", err)
	}
}

// TestAdapterScale adds adapters up, and refuses scales that make no sense.
func TestAdapterScale(t *testing.T) {
	dir := filepath.Join(modelstest.Adapters, "llama-linear")
	logits := func(list ...models.Adapter) []float32 {
		m := tftest.Must(models.Open(filepath.Join(modelstest.Own, "llama"), models.Options{Adapters: list}))(t)
		y := make([]float32, 4*m.LM.Vocab())
		tftest.NoError(t, m.Logits(new(models.Workspace), y, []int{1, 5, 9, 3}, tf.Uniform(1, 4), nil, nil))
		return y
	}
	near := func(int, float64) float64 { return 1e-3 }
	once, zero := logits(models.Adapter{Path: dir}), logits()
	for name, c := range map[string]struct {
		list []models.Adapter
		want []float32
	}{
		"one":      {[]models.Adapter{{Path: dir, Scale: 1}}, once},
		"halves":   {[]models.Adapter{{Path: dir, Scale: 0.5}, {Path: dir, Scale: 0.5}}, once},
		"opposite": {[]models.Adapter{{Path: dir, Scale: 2}, {Path: dir, Scale: -2}}, zero},
	} {
		if text := tftest.Mismatch(logits(c.list...), c.want, near); text != "" {
			t.Errorf("%s: %s", name, text)
		}
	}
	if tftest.Mismatch(logits(models.Adapter{Path: dir, Scale: 0.5}), once, near) == "" {
		t.Error("half of the adapter gives what the whole does")
	}
	for name, list := range map[string][]models.Adapter{
		"infinite":       {{Path: dir, Scale: float32(math.Inf(1))}},
		"NaN":            {{Path: dir, Scale: float32(math.NaN())}},
		"replaced twice": {{Path: filepath.Join(modelstest.Adapters, "llama-vectors"), Scale: 1}, {Path: filepath.Join(modelstest.Adapters, "llama-vectors"), Scale: 1}},
		"replaced half":  {{Path: filepath.Join(modelstest.Adapters, "llama-vectors"), Scale: 0.5}},
		"replaces other": {{Path: filepath.Join(modelstest.Adapters, "llama-vectors"), Scale: 0}, {Path: edited(t, func(_ map[string]any, x map[string]safetensors.Tensor) {
			maps.DeleteFunc(x, func(n string, _ safetensors.Tensor) bool { return true })
		}), Scale: 1}, {Path: edited(t, func(f map[string]any, x map[string]safetensors.Tensor) {
			x["base_model.model.lm_head.lora_A.weight"], x["base_model.model.lm_head.lora_B.weight"] = safetensors.Tensor{Shape: []int{3, 32}, Data: make([]float32, 96)}, safetensors.Tensor{Shape: []int{101, 3}, Data: make([]float32, 303)}
			f["target_modules"] = ".*"
		}), Scale: 1}},
	} {
		if _, err := models.Open(filepath.Join(modelstest.Own, "llama"), models.Options{Adapters: list}); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%s: error %v, want ErrOption", name, err)
		}
	}
}

// TestHostileAdapter cuts and changes bytes of an adapter's files: there is an error, or a model.
func TestHostileAdapter(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("takes long in emulators, and no tier reads files")
	}
	from := filepath.Join(modelstest.Adapters, "bert-classify-saved")
	config := tftest.Must(os.ReadFile(filepath.Join(from, "adapter_config.json")))(t)
	weights := tftest.Must(os.ReadFile(filepath.Join(from, "adapter_model.safetensors")))(t)
	for i := 0; i < len(config); i += 29 {
		changed := bytes.Clone(config)
		changed[i] ^= 1 << (i % 7)
		withAdapter(written(t, changed, weights), "bert-classify")
		if _, err := withAdapter(written(t, config[:i], weights), "bert-classify"); err == nil {
			t.Errorf("a configuration of %d bytes is read", i)
		}
	}
	for i := 0; i < 1500; i += 37 {
		changed := bytes.Clone(weights)
		changed[i] ^= 1 << (i % 7)
		withAdapter(written(t, config, changed), "bert-classify")
		if _, err := withAdapter(written(t, config, weights[:i]), "bert-classify"); err == nil {
			t.Errorf("%d bytes of tensors are read", i)
		}
	}
	claims := []byte(`{"base_model.model.bert.pooler.dense.lora_A.weight":{"dtype":"F32","shape":[2,4000000000000],"data_offsets":[0,32000000000000]}}`)
	header := append([]byte{byte(len(claims)), 0, 0, 0, 0, 0, 0, 0}, claims...)
	if _, err := withAdapter(written(t, config, header), "bert-classify"); err == nil {
		t.Error("a tensor of 32 TB is read")
	}
}
