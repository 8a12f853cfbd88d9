package lora

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models/internal/weightfile"
)

// The tensors of an adapter as Python's peft names them, and what each does to which tensor of the
// model.

// peftFile is an adapter whose tensors are being noted.
type peftFile struct {
	*adapter
	fields  *peftFields
	modules *moduleRules
	base    Base
	found   baseNames
}

// The ends of the names of tensors that belong to a module, after the module's.
const (
	peftFirst, peftSecond           = ".lora_A.weight", ".lora_B.weight"
	peftFirstOfTable, peftOfTable   = ".lora_embedding_A", ".lora_embedding_B"
	peftAdded                       = ".lora_B.bias"
	peftMagnitude, peftOldMagnitude = ".lora_magnitude_vector", ".lora_magnitude_vector.weight"
	peftTokens                      = ".token_adapter.trainable_tokens_delta"
)

// note notes what a tensor does.
func (p *peftFile) note(name string) error {
	rest, ok := strings.CutPrefix(name, peftPrefix)
	if !ok {
		return check.Errorf(fault.ErrLeftOver, "%s does not begin with %s", name, peftPrefix)
	}
	for _, kind := range []struct {
		end  string
		note func(module, name string) error
	}{
		{peftFirst, p.pair}, {peftSecond, p.pair}, {peftFirstOfTable, p.pairOfTable}, {peftOfTable, p.pairOfTable},
		{peftAdded, p.addition}, {peftMagnitude, p.magnitudes}, {peftOldMagnitude, p.magnitudes}, {peftTokens, p.tokens},
	} {
		if module, ok := strings.CutSuffix(rest, kind.end); ok {
			return kind.note(module, name)
		}
	}
	if strings.Contains(rest, "lora_") || strings.Contains(rest, "token_adapter.") {
		return check.Errorf(fault.ErrLeftOver, "%s: not supported", name)
	}
	return p.replace(name, strings.Replace(rest, ".base_layer.", ".", 1))
}

// replace notes that a tensor takes the place of one of the model, which may lack it.
func (p *peftFile) replace(name, of string) error {
	in, err := p.found.find(of)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if in == "" {
		in = of
	}
	if other := p.replaced[in].name; other != "" {
		return check.Errorf(fault.ErrLeftOver, "%s and %s are both for %s", other, name, in)
	}
	copies := p.modules.copies(of)
	if p.fields.Tie && strings.HasSuffix(of, "shared.weight") && copies {
		return check.Errorf(fault.ErrLeftOver, "%s: ensure_weight_tying of a table that encoder and decoder share: not supported", name)
	}
	module := of[:max(strings.LastIndexByte(of, '.'), 0)]
	if !copies && p.adapts(module) && !strings.Contains(name, ".base_layer.") {
		return check.Errorf(fault.ErrLeftOver, "%s: target_modules of %s chooses this module, whose own tensors peft calls %s.base_layer: not supported", name, PEFTConfig, module)
	}
	saved, _ := p.fields.ties(p.modules)
	p.replaced[in] = replacement{name, copies && !saved}
	return nil
}

// adapts reports whether the file has factors for a module, or the configuration's list or
// expression chooses it.
func (p *peftFile) adapts(module string) bool {
	_, linear := p.tensors.Shape(peftPrefix + module + peftFirst)
	_, table := p.tensors.Shape(peftPrefix + module + peftFirstOfTable)
	return linear || table || p.modules.listed && p.modules.chooses(module) == nil
}

// ties reports whether ensure_weight_tying has a projection tied to copies of tables, and to what
// is added to them: peft asks whether modules_to_save, and else target_modules, name one of two
// modules.
func (f *peftFields) ties(modules *moduleRules) (saved, target bool) {
	names := []string{"embed_tokens", "lm_head"}
	named := func(module string) bool { return slices.Contains(names, lastPart(module)) }
	saved = slices.ContainsFunc(f.Saved, named)
	target = slices.ContainsFunc(f.Target.Ends, named) || f.Target.Expression != "" && modules.listed && slices.ContainsFunc(names, modules.target)
	return f.Tie && saved, f.Tie && target && !saved
}

// tiedTarget reports whether ensure_weight_tying ties what is added to a table and to a projection.
func (p *peftFile) tiedTarget() bool {
	_, target := p.fields.ties(p.modules)
	return target
}

// tiedName is the module that ensure_weight_tying ties to the table.
const tiedName = "lm_head"

// tiedProjection reports whether a module has factors because ensure_weight_tying ties it to the
// table: peft 0.21.2 saves them under both names, and leaves the projection out of target_modules.
func (p *peftFile) tiedProjection(module string) bool {
	return lastPart(module) == tiedName && p.tiedTarget() && p.modules.chooses(module) != nil
}

// hasTiedProjection reports whether the file has factors of such a module, which need not come from
// the table's.
func (p *peftFile) hasTiedProjection() bool {
	return slices.ContainsFunc(p.tensors.Names(), func(name string) bool {
		module, ok := strings.CutSuffix(strings.TrimPrefix(name, peftPrefix), peftFirst)
		return ok && p.tiedProjection(module)
	})
}

// sameAsTable returns an error unless the factors of a tied projection are those of the file's
// table: peft has them once.
func (p *peftFile) sameAsTable(first, second string) error {
	for _, name := range p.tensors.Names() {
		table, ok := strings.CutSuffix(name, peftFirstOfTable)
		if !ok || lastPart(table) != "embed_tokens" {
			continue
		}
		for _, pair := range [][2]string{{first, table + peftOfTable}, {second, table + peftFirstOfTable}} {
			shape, _ := p.tensors.Shape(pair[0])
			of, _ := p.tensors.Shape(pair[1])
			if len(shape) != 2 || len(of) != 2 || shape[0] != of[1] || shape[1] != of[0] {
				return check.Errorf(fault.ErrMisshapen, "%s has shape %v, and %s, to which it is tied, %v", pair[0], shape, pair[1], of)
			}
			x, err := p.tensors.Tensor(pair[0], shape...)
			if err != nil {
				return err
			}
			y, err := p.tensors.Tensor(pair[1], of...)
			if err != nil {
				return err
			}
			for i, v := range x {
				if row, column := i/shape[1], i%shape[1]; y[column*of[1]+row] != v {
					return check.Errorf(fault.ErrLeftOver, "%s differs from %s, to which ensure_weight_tying ties it", pair[0], pair[1])
				}
			}
		}
		return nil
	}
	return check.Errorf(fault.ErrMissing, "the factors of embed_tokens, to which ensure_weight_tying ties %s", first)
}

// embeddings are the modules that transformers calls with indices, and whose weight nothing else
// reads.
var embeddings = []string{"embed_tokens", "wte", "wpe", "word_embeddings", "tok_embeddings", "position_embeddings", "token_type_embeddings"}

func (p *peftFile) pair(module, name string) error {
	return p.factor(module, name, peftFirst, peftSecond, false)
}

func (p *peftFile) pairOfTable(module, name string) error {
	return p.factor(module, name, peftFirstOfTable, peftOfTable, true)
}

// factor records what the two tensors of a module add to its weight; name is that of one of them.
func (p *peftFile) factor(module, name, first, second string, embedding bool) error {
	first, second = peftPrefix+module+first, peftPrefix+module+second
	if _, ok := p.tensors.Shape(first); ok && name == second {
		return nil // is noted with the first
	}
	own := lastPart(module)
	if slices.Contains(embeddings, own) != embedding || own == "shared" {
		return check.Errorf(fault.ErrLeftOver, "%s: not supported for a module of this name", name)
	}
	weight, err := p.weight(module, name)
	if err != nil {
		return err
	}
	stem := strings.TrimSuffix(weight, own+".weight")
	if own == "out_proj" && slices.Contains(p.found, stem+"in_proj_weight") { // peft leaves the latter without effect
		return check.Errorf(fault.ErrLeftOver, "%s: the model has no weight %s.weight of its own", name, module)
	}
	tied, isTied := p.tiedTarget(), p.tiedProjection(module)
	add := factors{left: factor{name: second}, right: factor{name: first}, weight: weight, tied: tied && !p.hasTiedProjection()}
	if embedding {
		add.left, add.right = factor{first, true}, factor{second, true}
	}
	if err := p.matrices(&add, p.base); err != nil {
		return err
	}
	rank, scale := p.scale(module)
	if isTied { // its factors are the table's, of the rank of these
		if err := p.sameAsTable(first, second); err != nil {
			return err
		}
	} else if float64(add.rank) != rank {
		return check.Errorf(fault.ErrMisshapen, "%s is of rank %d, and %s says %g", first, add.rank, PEFTConfig, rank)
	}
	add.scale = scale
	for _, end := range []string{peftMagnitude, peftOldMagnitude} {
		if _, ok := p.tensors.Shape(peftPrefix + module + end); ok {
			add.magnitude = peftPrefix + module + end
		}
	}
	p.factors = append(p.factors, add)
	return nil
}

// weight returns the checkpoint's name for the weight of a module that the adapter is for. The
// weight of a projection that is tied to a table has none: the loader knows the module's.
func (p *peftFile) weight(module, name string) (string, error) {
	if err := p.modules.chooses(module); err != nil && !p.tiedProjection(module) {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	weight, err := p.found.find(module + ".weight")
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", name, err)
	case weight != "":
		return weight, nil
	case weightfile.Repeats(module):
		return "", check.Errorf(fault.ErrLeftOver, "%s: the model has no weight %s.weight of its own", name, module)
	}
	return module + ".weight", nil
}

// scale returns the rank of a module's factors, and what their product is multiplied by.
func (p *peftFile) scale(module string) (rank, scale float64) {
	rank, alpha := p.modules.ranks.of(module, float64(p.fields.Rank)), p.modules.alphas.of(module, p.fields.Alpha)
	if p.fields.Stabilized {
		return rank, alpha / math.Sqrt(rank)
	}
	return rank, alpha / rank
}

// addition records the tensor that is added to a module's bias.
func (p *peftFile) addition(module, name string) error {
	if err := p.modules.chooses(module); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	bias, err := p.found.find(module + ".bias")
	switch shape, _ := p.tensors.Shape(name); {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case !p.fields.Added:
		return check.Errorf(fault.ErrLeftOver, "%s, and lora_bias of %s is false", name, PEFTConfig)
	case bias == "":
		return check.Errorf(fault.ErrLeftOver, "%s: the model has no %s.bias: not supported", name, module)
	case len(shape) != 1 || shape[0] < 1:
		return check.Errorf(fault.ErrMisshapen, "%s has shape %v, want a vector", name, shape)
	default:
		_, scale := p.scale(module)
		p.factors = append(p.factors, factors{left: factor{name: name}, weight: bias, rank: 1, rows: shape[0], scale: scale})
	}
	return nil
}

// magnitudes checks those of a module's rows, which factor has noted or will.
func (p *peftFile) magnitudes(module, name string) error {
	own := lastPart(module)
	switch _, ok := p.tensors.Shape(peftPrefix + module + peftFirst); {
	case !p.fields.Magnitudes:
		return check.Errorf(fault.ErrLeftOver, "%s, and use_dora of %s is false", name, PEFTConfig)
	case slices.Contains(embeddings, own):
		return check.Errorf(fault.ErrLeftOver, "%s: use_dora is not supported for embeddings", name)
	case !ok:
		return check.Errorf(fault.ErrMissing, "%s%s%s, beside %s", peftPrefix, module, peftFirst, name)
	}
	return nil
}

// tokens notes the rows that take the place of those of a module's table.
func (p *peftFile) tokens(module, name string) error {
	var at []int
	for end, indices := range p.fields.Tokens {
		if strings.HasSuffix(module, end) {
			if at != nil && !slices.Equal(at, indices) {
				return check.Errorf(fault.ErrLeftOver, "%s: several entries of trainable_token_indices are for it", name)
			}
			at = indices
		}
	}
	shape, _ := p.tensors.Shape(name)
	if len(at) == 0 || len(shape) != 2 || shape[0] != len(at) || slices.Min(at) < 0 {
		return check.Errorf(fault.ErrMisshapen, "%s has shape %v, and trainable_token_indices of %s says %v", name, shape, PEFTConfig, at)
	}
	if lastPart(module) == "shared" { // whose copies peft changes too, or not, by tie_word_embeddings
		return check.Errorf(fault.ErrLeftOver, "%s: trainable_token_indices of a table that encoder and decoder share: not supported", name)
	}
	if slices.Contains([]string{"decoder", "vocab_projector", "generator_lm_head"}, lastPart(module)) {
		return check.Errorf(fault.ErrLeftOver, "%s: trainable_token_indices of a projection with a bias, which peft leaves out unless it merges: not supported", name)
	}
	weight, err := p.found.find(module + ".weight")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	own := weight == "" // a projection that is tied, and has rows of its own
	if own {
		weight = module + ".weight"
	}
	for i := range p.rows {
		p.rows[i].tied = p.rows[i].tied && !own
	}
	tied := !slices.ContainsFunc(p.rows, func(r rows) bool { return !slices.Contains(p.found, r.weight) })
	p.rows = append(p.rows, rows{name: name, weight: weight, at: at, tied: tied && !own})
	return nil
}

const (
	peftPrefix = "base_model.model."
)
