package lora

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// The fields of adapter_config.json.

// peftIdle are fields that change nothing here: what training does; settings of what is refused;
// and fan_in_fan_out, which says how the model stores its weights, as the architecture knows.
var peftIdle = []string{
	"auto_mapping", "peft_version", "revision", "inference_mode", "lora_dropout", "fan_in_fan_out", "megatron_core", "runtime_config",
	"loftq_config", "eva_config", "corda_config", "lora_ga_config", "qalora_group_size",
}

// peftFields are the fields that are read.
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

// read reads the configuration and returns its settings of modules.
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
		return nil, doc.Errorf("lora_bias", "not supported together with use_dora")
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

// rules is what the configuration says of modules.
func (f *peftFields) rules(doc configuration.Document) (*moduleRules, error) {
	r := &moduleRules{layers: f.Layers, ranks: f.Ranks, alphas: f.Alphas, listed: true, copied: f.Saved, whole: f.Target.Ends, magnitudes: f.Magnitudes}
	var err error
	switch {
	case strings.EqualFold(f.Target.Expression, "all-linear"):
		r.listed = false
		r.target = func(module string) bool { return !slices.Contains(outputs, lastPart(module)) }
	case f.Target.Expression == "" && f.Target.Ends == nil:
		return nil, doc.Errorf("target_modules", "want a list, an expression or all-linear")
	default:
		if r.target, err = f.Target.matcher(doc, "target_modules"); err != nil {
			return nil, err
		}
	}
	if r.exclude, err = f.Exclude.matcher(doc, "exclude_modules"); err != nil {
		return nil, err
	}
	if len(f.Layers) > 0 && f.Target.Ends == nil {
		return nil, doc.Errorf("layers_to_transform", "want target_modules to be a list as well")
	}
	if len(f.Pattern) > 0 && len(f.Layers) == 0 {
		return nil, doc.Errorf("layers_pattern", "want layers_to_transform as well")
	}
	for _, name := range f.Pattern {
		e, err := pythonExpression(`(?:|.*?\.)(?:`, name, `)\.(\d+)\..*`)
		if err != nil {
			return nil, doc.Errorf("layers_pattern", "%w", err)
		}
		r.layer = append(r.layer, e)
	}
	if len(f.Pattern) == 0 {
		r.layer = []*regexp.Regexp{regexp.MustCompile(`\A.*?\.[^.]*\.(\d+)\.`)}
	}
	for _, name := range f.Saved {
		e, err := pythonExpression(`(?:|.*\.)`, name, `(?:|\..*)`)
		if err != nil {
			return nil, doc.Errorf("modules_to_save", "%w", err)
		}
		r.saved = append(r.saved, e)
	}
	if err := r.ranks.compile(doc, "rank_pattern"); err != nil {
		return nil, err
	}
	return r, r.alphas.compile(doc, "alpha_pattern")
}

// tokenIndices are rows of tables, by the ends of the tables' names; "" stands for every table that
// the adapter has.
type tokenIndices map[string][]int

func (t *tokenIndices) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		var all []int
		err := pyjson.Unmarshal(text, &all)
		*t = tokenIndices{"": all}
		return err
	}
	*t = tokenIndices{}
	return pyjson.Members(text, func(key string, value json.RawMessage) error {
		var at []int
		if err := pyjson.Unmarshal(value, &at); err != nil {
			return fmt.Errorf("%.60q: %w", key, err)
		}
		(*t)[key] = at
		return nil
	})
}
