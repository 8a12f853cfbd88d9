package classic_test

import (
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// goldenDir holds the golden files, unless AVOFORMER_GOLDEN names another.
const goldenDir = "testdata/golden"

// notBuilt lists kinds, or "file: tensor" for single results, that are not computed yet, each with
// the reason. Whatever else is not compared fails.
var notBuilt = map[string]string{}

// goldenKinds has a function for each kind of golden file.
var goldenKinds = map[string]func(*golden){
	"numpy_attention":             numpyAttention,
	"numpy_multihead":             numpyMultihead,
	"keras_dot_product_attention": kerasAttention,
	"multi_head_attention":        keepMaskAttention,
	"self_attention":              selfAttention,
	"torch_multihead_attention":   torchAttention,
	"torch_encoder_layer":         torchEncoderLayer,
	"torch_decoder_layer":         torchDecoderLayer,
	"torch_transformer":           torchTransformer,
	"d2l_ffn_addnorm":             d2lFeedForward,
	"d2l_positional_encoding":     d2lPositions,
	"d2l_multi_head_attention":    d2lAttention,
	"d2l_encoder_block":           d2lEncoderBlock,
	"d2l_seq2seq":                 d2lSeq2Seq,
	"vit_block":                   vitBlock,
	"vit":                         vit,
	"bert_self_attention":         bertSelfAttention,
	"bert_cross_attention":        bertCrossAttention,
	"bert_kv_cache":               bertCache,
	"bert_layer":                  bertLayer,
	"bert":                        bert,
	"rope_gqa_swiglu_block":       llamaBlock,
	"rope_rmsnorm":                rotaryRMSNorm,
	"kernel_softmax":              kernelSoftmax,
	"kernel_layernorm":            kernelLayerNorm,
	"kernel_gelu":                 kernelGELU,
	"kernel_exp":                  kernelExp,
	"kernel_gemm":                 kernelGemm,
}

// TestGolden compares this package with what PyTorch and numpy computed.
func TestGolden(t *testing.T) {
	dir, given := os.LookupEnv("AVOFORMER_GOLDEN")
	if !given {
		dir = goldenDir
	}
	files := goldenFiles(t, dir)
	switch {
	case len(files) > 0:
	case given || os.Getenv("CI") != "":
		t.Fatalf("no golden files under %s", dir)
	default:
		t.Skipf("no golden files under %s: they are a module of their own, which the module proxy does not deliver with this one; clone the repository, or name a directory in AVOFORMER_GOLDEN", dir)
	}
	ran, compared := map[kernels.ISA]int{}, map[kernels.ISA]int{}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".safetensors"), func(t *testing.T) {
			tftest.EachTier(t, func(t *testing.T) {
				n := runGolden(t, path)
				compared[kernels.Active()] += n
				ran[kernels.Active()]++
			})
		})
	}
	for _, isa := range kernels.Supported() {
		t.Logf("%v: %d files, %d tensors compared", isa, ran[isa], compared[isa])
	}
	for what, why := range notBuilt {
		t.Logf("not built: %s: %s", what, why)
	}
}

// goldenFiles lists the files under dir, none if there is no such directory.
func goldenFiles(t *testing.T, dir string) []string {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".safetensors" {
			files = append(files, path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return files
}

// runGolden runs the case in a file and returns the number of tensors compared.
func runGolden(t *testing.T, path string) int {
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g := &golden{T: t, f: f, ws: new(transformer.Workspace), compared: map[string]bool{}}
	kind := f.Metadata()["kind"]
	if why, ok := notBuilt[kind]; ok {
		t.Skipf("kind %s is not built: %s", kind, why)
	}
	run, ok := goldenKinds[kind]
	if !ok {
		t.Fatalf("unknown kind %q", kind)
	}
	g.json("config", &g.config)
	g.json("tolerances", &g.tolerances)
	descriptions := map[string]string{}
	g.json("descriptions", &descriptions)
	run(g)

	for _, name := range f.Names() {
		prefix, _, _ := strings.Cut(name, ".")
		result := slices.Contains([]string{"out", "mid", "grad", "greedy", "expected"}, prefix)
		if !result || g.compared[name] || strings.HasSuffix(name, "_lo") || strings.Contains(descriptions[name], "information)") {
			continue
		}
		if _, ok := notBuilt[filepath.Base(path)+": "+name]; !ok {
			t.Errorf("%s was not compared", name)
		}
	}
	return len(g.compared)
}

// golden is a case that is being run.
type golden struct {
	*testing.T
	f          *safetensors.File
	ws         *transformer.Workspace
	config     map[string]any
	tolerances map[string]tolerance
	compared   map[string]bool
}

type tolerance struct {
	Atol, Rtol  float64
	Exact       bool
	ULP         float64
	DenormalAbs float64 `json:"denormal_abs"`
}

// ok ends the test where something could not be computed.
func (g *golden) ok(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// check compares got with the named tensor.
func (g *golden) check(name string, got []float32) {
	g.Helper()
	tol, ok := g.tolerances[name]
	if !ok {
		g.Fatalf("%s has no tolerance", name)
	}
	g.checkWithin(name, got, func(_ int, want float64) float64 {
		if tol.Exact {
			return 0
		}
		return tol.Atol + tol.Rtol*math.Abs(want)
	})
}

// checkWithin compares got with the named tensor, allowing each element an error of its own. It
// reports the worst element.
func (g *golden) checkWithin(name string, got []float32, allowed func(i int, want float64) float64) {
	g.Helper()
	g.compared[name] = true
	if text := tftest.Mismatch(got, g.tensor(name), allowed); text != "" {
		g.Errorf("%s: %s", name, text)
	}
}

// checkInts compares integers.
func (g *golden) checkInts(name string, got []int) {
	g.Helper()
	g.compared[name] = true
	if want := g.ints(name); !slices.Equal(got, want) {
		g.Errorf("%s = %v, want %v", name, got, want)
	}
}

// traced runs a pass and returns what it reported, by name.
func (g *golden) traced(pass func() error) map[string][]float32 {
	g.Helper()
	seen := map[string][]float32{}
	g.ws.Trace = func(name string, values []float32, shape ...int) {
		n := 1
		for _, s := range shape {
			n *= s
		}
		if n != len(values) {
			g.Errorf("trace of %s: %d values of shape %v", name, len(values), shape)
		}
		seen[name] = slices.Clone(values)
	}
	defer func() { g.ws.Trace = nil }()
	g.ok(pass())
	return seen
}

// get returns a traced value, which must have been reported.
func (g *golden) get(seen map[string][]float32, name string) []float32 {
	g.Helper()
	x, ok := seen[name]
	if !ok {
		g.Fatalf("nothing traced as %q, only as %q", name, slices.Sorted(maps.Keys(seen)))
	}
	return x
}

// byHead turns rows of heads, [batch, length, heads*dim], into [batch, heads, length, dim].
func byHead(x []float32, batch, length, heads int) []float32 {
	dim := len(x) / (batch * length * heads)
	y := make([]float32, len(x))
	for b := range batch {
		for l := range length {
			for h := range heads {
				copy(y[((b*heads+h)*length+l)*dim:][:dim], x[((b*length+l)*heads+h)*dim:])
			}
		}
	}
	return y
}

// swapAxes turns [m, n, width] into [n, m, width].
func swapAxes(x []float32, m, n int) []float32 {
	width := len(x) / (m * n)
	y := make([]float32, len(x))
	for i := range m {
		for j := range n {
			copy(y[(j*m+i)*width:][:width], x[(i*n+j)*width:])
		}
	}
	return y
}

// steps is rows [from, from+n) of each sequence of x, [batch, length, width].
func steps(x []float32, batch, length, from, n int) []float32 {
	width := len(x) / (batch * length)
	var y []float32
	for b := range batch {
		y = append(y, x[(b*length+from)*width:(b*length+from+n)*width]...)
	}
	return y
}

// putSteps is the reverse: it stores rows of each sequence.
func putSteps(x, rows []float32, batch, length, from, n int) {
	width := len(x) / (batch * length)
	for b := range batch {
		copy(x[(b*length+from)*width:], rows[b*n*width:(b+1)*n*width])
	}
}

// TestGoldenNotBuilt fails while something is not built.
func TestGoldenNotBuilt(t *testing.T) {
	if len(notBuilt) > 0 {
		t.Errorf("%d entries are not built", len(notBuilt))
	}
}

// TestMismatch proves that the comparison can fail.
func TestMismatch(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	allowed := func(_ int, want float64) float64 { return 1e-3 + 1e-3*math.Abs(want) }
	for _, c := range []struct {
		name      string
		got, want []float32
		ok        bool
	}{
		{"equal", []float32{1, 2}, []float32{1, 2}, true},
		{"within", []float32{1, 2.0029}, []float32{1, 2}, true},
		{"beyond", []float32{1, 2.0031}, []float32{1, 2}, false},
		{"last beyond", []float32{1, 2, 3, 5}, []float32{1, 2, 3, 4}, false},
		{"short", []float32{1}, []float32{1, 2}, false},
		{"NaN in both", []float32{nan, 1}, []float32{nan, 1}, true},
		{"NaN in got", []float32{nan, 1}, []float32{1, 1}, false},
		{"NaN in want", []float32{1, 1}, []float32{nan, 1}, false},
		{"infinity in both", []float32{inf}, []float32{inf}, true},
		{"infinity of the other sign", []float32{-inf}, []float32{inf}, false},
		{"infinity in got", []float32{inf}, []float32{1}, false},
		{"infinity in want", []float32{1}, []float32{inf}, false},
	} {
		if text := tftest.Mismatch(c.got, c.want, allowed); (text == "") != c.ok {
			t.Errorf("%s: mismatch says %q", c.name, text)
		}
	}
	exact := func(int, float64) float64 { return 0 }
	if tftest.Mismatch([]float32{1}, []float32{math.Nextafter32(1, 2)}, exact) == "" {
		t.Error("one ulp passes as exact")
	}
}
