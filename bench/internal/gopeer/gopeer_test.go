package gopeer

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/bench/internal/interleave"
	"github.com/avoformer/avoformer/bench/internal/workload"
)

// TestLibrariesAgreeWithTheOracle: every library's results are right for all cases that it offers.
func TestLibrariesAgreeWithTheOracle(t *testing.T) {
	for _, name := range []string{"gemm_nn 8x48x33", "gemm_nt 8x48x33", "bgemm_nn 3x8x16x9", "bgemm_nt 3x8x16x9", "softmax 5x33", "exp 5x33"} {
		d := workload.NewData(workload.MustParse(name))
		for _, r := range interleave.Run(d, All(1), interleave.Options{Rounds: 1}) {
			if r.Refused != nil {
				t.Errorf("%s: %s: %v", name, r.Name, r.Refused)
			}
		}
	}
}

func TestServe(t *testing.T) {
	d := workload.NewData(workload.MustParse("gemm_nn 8x48x33"))
	dir := t.TempDir()
	for i, x := range d.In {
		var b []byte
		for _, v := range x {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("in%d", i)), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir) // its name may have spaces
	in, out := io.Pipe()
	go func() {
		fmt.Fprint(out, "time 3\ncase gemm_nn - . 8 48 33\ntime 3\ncase softmax - . 8 48\nfree\ntime 3\n")
		out.Close()
	}()
	var answers strings.Builder
	if err := Serve("gonum"+gonumSuffix, 1, in, &answers); err != nil {
		t.Fatal(err)
	}
	var got []string
	for s := bufio.NewScanner(strings.NewReader(answers.String())); s.Scan(); {
		word, _, _ := strings.Cut(s.Text(), " ")
		got = append(got, word)
	}
	if len(got) != 7 || got[0] != "ready" || got[1] != "no" || got[2] != "ok" || got[3] <= "0" || got[4] != "no" || got[5] != "ok" || got[6] != "no" {
		t.Errorf("answers %q", got)
	}
	b, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	y := make([]float32, len(b)/4)
	for i := range y {
		y[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	if err := d.Check(y); err != nil {
		t.Error(err)
	}
}
