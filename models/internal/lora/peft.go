package lora

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/weightfile"
	"github.com/avoformer/avoformer/transformer"
)

// Adapters in folders as Python's peft writes them. Every field of adapter_config.json is read, has
// the value that changes nothing, or is an error; one that peft does not know is a warning. Source: the documentation and the
// behaviour of peft 0.21.

const (
	PEFTConfig = "adapter_config.json"
	peftPrefix = "base_model.model."
)

// peftIdle are fields that change nothing here: what training does; settings of what is refused; and fan_in_fan_out, which says how the model stores its weights, as the
// architecture knows.
var peftIdle = []string{
	"auto_mapping", "peft_version", "revision", "inference_mode", "lora_dropout", "fan_in_fan_out", "megatron_core", "runtime_config",
	"loftq_config", "eva_config", "corda_config", "lora_ga_config", "qalora_group_size",
}

// peftFields is what is read.
type peftFields struct {
	Type       string               `json:"peft_type"`
	Task       string               `json:"task_type"`
	Base       string               `json:"base_model_name_or_path"`
	Rank       int                  `json:"r"`
	Alpha      float64              `json:"lora_alpha" min:"0"`
	Stabilized bool                 `json:"use_rslora"` // Kalajdzievski, 2023, "A Rank Stabilization Scaling Factor"
	Target     moduleNames          `json:"target_modules"`
	Exclude    moduleNames          `json:"exclude_modules"`
	Layers     pyjson.OneOr[int]    `json:"layers_to_transform"`
	Pattern    pyjson.OneOr[string] `json:"layers_pattern"`
	Saved      []string             `json:"modules_to_save"` // whose tensors are whole: they are replaced
	Ranks      patterns             `json:"rank_pattern"`
	Alphas     patterns             `json:"alpha_pattern"`
	Init       any                  `json:"init_lora_weights"`
	Biases     string               `json:"bias"`      // which ones were trained: they are replaced
	Magnitudes bool                 `json:"use_dora"`  // Liu et al., 2024, "DoRA: Weight-Decomposed Low-Rank Adaptation"
	Added      bool                 `json:"lora_bias"` // to biases
	Tokens     tokenIndices         `json:"trainable_token_indices"`
	Tie        bool                 `json:"ensure_weight_tying"` // a projection that is tied to a table has what the table has
}

func openPEFT(fsys fs.FS, b Base) (*adapter, error) {
	doc, err := configuration.ReadJSON(fsys, PEFTConfig)
	if err != nil {
		return nil, err
	}
	f := peftFields{Rank: 8, Alpha: 8, Init: true, Biases: "none"}
	a := &adapter{replaced: map[string]replacement{}}
	modules, err := f.read(doc, &a.warnings)
	if err != nil {
		return nil, err
	}
	const weights = "adapter_model"
	name := weights + ".safetensors"
	if !configuration.Exists(fsys, name) {
		name = weights + ".bin"
	}
	file, err := weightfile.OpenFile(fsys, name)
	if err != nil {
		return nil, err
	}
	a.tensors, a.close = file, file.Close
	if !b.isNamed(f.Base) && f.Base != "" {
		a.warnings = append(a.warnings, fmt.Sprintf("%s: base_model_name_or_path = %q, and the model is in %s", PEFTConfig, f.Base, b.Path))
	}
	if err := a.readPEFT(&f, modules, b); err != nil {
		return a, check.InFile(name, check.ErrFormat, err)
	}
	return a, nil
}

// read reads the configuration, and gives what it says of modules.
func (f *peftFields) read(doc configuration.Document, warnings *[]string) (*moduleRules, error) {
	doc = doc.Tracked()
	if err := cmp.Or(doc.Decode(f), doc.NoneNull("r", "lora_alpha", "bias")); err != nil {
		return nil, err
	}
	if f.Type != "LORA" {
		return nil, doc.Errorf("peft_type", `want "LORA"`)
	}
	tasks := []string{"", "SEQ_CLS", "SEQ_2_SEQ_LM", "CAUSAL_LM", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION"}
	if !slices.Contains(tasks, f.Task) {
		return nil, doc.Errorf("task_type", "want one of %s", strings.Join(tasks[1:], ", "))
	}
	switch f.Init { // true for trained matrices, whatever they began with; others changed the model too
	case true, false, "gaussian", "eva", "orthogonal", nil:
	default:
		return nil, doc.Errorf("init_lora_weights", "such an adapter belongs to a changed model: not supported; peft's save_pretrained with path_initial_model_for_weight_conversion makes a usual one of it")
	}
	if !slices.Contains([]string{"none", "all", "lora_only"}, f.Biases) {
		return nil, doc.Errorf("bias", "want one of none, all, lora_only")
	}
	if f.Added && f.Magnitudes {
		return nil, doc.Errorf("lora_bias", "not supported beside use_dora")
	}
	idle := peftIdle
	for _, name := range []string{"layer_replication", "target_parameters"} { // of which peft asks whether they are empty
		if doc.Empty(name) {
			idle = append(idle[:len(idle):len(idle)], name)
		}
	}
	if err := doc.SettleBy("LoraConfig", warnings, idle...); err != nil {
		return nil, err
	}
	return f.rules(doc)
}

// readPEFT notes what the file adds to which weight, and what it replaces.
func (a *adapter) readPEFT(f *peftFields, modules *moduleRules, b Base) error {
	p := &peftFile{adapter: a, fields: f, modules: modules, base: b, found: b.Names()}
	for _, name := range a.tensors.Names() {
		if err := p.note(name); err != nil {
			return err
		}
	}
	for i := range a.factors {
		if f := &a.factors[i]; modules.magnitudes && f.right.name != "" && f.magnitude == "" {
			return check.Errorf(transformer.ErrMissing, "the magnitudes of %s", f.left.name)
		}
	}
	if len(f.Tokens) > 0 && len(a.rows) == 0 {
		return check.Errorf(transformer.ErrMissing, "what trainable_token_indices of %s is for", PEFTConfig)
	}
	a.warnings = append(a.warnings, modules.without(a, b)...)
	return nil
}

// baseNames are the tensors of a model, which transformers may have with or without the name of
// the model's body in front: "bert.", "model.".
type baseNames []string

// find is the tensor that a module of transformers calls name, "" if there is none.
func (n baseNames) find(name string) (string, error) {
	if slices.Contains(n, name) {
		return name, nil
	}
	var all []string
	_, rest, _ := strings.Cut(name, ".")
	for _, have := range n {
		if _, body, ok := strings.Cut(have, "."); ok && body == name || have == rest {
			all = append(all, have)
		}
	}
	switch len(all) {
	case 0:
		return "", nil
	case 1:
		return all[0], nil
	}
	return "", check.Errorf(transformer.ErrLeftOver, "it may be for %s", strings.Join(all, " or "))
}
