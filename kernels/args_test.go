package kernels

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// Wrong arguments: what panics, with which text, and that nothing was written.

var (
	smallAPI = apiSize{5, 3, 4, 3, 5, 2}
	// largeAPI is enough for several threads.
	largeAPI = apiSize{3 * tune.Used.Rows.PartElements, 301, 128, 70, 90, 60}
)

// onThreads makes the call that of a method of threads, if it is more than one.
func (c call) onThreads(threads Threads) call {
	if threads > 1 {
		c.fn, c.recv = reflect.ValueOf(threads).MethodByName(c.name).Interface(), "Threads"
	}
	return c
}

// panicOf is the text of the panic in which f ends, "" if it returns.
func panicOf(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	f()
	return ""
}

// TestArguments makes each argument of each function wrong in turn. The panic
// must name function, argument, what it is and what it should be, and come
// before anything is written.
func TestArguments(t *testing.T) {
	tier := Active()
	t.Cleanup(func() {
		if Active() != tier {
			t.Errorf("the active tier is %v, and was %v", Active(), tier)
		}
	})
	for _, c := range apiCalls() {
		t.Run(c.recv+c.name, func(t *testing.T) {
			if p := panicOf(func() { c.with("", nil) }); p != "" {
				t.Fatalf("the right arguments: %s", p)
			}
			for _, b := range c.bad {
				text := panicOf(func() { c.with(b.param, b.value) })
				if !strings.HasPrefix(text, "kernels."+c.name+": ") || !strings.Contains(text, b.want) {
					t.Errorf("%s = %v: panic %q, want kernels.%s and %q", b.param, brief(b.value), text, c.name, b.want)
				}
			}
		})
	}
}

// with calls the function with one argument replaced. All slices that it may
// write hold a value that no function here would give; where one changed before
// a panic, the panic says so.
func (c *call) with(param string, value any) {
	args := slices.Clone(c.args)
	var operands [][]float32
	keep := func(x []float32) []float32 {
		if x == nil {
			return nil
		}
		operands = append(operands, full(len(x)))
		return operands[len(operands)-1]
	}
	for i, name := range strings.Fields(c.params) {
		if name == param {
			args[i] = value
		}
		switch a := args[i].(type) {
		case []float32:
			args[i] = keep(a)
		case AttentionParams:
			a.Dst, a.Weights = keep(a.Dst), keep(a.Weights)
			args[i] = a
		}
	}
	defer func() {
		if p := recover(); p != nil {
			for _, x := range operands {
				if i := firstWritten(x); i >= 0 {
					p = fmt.Sprintf("after writing element %d of %d: %v", i, len(x), p)
				}
			}
			panic(p)
		}
	}()
	c.do(args)
}

// do makes the call and returns its results.
func (c *call) do(args []any) (results []any) {
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		in[i] = reflect.ValueOf(a)
	}
	for _, r := range reflect.ValueOf(c.fn).Call(in) {
		results = append(results, r.Interface())
	}
	return results
}

// outputs are the parameters that functions write to.
var outputs = []string{"dst", "sum", "y", "c"}

// outcome makes the call on copies of what it writes to, and returns those and
// its results. Everything else it shares with other calls of c.
func (c *call) outcome() (all []any) {
	args := slices.Clone(c.args)
	for i, name := range strings.Fields(c.params) {
		switch a := args[i].(type) {
		case []float32:
			if slices.Contains(outputs, name) {
				args[i] = slices.Clone(a)
				all = append(all, args[i])
			}
		case AttentionParams:
			a.Dst, a.Weights = slices.Clone(a.Dst), slices.Clone(a.Weights)
			args[i] = a
			all = append(all, a.Dst, a.Weights)
		}
	}
	return append(all, c.do(args)...)
}

const untouched = 0x7fc12345

func full(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(untouched)
	}
	return x
}

func firstWritten(x []float32) int {
	for i, v := range x {
		if math.Float32bits(v) != untouched {
			return i
		}
	}
	return -1
}

func brief(v any) string {
	if x, ok := v.([]float32); ok {
		return fmt.Sprintf("%d elements", len(x))
	}
	return fmt.Sprint(v)
}

// takesAnything has the functions with arguments of which none is wrong, or
// that say so otherwise.
var takesAnything = map[string]string{
	"AllowAffinityChanges": "either value is right",
	"ParseISA":             "returns an error",
	"ParseFormat":          "returns an error",
	"BLHD":                 "multiplies; what it gives, Attention checks",
	"WindowMask":           "cuts what no sequence reaches",
	"LengthMask":           "keeps what Attention checks",
	"QueryLengthMask":      "keeps what Attention checks",
	"KeepMask":             "keeps what Attention checks",
	"BlockMask":            "keeps what Attention checks",
	"BiasMask":             "keeps what Attention checks",
	"ALiBiMask":            "keeps what Attention checks",
}

// TestArgumentsCoverAPI fails for an exported function or method with
// parameters that is not in the table.
func TestArgumentsCoverAPI(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range apiCalls() {
		key := strings.TrimPrefix(c.recv+"."+c.name, ".")
		first := !covered[key]
		covered[key] = true
		// Every argument that can be wrong is made wrong. Inputs of functions
		// that take the length of everything from them are right by definition.
		changed := map[string]bool{}
		for _, b := range c.bad {
			changed[b.param] = true
		}
		for i, p := range strings.Fields(c.params) {
			switch c.args[i].(type) {
			case float32, Transpose:
				continue
			}
			if first && !changed[p] && p != "x" {
				t.Errorf("%s: no wrong value for %s", key, p)
			}
		}
	}
	// Every field of the parameters of Attention is made wrong too.
	fields := map[string]bool{"Scale": true, "RelativeKeys": true} // any value is right
	for _, b := range attentionAPI(1, zeros)[0].bad {
		got, right := reflect.ValueOf(b.value), reflect.ValueOf(attentionAPI(1, zeros)[0].args[0])
		for i := range got.NumField() {
			if !reflect.DeepEqual(got.Field(i).Interface(), right.Field(i).Interface()) {
				fields[got.Type().Field(i).Name] = true
			}
		}
	}
	for i := range reflect.TypeFor[AttentionParams]().NumField() {
		if name := reflect.TypeFor[AttentionParams]().Field(i).Name; !fields[name] {
			t.Errorf("no wrong value for AttentionParams.%s", name)
		}
	}

	exempt := maps.Clone(takesAnything)
	for name, f := range exportedFunctions(t) {
		if f.Type.Params.NumFields() > 0 && !covered[name] && takesAnything[name] == "" {
			t.Errorf("%s is not in the table", name)
		}
		delete(exempt, name)
	}
	for name := range exempt {
		t.Errorf("there is no %s", name)
	}
}

// exportedFunctions parses the package's functions and methods. A method's name
// has that of its type before it.
func exportedFunctions(t *testing.T) map[string]*ast.FuncDecl {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*ast.FuncDecl{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Name.IsExported() {
				key := d.Name.Name
				if d.Recv != nil {
					key = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + key
					if !token.IsExported(key) {
						continue
					}
				}
				found[key] = d
			}
		}
	}
	return found
}
