package fault_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/hub"
	"github.com/avoformer/avoformer/search"
)

// TestOneRoom: no other published package declares a kind of error, under a name of its own or the same one.
func TestOneRoom(t *testing.T) {
	found := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() {
			if slices.Contains([]string{"internal", "testdata", "examples", "asm", "bench", "scripts", "doc"}, name) || len(name) > 2 && name[0] == '.' {
				return filepath.SkipDir
			}
			return nil
		} else if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, name := range kindsIn(file) {
			if file.Name.Name == "fault" {
				found++
			} else {
				t.Errorf("%s declares %s.%s: kinds of errors belong to package fault", path, file.Name.Name, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 30 {
		t.Errorf("package fault has %d kinds: the test does not see them", found)
	}
}

// kindsIn are the exported variables of a file whose names begin with Err.
func kindsIn(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			for _, n := range s.(*ast.ValueSpec).Names {
				if strings.HasPrefix(n.Name, "Err") {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}

// TestKinds: errors of several packages match the kinds of this one, the general kind too, and are an *Error.
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
		"an end that is none":  {of(grammar.NewVocabulary(nil, []int{7})), []error{fault.ErrShape}},
		"few logits":           {letter.Matcher(vocabulary).Apply(nil), []error{fault.ErrShape}},
		"a token out of place": {letter.Matcher(vocabulary).Accept(1), []error{fault.ErrRefused}},
		"a name with a space":  {of(hub.ParseName("a name")), []error{fault.ErrName, fault.ErrOption}},
		"an index of width 0":  {of(search.New(0, search.Options{})), []error{fault.ErrOption}},
	} {
		var e *fault.Error
		if !errors.As(c.err, &e) {
			t.Errorf("%s: %v is no *fault.Error", name, c.err)
		}
		for _, want := range c.want {
			if !errors.Is(c.err, want) {
				t.Errorf("%s: %v does not match %q", name, c.err, want)
			}
		}
	}
}
