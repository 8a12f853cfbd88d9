// Text that follows a grammar.

package text

import (
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/internal/check"
)

// newVocabulary is the tokens of a folder for grammars.
func (f *folder) newVocabulary() (*grammar.Vocabulary, error) {
	tokens, err := f.tokenizer.TokenBytes()
	if err != nil {
		return nil, check.Option("Grammar", "", "%w", err)
	}
	ends := f.model.Config.EOSTokens
	if len(ends) == 0 {
		return nil, check.Option("Grammar", "", "the model has no token that ends texts")
	}
	if n := f.model.LM.Vocab(); len(tokens) > n { // which the model never chooses
		tokens = tokens[:n]
	}
	return grammar.NewVocabulary(tokens, ends)
}

// constraint is what the options' grammar allows, nil without one.
func (d *decoder) constraint(o *GenerateOptions) (generation.Constraint, error) {
	if o.Grammar == nil {
		return nil, nil
	}
	v, err := d.vocabulary()
	if err != nil {
		return nil, err
	}
	return o.Grammar.Matcher(v), nil
}
