package generation

import (
	"math"

	"github.com/avoformer/avoformer/internal/check"
)

// Sampling describes how a token is drawn from logits: Temperature, then the filters TopK, TopP, MinP and TypicalP, in this order. Each
// filter leaves at least one token. The zero value takes the most likely token.
type Sampling struct {
	// Temperature divides the logits; 0 takes the most likely token.
	Temperature float64
	// TopK keeps the K most likely tokens, and those as likely as the last of them; 0 keeps all.
	TopK int
	// TopP keeps the most likely tokens that together have this probability, at least one, and of
	// equally likely tokens those with the highest ids; 0 and 1 keep all.
	TopP float64
	// MinP keeps the tokens that are at least this times as likely as the most likely
	// one; 0 keeps all.
	MinP float64
	// TypicalP keeps the tokens whose information is closest to the entropy and that
	// together have this probability (Meister et al., "Locally Typical
	// Sampling", 2022), and those as close as the last of them; 0 and 1 keep all.
	TypicalP float64
	// Seed determines the draws: the same seed gives the same tokens for the same logits. 0 stands for a seed drawn at random.
	Seed uint64
}

// check returns an error that matches fault.ErrOption for a number outside its range.
func (s *Sampling) check() error {
	for _, o := range []struct {
		name      string
		has, most float64
	}{
		{"Temperature", s.Temperature, math.MaxFloat32}, {"TopK", float64(s.TopK), math.MaxInt32},
		{"TopP", s.TopP, 1}, {"MinP", s.MinP, 1}, {"TypicalP", s.TypicalP, 1},
	} {
		if err := check.Between(o.name, o.has, 0, o.most); err != nil {
			return err
		}
	}
	return nil
}
