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

// Wrong arguments: which panic, with which text, and without having written anything.

var (
	smallAPI = apiSize{5, 3, 4, 3, 5, 2}
	// largeAPI is large enough for several threads.
	largeAPI = apiSize{3 * tune.Used.Rows.PartElements, 301, 128, 70, 90, 60}
)

// onThreads turns the call into one of a method of threads, if threads is more than one.
func (c call) onThreads(threads Threads) call {
	if threads > 1 {
		c.fn, c.recv = reflect.ValueOf(threads).MethodByName(c.name).Interface(), "Threads"
	}
	return c
}

// panicOf returns the text of the panic that ends f, or "" if f returns.
func panicOf(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	f()
	return ""
}

// TestArguments makes each argument of each function wrong in turn. The panic must name the
// function, the argument, its value and the expected value, and come before anything is written.
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

// with calls the function with one argument replaced. All slices that the function may write hold a
// value that no function here returns; if one of them changed before a panic, the panic says so.
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
		default:
			args[i] = withOutputs(a, keep)
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

// outputs has the parameters that functions write to, and such fields of parameter structs.
var outputs = []string{"dst", "sum", "y", "c", "Dst", "Weights", "C", "To"}

// withOutputs returns arg with its outputs replaced if it is a parameter struct.
func withOutputs(arg any, replace func(x []float32) []float32) any {
	if !isParams(arg) {
		return arg
	}
	p := reflect.New(reflect.TypeOf(arg)).Elem()
	p.Set(reflect.ValueOf(arg))
	for _, name := range outputs {
		if f := p.FieldByName(name); f.IsValid() {
			f.Set(reflect.ValueOf(replace(f.Interface().([]float32))))
		}
	}
	return p.Interface()
}

// isParams reports whether an argument is a parameter struct.
func isParams(arg any) bool {
	return arg != nil && strings.HasSuffix(reflect.TypeOf(arg).Name(), "Params")
}

// outcome makes the call on copies of its outputs, and returns these and its results. All other
// arguments are shared with other calls of c.
func (c *call) outcome() (all []any) {
	args := slices.Clone(c.args)
	for i, name := range strings.Fields(c.params) {
		switch a := args[i].(type) {
		case []float32:
			if slices.Contains(outputs, name) {
				args[i] = slices.Clone(a)
				all = append(all, args[i])
			}
		case []byte:
			args[i] = slices.Clone(a)
			all = append(all, args[i])
		default:
			args[i] = withOutputs(a, func(x []float32) []float32 {
				x = slices.Clone(x)
				all = append(all, x)
				return x
			})
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

// TestArgumentsOfImportance makes each argument of QuantizeBy wrong.
func TestArgumentsOfImportance(t *testing.T) {
	const n, bytes = 256, 144 // a block of Q4_K
	ones := func(n int) []float32 { return slices.Repeat([]float32{1}, n) }
	not := func(v float32) []float32 { return append(ones(n-1), v) }
	nan := float32(math.NaN())
	for _, c := range []struct {
		f             Format
		dst           int
		x, importance []float32
		want          string
	}{
		{FormatQ4_K, bytes, ones(n), ones(n), ""},
		{FormatQ4_K, bytes - 1, ones(n), ones(n), "len(dst) = 143, want 144"},
		{FormatQ4_K, bytes, ones(n), ones(n - 1), "len(importance) = 255, want 256"},
		{FormatQ4_K, bytes, ones(n + 1), ones(n + 1), "len(x) = 257, want a multiple of 256"},
		{FormatQ4_K, bytes, ones(n), not(-1), "importance[255] = -1, want a finite number of at least 0"},
		{FormatQ4_K, bytes, ones(n), not(nan), "importance[255] = NaN, want a finite number of at least 0"},
		{FormatInt8, bytes, ones(n), ones(n), "want a Format that files have"},
	} {
		dst := make([]byte, c.dst)
		text := panicOf(func() { c.f.QuantizeBy(dst, c.x, c.importance) })
		if c.want == "" && text != "" || !strings.Contains(text, c.want) || text != "" && !strings.HasPrefix(text, "kernels.Format.QuantizeBy: ") {
			t.Errorf("%d bytes, %d numbers, %d of importance: panic %q, want %q", c.dst, len(c.x), len(c.importance), text, c.want)
		}
		if text != "" && slices.ContainsFunc(dst, func(b byte) bool { return b != 0 }) {
			t.Errorf("%q after dst was written", text)
		}
	}
}

// takesAnything has the functions that accept all arguments, or that report wrong ones in another
// way.
var takesAnything = map[string]string{
	"Threads.Run":     "fewer than one part is none",
	"ParseISA":        "returns an error",
	"ParseFormat":     "returns an error",
	"BLHD":            "multiplies; what it gives, Attention checks",
	"WindowMask":      "cuts what no sequence reaches",
	"LengthMask":      "keeps what Attention checks",
	"QueryLengthMask": "keeps what Attention checks",
	"KeepMask":        "keeps what Attention checks",
	"BlockMask":       "keeps what Attention checks",
	"BiasMask":        "keeps what Attention checks",
	"ALiBiMask":       "keeps what Attention checks",

	"Format.QuantizeBy": "importance must be numbers, and the table has none: TestArgumentsOfImportance",
}

// TestArgumentsCoverAPI fails for an exported function or method with parameters that is not in the
// table.
func TestArgumentsCoverAPI(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range apiCalls() {
		key := strings.TrimPrefix(c.recv+"."+c.name, ".")
		first := !covered[key]
		covered[key] = true
		// Every argument that can be wrong is made wrong. Functions that take all lengths from an
		// input accept any length of it.
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
	// Every field of a parameter struct is also made wrong.
	changed := map[string]bool{}
	structs := map[reflect.Type]bool{}
	for _, c := range apiCalls() {
		if len(c.args) != 1 || !isParams(c.args[0]) {
			continue
		}
		right := reflect.ValueOf(c.args[0])
		structs[right.Type()] = true
		for _, b := range c.bad {
			for i := range right.NumField() {
				if !reflect.DeepEqual(reflect.ValueOf(b.value).Field(i).Interface(), right.Field(i).Interface()) {
					changed[right.Type().Name()+"."+right.Type().Field(i).Name] = true
				}
			}
		}
	}
	anyValue := []string{"Scale", "RelativeKeys", "Int8", "Alternate", "Delta", "TransA", "TransB", "Alpha", "Beta", "Offset"}
	for s := range structs {
		for i := range s.NumField() {
			if f := s.Field(i).Name; !changed[s.Name()+"."+f] && !slices.Contains(anyValue, f) {
				t.Errorf("no wrong value for %s.%s", s.Name(), f)
			}
		}
	}
	if len(structs) != 9 {
		t.Errorf("%d parameter structs, want 9", len(structs))
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

// exportedFunctions parses the package's functions and methods. The name of a method begins with
// the name of its type.
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
