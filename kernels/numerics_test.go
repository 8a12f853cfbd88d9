package kernels

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/par"
)

// TestSameBits runs everything that is split among threads repeatedly, on several numbers of
// threads: the bits never change.
func TestSameBits(t *testing.T) {
	withProcs(t, 4)
	r := rand.New(rand.NewPCG(21, 22))
	m, n, k := 150, 130, 90
	lenK := 3000
	if testenv.Emulated() {
		m, n, k, lenK = 30, 40, 20, 70
	}
	a, b := randomSlice(r, m*k), randomSlice(r, k*n)
	q, kv := randomSlice(r, 4*8*16), randomSlice(r, 4*lenK*16)
	eachISA(t, func(t *testing.T) {
		packed := PackB(NoTrans, n, k, b, n)
		for name, f := range map[string]func(threads Threads) []float32{
			"Gemm": func(threads Threads) []float32 {
				c := make([]float32, m*n)
				threads.Gemm(NoTrans, NoTrans, m, n, k, 1.5, a, k, b, n, 0, c, n)
				return c
			},
			"Gemm of one row": func(threads Threads) []float32 {
				c := make([]float32, n)
				threads.Gemm(NoTrans, NoTrans, 1, n, k, 1.5, a, k, b, n, 0, c, n)
				return c
			},
			"GemmPacked": func(threads Threads) []float32 {
				c := make([]float32, m*n)
				threads.GemmPacked(m, 1, a, k, packed, 0, c, n, Epilogue{Activation: ActGELU})
				return c
			},
			"Attention": func(threads Threads) []float32 {
				dst := make([]float32, len(q))
				threads.Attention(AttentionParams{Batch: 1, Heads: 4, LenQ: 8, LenK: lenK, HeadDim: 16, Dst: dst, Q: q, K: kv, V: kv})
				return dst
			},
			"Attention of one query": func(threads Threads) []float32 {
				dst := make([]float32, 4*16)
				threads.Attention(AttentionParams{Batch: 1, Heads: 4, LenQ: 1, LenK: lenK, HeadDim: 16, Dst: dst, Q: q[:64], K: kv, V: kv})
				return dst
			},
		} {
			want := f(1)
			for _, threads := range []Threads{1, 2, 3, 4, 7} {
				for i, got := range f(threads) {
					if math.Float32bits(got) != math.Float32bits(want[i]) {
						t.Fatalf("%s on %d threads: element %d is %v, and %v on one", name, threads, i, got, want[i])
					}
				}
			}
		}
	})
}

// TestConcurrentCalls makes every call of the API from many goroutines concurrently, with shared
// inputs, and expects the bits of a single call. It is also for the race detector.
func TestConcurrentCalls(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(par.Stop)
	r := rand.New(rand.NewPCG(23, 24))
	data := func(n int) []float32 { return randomSlice(r, n) }
	goroutines := 8
	if testenv.Emulated() {
		goroutines = 2
	}
	eachISA(t, func(t *testing.T) {
		calls := slices.Concat(rowAPI(1, smallAPI, data), gemmAPI(1, largeAPI, data), expertsAPI(1, largeAPI, data), feedForwardAPI(1, largeAPI, data), signsAPI(1, largeAPI, data), recurrenceAPI(1, largeAPI, data), attentionAPI(1, data),
			rowAPI(3, largeAPI, data), gemmAPI(3, largeAPI, data), expertsAPI(3, largeAPI, data), feedForwardAPI(3, largeAPI, data), attentionAPI(3, data))
		want := make([][]any, len(calls))
		for i, c := range calls {
			want[i] = c.outcome()
			if len(want[i]) == 0 {
				t.Fatalf("%s has no result: which of its parameters is missing in outputs?", c.name)
			}
		}
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				for i := range calls {
					i = (i + g*len(calls)/goroutines) % len(calls)
					if !slices.EqualFunc(calls[i].outcome(), want[i], sameOutcome) {
						t.Errorf("%s %s gives something else than alone", calls[i].recv, calls[i].name)
					}
				}
			})
		}
		wg.Wait()
	})
}

// sameOutcome compares the outputs and results of two calls. They have no NaN.
func sameOutcome(got, want any) bool {
	switch x := got.(type) {
	case []float32:
		return slices.Equal(x, want.([]float32))
	case *PackedB:
		y := want.(*PackedB)
		return x.matrix.Record.Format == y.matrix.Record.Format && x.K() == y.K() && x.N() == y.N() && slices.Equal(x.matrix.Data, y.matrix.Data)
	case *Packer:
		return sameOutcome(x.Packed(), want.(*Packer).Packed())
	}
	return reflect.DeepEqual(got, want)
}

// TestNumericsDocument keeps doc/numerics.md complete: every exported function over float32 slices
// has a row, and the tests that rows name exist.
func TestNumericsDocument(t *testing.T) {
	text, err := os.ReadFile("../doc/numerics.md")
	if err != nil {
		t.Skip("only the package is here: ", err)
	}
	rows := map[string]bool{}
	contract, _, _ := strings.Cut(string(text), "\n## ")
	for line := range strings.Lines(contract) {
		if cells := strings.Split(line, "|"); len(cells) > 4 {
			for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[1], -1) {
				rows[m[1]] = true
				if !strings.Contains(cells[len(cells)-2], "Test") {
					t.Errorf("the row of %s names no test", m[1])
				}
			}
		}
	}
	unrounded := regexp.MustCompile(`^(Pack.*|NewPacker|New(Key)?Pages|Pages\..*|Format\.(Quantize|PackB)|Use)$`) // or rounded once, to what their documentation says
	for _, c := range apiCalls() {
		if !unrounded.MatchString(c.name) && !rows[c.name] {
			t.Errorf("no row for %s", c.name)
		}
	}
	exist := testFunctions(t)
	for _, name := range regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w+`).FindAllString(string(text), -1) {
		if !exist[name] {
			t.Errorf("it names %s, which does not exist", name)
		}
	}
}

// testFunctions returns the names of the tests of this package, of the kernels below it, of the
// functions of float64, and of the models.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	var files []string
	for _, pattern := range []string{"*_test.go", "internal/*/*_test.go", "../internal/elementary/*_test.go", "../models/*_test.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func ((Test|Fuzz)\w+)`).FindAllStringSubmatch(string(b), -1) {
			names[m[1]] = true
		}
	}
	return names
}
