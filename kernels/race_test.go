//go:build race

package kernels

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// races has calls that read or write x, of n elements, while another goroutine writes its last
// element.
var races = []struct {
	name string
	n    int
	call func(x []float32)
}{
	{"gemm reads A", 64, func(x []float32) {
		Gemm(NoTrans, NoTrans, 8, 8, 8, 1, x, 8, zeros(64), 8, 0, zeros(64), 8)
	}},
	{"gemm reads B", 64, func(x []float32) {
		Gemm(NoTrans, Trans, 8, 8, 8, 1, zeros(64), 8, x, 8, 0, zeros(64), 8)
	}},
	{"gemm writes C", 64, func(x []float32) {
		Gemm(NoTrans, NoTrans, 8, 8, 8, 1, zeros(64), 8, zeros(64), 8, 0, x, 8)
	}},
	{"one row by a matrix", 64, func(x []float32) {
		Gemm(NoTrans, NoTrans, 1, 8, 8, 1, zeros(8), 8, x, 8, 0, zeros(8), 8)
	}},
	{"one row by a transposed matrix", 64, func(x []float32) {
		Gemm(NoTrans, Trans, 1, 8, 8, 1, zeros(8), 8, x, 8, 0, zeros(8), 8)
	}},
	{"gemm on threads", 256 * 64, func(x []float32) {
		Threads(2).Gemm(NoTrans, NoTrans, 256, 64, 64, 1, x, 64, zeros(64*64), 64, 0, zeros(256*64), 64)
	}},
	{"packing reads B", 64, func(x []float32) { PackB(Trans, 8, 8, x, 8) }},
	{"epilogue reads the residual", 64, func(x []float32) {
		b := PackB(NoTrans, 8, 8, zeros(64), 8)
		GemmPacked(8, 1, zeros(64), 8, b, 0, zeros(64), 8, Epilogue{Activation: ActGELU, Residual: x, LdResidual: 8})
	}},
	{"softmax reads x", 64, func(x []float32) { Softmax(zeros(64), x, 8, 8) }},
	{"layernorm writes", 64, func(x []float32) { LayerNorm(x, zeros(64), 8, 8, nil, nil, 1e-5) }},
	{"exp in place", 64, func(x []float32) { Exp(x, x) }},
	{"gelu on threads", 4 * tune.Used.Rows.PartElements, func(x []float32) { Threads(2).GELU(zeros(len(x)), x) }},
	{"weight is read", 64, func(x []float32) { RMSNorm(zeros(128), zeros(128), 2, 64, x, 1e-5) }},
	{"attention reads q", 40 * 8, func(x []float32) { raceAttention(40, 40, x, zeros(40*8), zeros(40*8)) }},
	{"attention reads k", 40 * 8, func(x []float32) { raceAttention(40, 40, zeros(40*8), x, zeros(40*8)) }},
	{"attention reads v", 40 * 8, func(x []float32) { raceAttention(40, 40, zeros(40*8), zeros(40*8), x) }},
	{"short attention reads k", 64, func(x []float32) { raceAttention(8, 8, zeros(64), x, zeros(64)) }},
	{"decoding reads k", 40 * 8, func(x []float32) { raceAttention(1, 40, zeros(8), x, zeros(40*8)) }},
	{"decoding reads v", 40 * 8, func(x []float32) { raceAttention(1, 40, zeros(8), zeros(40*8), x) }},
}

// raceAttention is attention of one head of 8 elements.
func raceAttention(lenQ, lenK int, q, k, v []float32) {
	Attention(AttentionParams{Batch: 1, Heads: 1, LenQ: lenQ, LenK: lenK, HeadDim: 8, Dst: zeros(len(q)), Q: q, K: k, V: v})
}

// TestRaceIsReported runs each race in a program of its own, this test binary, which must end with
// the race detector's report; without the race, it must not.
func TestRaceIsReported(t *testing.T) {
	const variable = "AVOFORMER_TEST_RACE"
	if v := os.Getenv(variable); v != "" {
		number, when, _ := strings.Cut(v, "/")
		i, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		x, done := zeros(races[i].n), make(chan bool)
		go func() { x[len(x)-1] = 1; done <- true }()
		if when == "after" {
			<-done
			races[i].call(x)
			return
		}
		races[i].call(x)
		<-done
		return
	}
	for _, isa := range Supported() {
		for i, race := range races {
			for _, when := range []string{"meanwhile", "after"} {
				t.Run(fmt.Sprintf("%s/%s/%s", isa, race.name, when), func(t *testing.T) {
					t.Parallel()
					cmd := exec.Command(os.Args[0], "-test.run=^TestRaceIsReported$")
					cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d/%s", variable, i, when), "AVOFORMER_ISA="+isa.String(), "GORACE=atexit_sleep_ms=0")
					out, err := cmd.CombinedOutput()
					reported := strings.Contains(string(out), "WARNING: DATA RACE")
					if reported != (when == "meanwhile") || (err != nil) != reported {
						t.Errorf("reported: %v; the program ends with %v:\n%s", reported, err, out)
					}
				})
			}
		}
	}
}
