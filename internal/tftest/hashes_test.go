package tftest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/kernels"
)

// tableOf is the environment variable with the path of TestTable's table.
const tableOf = "AVOFORMER_TEST_HASHES"

// hashOfName returns the hash of a result with a name.
func hashOfName(name string) Hash {
	h := NewHash()
	h.Add(name, []float32{1, 2})
	return h
}

// TestTable computes hashes for two names. TestUpdate starts it.
func TestTable(t *testing.T) {
	path := os.Getenv(tableOf)
	if path == "" {
		t.Skip("TestUpdate starts it")
	}
	table, names := OpenHashes(t, path), []string{"a", "b"}
	for _, name := range names {
		t.Run(name, func(t *testing.T) { table.Check(t, name, kernels.FormatF32, hashOfName(name)) })
	}
	table.Close(t, names)
}

// TestUpdate: -update-hashes adds and removes lines, and leaves the table unchanged if -run leaves
// names out.
func TestUpdate(t *testing.T) {
	if err := exec.Command(os.Args[0], "-test.run=^$").Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Skip("an emulator runs this program, which starts no other: ", err)
	}
	first := fmt.Sprintf("# numerics %d\n", kernels.Numerics)
	a, b := "a f32 "+hashOfName("a").String()+"\n", "b f32 "+hashOfName("b").String()+"\n"
	whole := first + a + b
	for name, c := range map[string]struct {
		table, run, after string
		update, fails     bool
	}{
		"a line is new":           {first + a, "^TestTable$", whole, true, false},
		"a line is old":           {whole + "c f32 00c\n", "^TestTable$", whole, true, false},
		"old numerics":            {"# numerics 0\na f32 11\n", "^TestTable$", whole, true, false},
		"another hash":            {first + "a f32 11\n", "^TestTable$", "", true, true},
		"a part":                  {whole, "^TestTable$/^b$", "", true, true},
		"a part of old numerics":  {"# numerics 0\na f32 11\n", "^TestTable$/^b$", "", true, true},
		"a part without -update":  {whole, "^TestTable$/^b$", "", false, false},
		"a new line, no -update":  {first + a, "^TestTable$", "", false, true},
		"an old line, no -update": {whole + "c f32 00c\n", "^TestTable$", "", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "hashes.txt")
			NoError(t, os.WriteFile(path, []byte(c.table), 0o666))
			cmd := exec.Command(os.Args[0], "-test.run="+c.run, fmt.Sprintf("-update-hashes=%v", c.update))
			cmd.Env = append(os.Environ(), tableOf+"="+path)
			if out, err := cmd.CombinedOutput(); (err != nil) != c.fails {
				t.Errorf("%v, want an error: %v\n%s", err, c.fails, out)
			}
			want := c.after
			if want == "" {
				want = c.table
			}
			if got := Must(os.ReadFile(path))(t); string(got) != want {
				t.Errorf("the table is %q, want %q", got, strings.TrimSpace(want))
			}
		})
	}
}

// TestMoved: sums show how far results moved, within a factor of four, and a NaN is at its place.
func TestMoved(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, move := range []float64{0, 1e-6, 1e-3, 1} {
		before, after := NewHash(), NewHash()
		x, y := make([]float32, 5000), make([]float32, 5000)
		for i := range x {
			x[i] = float32(3 * r.NormFloat64())
			y[i] = x[i] + float32(move*r.NormFloat64())
		}
		x[7], y[7] = float32(math.NaN()), float32(math.NaN())
		before.Add("", x)
		after.Add("", y)
		path := filepath.Join(t.TempDir(), "sums.txt")
		NoError(t, os.WriteFile(path, []byte("a f32 "+before.sums.String()+"\n"), 0o666))
		by, all := after.sums.distance(readSums(t, path)["a f32"])
		if by > 4*move+1e-8 || by < move/4 || all < 0.75 || all > 12 {
			t.Errorf("moved by %g: by %g, and they are %g, want 3", move, by, all)
		}
	}
	if got := hashOfName("a").moved(sums{}); !strings.Contains(got, "not known") {
		t.Error(got)
	}
}
