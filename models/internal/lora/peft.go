package lora

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/weightfile"
)

// Adapters in folders as Python's peft writes them. Every field of adapter_config.json is read, has
// the value that changes nothing, or is an error; one that peft does not know is a warning. Source:
// the documentation and the behaviour of peft 0.21.

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
		return a, check.InFile(name, fault.ErrFormat, err)
	}
	return a, nil
}

// readPEFT records what the file adds to each weight, and which tensors it replaces.
func (a *adapter) readPEFT(f *peftFields, modules *moduleRules, b Base) error {
	p := &peftFile{adapter: a, fields: f, modules: modules, base: b, found: b.Names()}
	for _, name := range a.tensors.Names() {
		if err := p.note(name); err != nil {
			return err
		}
	}
	for i := range a.factors {
		if f := &a.factors[i]; modules.magnitudes && f.right.name != "" && f.magnitude == "" {
			return check.Errorf(fault.ErrMissing, "the magnitudes of %s", f.left.name)
		}
	}
	if len(f.Tokens) > 0 && len(a.rows) == 0 {
		return check.Errorf(fault.ErrMissing, "what trainable_token_indices of %s is for", PEFTConfig)
	}
	a.warnings = append(a.warnings, modules.without(a, b)...)
	return nil
}

// baseNames are the tensors of a model, which transformers may have with or without the name of the
// model's body in front: "bert.", "model.".
type baseNames []string

// find returns the tensor that a module of transformers calls name, "" if there is no such tensor.
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
	return "", check.Errorf(fault.ErrLeftOver, "it may be for %s", strings.Join(all, " or "))
}
