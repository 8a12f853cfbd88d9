//go:build race

package kernels

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// races are calls that touch x while another goroutine writes it.
var races = map[string]func(x []float32){
	"gemm reads A": func(x []float32) {
		Gemm(NoTrans, NoTrans, 8, 8, 8, 1, x, 8, make([]float32, 64), 8, 0, make([]float32, 64), 8)
	},
	"gemm writes C": func(x []float32) {
		Gemm(NoTrans, NoTrans, 8, 8, 8, 1, make([]float32, 64), 8, make([]float32, 64), 8, 0, x, 8)
	},
	"softmax reads x":  func(x []float32) { Softmax(make([]float32, 64), x, 8, 8) },
	"layernorm writes": func(x []float32) { LayerNorm(x, make([]float32, 64), 8, 8, nil, nil, 1e-5) },
	"exp in place":     func(x []float32) { Exp(x, x) },
	"weight is read":   func(x []float32) { RMSNorm(make([]float32, 128), make([]float32, 128), 2, 64, x, 1e-5) },
}

// TestRaceIsReported runs each race in a program of its own, this test binary,
// which must end with the race detector's report; without the race, it must not.
func TestRaceIsReported(t *testing.T) {
	const variable = "AVOFORMER_TEST_RACE"
	if v := os.Getenv(variable); v != "" {
		name, when, _ := strings.Cut(v, "/")
		x := make([]float32, 64)
		done := make(chan bool)
		write := func() { x[63] = 1; done <- true }
		if when == "after" {
			go write()
			<-done
			races[name](x)
			return
		}
		go write()
		races[name](x)
		<-done
		return
	}
	for _, isa := range Supported() {
		for name := range races {
			if testing.Short() && !strings.HasPrefix(name, "gemm") {
				continue
			}
			for _, when := range []string{"meanwhile", "after"} {
				t.Run(fmt.Sprintf("%s/%s/%s", isa, name, when), func(t *testing.T) {
					t.Parallel()
					cmd := exec.Command(os.Args[0], "-test.run=^TestRaceIsReported$")
					cmd.Env = append(os.Environ(), variable+"="+name+"/"+when, "AVOFORMER_ISA="+isa.String(), "GORACE=")
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
