package tokenizer

// Tokens that the files next to tokenizer.json name: each becomes an added token, with the flags
// that these files state.

import (
	"fmt"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// withRoles returns the tokens with a role: the usual roles first, then the roles that only this
// folder has.
func (s *settings) withRoles() []AddedToken {
	var list []AddedToken
	for _, role := range roles {
		if a, ok := s.special[role]; ok {
			a.Special = true
			list = append(list, a)
		}
	}
	for _, n := range s.named {
		n.Special = true
		list = append(list, n.AddedToken)
	}
	return list
}

// addBeside adds the tokens of the settings to t: first the tokens with ids, which they must get,
// then the tokens with roles and the extra tokens that are still missing.
func (s *settings) addBeside(t *Tokenizer) error {
	named := s.withRoles()
	known := map[string]bool{}
	for content := range t.added.byContent {
		known[content] = true
	}
	list := slices.Clone(s.added)
	for i, a := range list {
		known[a.Content] = true
		if !a.Special && contains(named, a.Content) {
			list[i].Special, list[i].Normalized = true, a.Normalized && !s.unsaid[a.Content]
		}
	}
	for _, a := range slices.Concat(named, s.extra) {
		if a.Content != "" && !known[a.Content] {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil
	}
	if err := t.addTokens(list); err != nil {
		return err
	}
	for _, a := range s.added {
		if id, _ := t.TokenID(a.Content); a.Content != "" && uint32(id) != a.ID {
			return fmt.Errorf("%w: added token %q has id %d in the file, but would get %d", fault.ErrFormat, a.Content, a.ID, id)
		}
	}
	return nil
}

func contains(list []AddedToken, content string) bool {
	return slices.ContainsFunc(list, func(t AddedToken) bool { return t.Content == content })
}

// takeAdded adds the tokens of tokenizer.json to the tokens with ids, unless tokenizer_config.json
// lists all of them. The flags in these lists then hold for tokens with roles as well.
func (s *settings) takeAdded(list []AddedToken) {
	if s.decoded {
		return
	}
	for _, a := range list {
		s.added = slices.DeleteFunc(s.added, func(b AddedToken) bool { return b.ID == a.ID })
		s.added = append(s.added, a)
	}
	s.adopt()
}

// adopt sorts the tokens with ids, and copies their flags to the tokens with roles.
func (s *settings) adopt() {
	slices.SortStableFunc(s.added, func(a, b AddedToken) int { return int(a.ID) - int(b.ID) })
	for _, a := range s.added {
		for role, t := range s.special {
			if t.Content == a.Content {
				s.special[role], s.bare[role] = a, false
			}
		}
	}
}

// padRole takes pad_token from the padding in tokenizer.json if no file next to it states one.
func (s *settings) padRole(p *Padding) {
	if _, ok := s.special["pad_token"]; ok || s.bare["pad_token"] || p == nil || p.Token == "" {
		return
	}
	s.special["pad_token"], s.Special["pad_token"] = AddedToken{Content: p.Token, Special: true}, p.Token
}

// notAsWritten returns the error for a folder whose tokenizer.json is not what transformers would
// use.
func (s *settings) notAsWritten(class, why string) error {
	return check.Errorf(fault.ErrConfig, "tokenizer.json is not what transformers would use: its class %s takes the vocabulary and builds the rest itself, and %s. "+
		"Set the option TokenizerAsWritten (-tokenizer-as-written of the command) to use tokenizer.json as it is", class, why)
}
