package fault_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/hub"
	"github.com/avoformer/avoformer/search"
)

// TestKinds verifies that errors of several packages are of type *Error, and match a kind of this
// package and the more general kind.
func TestKinds(t *testing.T) {
	vocabulary, err := grammar.NewVocabulary([][]byte{[]byte("a"), nil}, []int{1})
	if err != nil {
		t.Fatal(err)
	}
	letter, err := grammar.Regexp("a")
	if err != nil {
		t.Fatal(err)
	}
	of := func(_ any, err error) error { return err }
	for name, c := range map[string]struct {
		err  error
		want []error
	}{
		"a malformed pattern":  {of(grammar.Regexp("(")), []error{fault.ErrSyntax, fault.ErrInput}},
		"a word boundary":      {of(grammar.Regexp(`a\bc`)), []error{fault.ErrUnsupported}},
		"a long pattern":       {of(grammar.Regexp(strings.Repeat("a", 2<<20))), []error{fault.ErrTooLarge, fault.ErrInput}},
		"an unknown end token": {of(grammar.NewVocabulary(nil, []int{7})), []error{fault.ErrShape}},
		"few logits":           {letter.Matcher(vocabulary).Apply(nil), []error{fault.ErrShape}},
		"a token out of place": {letter.Matcher(vocabulary).Accept(1), []error{fault.ErrRefused}},
		"a name with a space":  {of(hub.ParseName("a name")), []error{fault.ErrName, fault.ErrOption}},
		"an index of width 0":  {of(search.New(0, search.Options{})), []error{fault.ErrOption}},
	} {
		var e *fault.Error
		if !errors.As(c.err, &e) {
			t.Errorf("%s: %v is not a *fault.Error", name, c.err)
		}
		for _, want := range c.want {
			if !errors.Is(c.err, want) {
				t.Errorf("%s: %v does not match %q", name, c.err, want)
			}
		}
	}
}
