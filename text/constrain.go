// Text that follows a grammar.

package text

import (
	"fmt"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
)

// newVocabulary is the tokens of a folder for grammars.
func (f *folder) newVocabulary() (*grammar.Vocabulary, error) {
	tokens, err := f.tokenizer.TokenBytes()
	if err != nil {
		return nil, fmt.Errorf("%w: Grammar: %w", ErrOption, err)
	}
	ends := f.model.Config.EOSTokens
	if len(ends) == 0 {
		return nil, fmt.Errorf("%w: Grammar, of a model without a token that ends texts", ErrOption)
	}
	if n := f.model.LM.Vocab(); len(tokens) > n { // which the model never chooses
		tokens = tokens[:n]
	}
	return grammar.NewVocabulary(tokens, ends)
}

// constraint is what the options' grammar allows, nil without one.
func (g *Generator) constraint(o *GenerateOptions) (generation.Constraint, error) {
	if o.Grammar == nil {
		return nil, nil
	}
	v, err := g.vocabulary()
	if err != nil {
		return nil, err
	}
	return o.Grammar.Matcher(v), nil
}
