package tune

import (
	_ "embed"
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/simd"
)

//go:embed testdata/records.txt
var records string

var update = flag.Bool("update", false, "write testdata/records.txt")

// TestRecords: a figure of a family changes only together with testdata/records.txt. No other test notices, since figures change no
// result.
func TestRecords(t *testing.T) {
	var b strings.Builder
	var write func(at string, of reflect.Value)
	write = func(at string, of reflect.Value) {
		for i, f := range reflect.VisibleFields(of.Type()) {
			switch f.Type.Kind() {
			case reflect.Struct:
				write(at+f.Name+".", of.Field(i))
			case reflect.Int:
				value := strconv.FormatInt(of.Field(i).Int(), 10)
				if of.Field(i).Int() == math.MaxInt {
					value = "never" // on 32 bits too
				}
				fmt.Fprintf(&b, "%s%s %s\n", at, f.Name, value)
			}
		}
	}
	for _, f := range families {
		fmt.Fprintf(&b, "%s: %s, family %#x, models %#x\n", f.tuning.name, f.vendor, f.family, f.models)
		write("\t", reflect.ValueOf(f.tuning))
	}
	caches := [4]int{1: 48 << 10, 2: 512 << 10, 3: 16 << 20}
	fmt.Fprintf(&b, "derived from caches of %d bytes\n", caches[1:])
	write("\t", reflect.ValueOf(Derived(caches)))
	if *update {
		if err := os.WriteFile("testdata/records.txt", []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, want := strings.Split(b.String(), "\n"), strings.Split(records, "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("line %d of testdata/records.txt differs from %q: measure the change, then run this test with -update", i+1, append(got, "")[min(i, len(got))])
		}
	}
}

// TestUsed: the figures in use are those of the machine's family.
func TestUsed(t *testing.T) {
	family, model := simd.FamilyModel()
	if want := recordOf(simd.Vendor(), family, model, simd.Caches()); Used != want {
		t.Errorf("%s, want %s", Used.name, want.name)
	}
}

// TestAliases compares with lines that are counted one by one.
func TestAliases(t *testing.T) {
	kept := Used
	t.Cleanup(func() { Used = kept })
	for _, record := range []Record{Zen4, neoverseN1} {
		Used = record
		for _, ld := range []int{0, 1, 3, 8, 15, 16, 17, 24, 48, 100, 250, 512, 1000, 1016, 1024, 1032, 1040, 1536, 2048, 3000, 4096, 4104} {
			for _, rows := range []int{1, 2, 5, 8, 9, 14, 16, 64, 70} {
				lines := map[int]bool{}
				for i := range rows {
					lines[i*ld*element/line] = true
				}
				want, sets := 0, map[int]int{}
				for l := range lines {
					sets[l%record.Sets]++
					want = max(want, sets[l%record.Sets])
				}
				if got := aliases(ld, rows); got != want {
					t.Errorf("%s: %d rows %d apart: %d share a set, want %d", record.name, rows, ld, got, want)
				}
				crowd := want > record.Ways && rows*ld*element > record.Ways*record.Sets*line
				if got := Crowd(ld, rows); got != crowd {
					t.Errorf("%s: %d rows %d apart: %v", record.name, rows, ld, got)
				}
			}
		}
	}
}

// TestLimits has sizes at both sides of a limit.
func TestLimits(t *testing.T) {
	kept := Used
	t.Cleanup(func() { Used = kept })
	Used = Zen4 // 32 KiB
	if !HoldsTwo(16<<10) || HoldsTwo(16<<10+1) {
		t.Error("a cache of 32 KiB holds two pieces of 16 KiB, and no larger ones")
	}
	if !TwoLines(32) || TwoLines(31) || TwoLines(16) {
		t.Error("32 floats are two lines of 64 bytes, and no fewer are")
	}
}
