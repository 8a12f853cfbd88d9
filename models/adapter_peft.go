package models

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/transformer"
)

// Adapters in folders as Python's peft writes them. Every field of adapter_config.json is read, has
// the value that changes nothing, or is an error. Source: the documentation and the behaviour of the
// release peftVersion.

const (
	peftVersion = "0.21.2"
	peftConfig  = "adapter_config.json"
	peftPrefix  = "base_model.model."
)

// peftRefused are fields of peft's LoraConfig that change what is computed unless they have their
// default, which is here.
var peftRefused = map[string]string{
	"bias": `"none"`, "use_dora": "false", "lora_bias": "false", "use_qalora": "false", "ensure_weight_tying": "false",
	"megatron_config": "null", "trainable_token_indices": "null", "velora_config": "null", "alora_invocation_tokens": "null", "monteclora_config": "null",
	"layer_replication": "null", "target_parameters": "null", "use_bdlora": "null", "arrow_config": "null", "kasa_config": "null",
}

// peftIdle are fields that change nothing here: what training does; settings of what peftRefused or
// initialization forbid; and fan_in_fan_out, which says how the model stores its weights, as the
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
}

func openPEFT(fsys fs.FS, b base) (*adapter, error) {
	doc, err := readJSON(fsys, peftConfig)
	if err != nil {
		return nil, err
	}
	f := peftFields{Rank: 8, Alpha: 8, Init: true}
	modules, err := f.read(doc)
	if err != nil {
		return nil, err
	}
	const weights = "adapter_model"
	name := weights + ".safetensors"
	if !exists(fsys, name) {
		name = weights + ".bin"
	}
	file := &files{name: name, of: map[string]transformer.Reader{}}
	if err := file.add(fsys, name); err != nil {
		file.Close()
		return nil, check.InFile(name, ErrFormat, err)
	}
	file.names = slices.Sorted(maps.Keys(file.of))
	a := &adapter{tensors: file, close: file.Close, replaced: map[string]string{}}
	if !b.isNamed(f.Base) && f.Base != "" {
		a.warnings = append(a.warnings, fmt.Sprintf("%s: base_model_name_or_path = %q, and the model is in %s", peftConfig, f.Base, b.path))
	}
	if err := a.readPEFT(&f, modules, b); err != nil {
		return a, check.InFile(name, ErrFormat, err)
	}
	return a, nil
}

// read reads the configuration, and gives what it says of modules.
func (f *peftFields) read(doc Document) (*moduleRules, error) {
	doc, err := doc.accounted(nil, new(ledger))
	if err != nil {
		return nil, err
	}
	doc.account.read = map[string]bool{} // none but those below
	if err := doc.Decode(f); err != nil {
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
	for _, name := range slices.Sorted(maps.Keys(doc.fields)) {
		initial, known := peftRefused[name]
		switch {
		case doc.account.read[name] || slices.Contains(peftIdle, name) || known && doc.silent(name, initial):
		case known:
			return nil, doc.Errorf(name, "not supported")
		default:
			var value any
			if err := pyjson.Unmarshal(doc.fields[name], &value); err != nil || !empty(value) {
				return nil, doc.Errorf(name, "unknown to peft %s, and not supported", peftVersion)
			}
		}
	}
	return f.rules(doc)
}

// readPEFT notes what the file adds to which weight, and what it replaces.
func (a *adapter) readPEFT(f *peftFields, modules *moduleRules, b base) error {
	found := baseNames(b.Names())
	for _, name := range a.tensors.Names() {
		rest, ok := strings.CutPrefix(name, peftPrefix)
		if !ok {
			return check.Errorf(transformer.ErrLeftOver, "%s does not begin with %s", name, peftPrefix)
		}
		var err error
		switch {
		case !strings.Contains(rest, "lora_"):
			err = a.replace(name, strings.Replace(rest, ".base_layer.", ".", 1), found)
		case cutsAny(rest, ".lora_A.weight", ".lora_B.weight") != "":
			err = a.pair(f, modules, b, found, cutsAny(rest, ".lora_A.weight", ".lora_B.weight"), name, false)
		case cutsAny(rest, ".lora_embedding_A", ".lora_embedding_B") != "":
			err = a.pair(f, modules, b, found, cutsAny(rest, ".lora_embedding_A", ".lora_embedding_B"), name, true)
		default:
			err = check.Errorf(transformer.ErrLeftOver, "%s: not supported", name)
		}
		if err != nil {
			return err
		}
	}
	a.warnings = append(a.warnings, modules.without(a, b)...)
	return nil
}

// cutsAny is name without the one of the ends that it has, "" if it has none.
func cutsAny(name string, ends ...string) string {
	for _, end := range ends {
		if rest, ok := strings.CutSuffix(name, end); ok {
			return rest
		}
	}
	return ""
}

// replace notes that a tensor takes the place of one of the model, which may lack it.
func (a *adapter) replace(name, of string, found baseNames) error {
	in, err := found.find(of)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if in == "" {
		in = of
	}
	if other := a.replaced[in]; other != "" {
		return check.Errorf(transformer.ErrLeftOver, "%s and %s are both for %s", other, name, in)
	}
	a.replaced[in] = name
	return nil
}

// embeddings are the modules that transformers calls with indices, and whose weight nothing else reads.
var embeddings = []string{"embed_tokens", "wte", "wpe", "word_embeddings", "tok_embeddings", "position_embeddings", "token_type_embeddings"}

// pair notes what the two tensors of a module, one of which has this name, add to its weight.
func (a *adapter) pair(f *peftFields, modules *moduleRules, b base, found baseNames, module, name string, embedding bool) error {
	first, second := peftPrefix+module+".lora_A.weight", peftPrefix+module+".lora_B.weight"
	if embedding {
		first, second = peftPrefix+module+".lora_embedding_A", peftPrefix+module+".lora_embedding_B"
	}
	if _, ok := a.tensors.Shape(first); ok && name == second {
		return nil // is noted with the first
	}
	own := lastPart(module)
	if slices.Contains(embeddings, own) != embedding || own == "shared" {
		return check.Errorf(transformer.ErrLeftOver, "%s: not supported for a module of this name", name)
	}
	if err := modules.chooses(module); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	weight, err := found.find(module + ".weight")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	stem := strings.TrimSuffix(weight, own+".weight")
	if weight == "" || own == "out_proj" && slices.Contains(b.Names(), stem+"in_proj_weight") { // peft leaves the latter without effect
		return check.Errorf(transformer.ErrLeftOver, "%s: the model has no weight %s.weight of its own", name, module)
	}
	add := factors{left: factor{name: second}, right: factor{name: first}, weight: weight}
	if embedding {
		add.left, add.right = factor{first, true}, factor{second, true}
	}
	if add.rank, err = a.matrices(add, b); err != nil {
		return err
	}
	rank, alpha := modules.ranks.of(module, float64(f.Rank)), modules.alphas.of(module, f.Alpha)
	if float64(add.rank) != rank {
		return check.Errorf(transformer.ErrMisshapen, "%s is of rank %d, and %s says %g", first, add.rank, peftConfig, rank)
	}
	if add.scale = alpha / rank; f.Stabilized {
		add.scale = alpha / math.Sqrt(rank)
	}
	a.factors = append(a.factors, add)
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
