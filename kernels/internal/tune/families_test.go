package tune

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const kib = 1 << 10

// TestTuning expects measured figures for the CPUs that have them, and for other CPUs figures that
// fit their caches. If the caches are alike, these are the measured ones.
func TestTuning(t *testing.T) {
	zen4Caches := [4]int{0, 32 * kib, 1024 * kib, 32768 * kib}
	like := func(name string) Record {
		want := Zen4
		want.name = name
		return want
	}
	for _, c := range []struct {
		vendor        string
		family, model int
		caches        [4]int
		want          Record
	}{
		{"AuthenticAMD", 0x19, 0x11, zen4Caches, Zen4},
		{"AuthenticAMD", 0x19, 0x61, [4]int{}, Zen4},
		{"AuthenticAMD", 0x19, 0x01, zen4Caches, Zen3},
		{"AuthenticAMD", 0x19, 0x21, [4]int{}, Zen3},
		{"AuthenticAMD", 0x19, 0x50, zen4Caches, like("derived from cache sizes")}, // Zen 3 with half its last-level cache
		{"GenuineIntel", 0x06, 0xcf, [4]int{}, SapphireRapids},
		{"GenuineIntel", 0x19, 0x11, zen4Caches, like("derived from cache sizes")},
		{"", 0, 0, [4]int{}, like("derived from cache sizes")},
		{"ARM", 0, 0xd0c, [4]int{}, neoverseN1},
		{"ARM", 0, 0xd40, [4]int{}, neoverseV1},
		{"ARM", 0, 0xd4f, zen4Caches, neoverseV2},
		{"ARM", 0, 0xd49, zen4Caches, like("derived from cache sizes")}, // Neoverse N2
		{"Apple", 0, 0, [4]int{}, appleM1},
		{"Apple", 0, 0x023, [4]int{}, appleM1},
	} {
		if got := recordOf(c.vendor, c.family, c.model, c.caches); got != c.want {
			t.Errorf("%s family %#x model %#x: %+v, want %+v", c.vendor, c.family, c.model, got, c.want)
		}
	}
	for _, c := range []struct {
		name   string
		caches [4]int
		ways   int
		mc, nc int
		stream int
	}{
		{"Zen 5", [4]int{0, 48 * kib, 1024 * kib, 32768 * kib}, 12, 140, 1024, 1 << 22},
		{"Zen 3", [4]int{0, 32 * kib, 512 * kib, 32768 * kib}, 8, 70, 1024, 1 << 22},
		{"Sapphire Rapids", [4]int{0, 48 * kib, 2048 * kib, 107520 * kib}, 12, 140, 1024, 105 << 17},
		{"Skylake, 8 MiB", [4]int{0, 32 * kib, 256 * kib, 8192 * kib}, 8, 35, 256, 1 << 20},
		{"a very small one", [4]int{0, 1 * kib, 4 * kib, 16 * kib}, 1, 28, 256, 1 << 20},
		{"a very large one", [4]int{0, 1024 * kib, 1 << 30, 1<<31 - 1}, 256, 140, 1024, 1 << 24},
	} {
		got := Derived(c.caches)
		if got.Ways != c.ways || got.Gemm.MC != c.mc || got.Gemm.NC != c.nc || got.Rows.StreamElements != c.stream {
			t.Errorf("%s: ways %d, mc %d, nc %d, stream %d, want %d, %d, %d, %d", c.name,
				got.Ways, got.Gemm.MC, got.Gemm.NC, got.Rows.StreamElements, c.ways, c.mc, c.nc, c.stream)
		}
	}
}

func TestCrowdsFar(t *testing.T) {
	kept := Used
	t.Cleanup(func() { Used = kept })
	Used = SapphireRapids
	for _, c := range []struct {
		k, ld int
		want  bool
	}{{768, 3072, true}, {512, 3072, false}, {1024, 1024, true}, {512, 1024, false}, {1025, 2048, true}, {768, 768, false}, {768, 3080, false}, {17, 1 << 17, true}} {
		if got := CrowdsFar(c.k, c.ld); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestFigures expects each figure of a Record and of Order to have a unit, a place in the documents
// with its measurement or the reason why there is none, and the measured families. These are the
// families whose figure differs from the derived one.
func TestFigures(t *testing.T) {
	needDocuments(t)
	count := 0
	var check func(of, sapphireRapids reflect.Value)
	check = func(of, sapphireRapids reflect.Value) {
		for i, f := range reflect.VisibleFields(of.Type()) {
			if f.Type.Kind() == reflect.Struct {
				check(of.Field(i), sapphireRapids.Field(i))
				continue
			}
			if f.Type.Kind() != reflect.Int {
				continue
			}
			count++
			for _, p := range problemsOf(f) {
				t.Errorf("%s: %s", f.Name, p)
			}
			if derived := of.Field(i).Int(); sapphireRapids.Field(i).Int() != derived && !strings.Contains(f.Tag.Get("on"), SapphireRapids.name) {
				t.Errorf("%s is %v on %s, %v without its record, and not said to be measured there", f.Name, sapphireRapids.Field(i), SapphireRapids.name, derived)
			}
		}
	}
	derived := Derived([4]int{1: 48 << 10, 2: 2 << 20, 3: 260 << 20})
	check(reflect.ValueOf(derived), reflect.ValueOf(SapphireRapids))
	if count < 36 {
		t.Errorf("%d figures", count)
	}
}

// needDocuments skips a test if the pages of measurements are missing, as in an emulator's guest
// and in the published module.
func needDocuments(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("../../../doc/measurements"); err != nil {
		t.Skip("only the package is here: ", err)
	}
}

// problemsOf returns the problems of the tag of a figure.
func problemsOf(f reflect.StructField) (problems []string) {
	if f.Tag.Get("unit") == "" {
		problems = append(problems, "no unit")
	}
	page, words, ok := strings.Cut(f.Tag.Get("at"), ": ")
	text, err := os.ReadFile(filepath.Join("../../../doc/measurements", page+".md"))
	if !ok || err != nil {
		problems = append(problems, fmt.Sprintf("no page of measurements: %q, %v", page, err))
	} else if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), words) {
		problems = append(problems, fmt.Sprintf("%q does not stand in %s.md", words, page))
	}
	var names []string
	for _, f := range families {
		if !f.tuning.computed {
			names = append(names, f.tuning.name)
		}
	}
	for family := range strings.SplitSeq(f.Tag.Get("on"), ", ") {
		if !slices.Contains(names, family) {
			problems = append(problems, fmt.Sprintf("no family %q", family))
		}
	}
	return problems
}

// TestFiguresWithout shows that TestFigures would fail.
func TestFiguresWithout(t *testing.T) {
	needDocuments(t)
	for tag, want := range map[string]int{
		``: 3, `unit:"rows" at:"products: Products of matrices" on:"zen4"`: 0, `unit:"rows" at:"products: never written" on:"zen4"`: 1,
		`unit:"rows" at:"nowhere: x" on:"zen4"`: 1, `unit:"rows" at:"products: Products of matrices" on:"zen 9"`: 1,
	} {
		if got := problemsOf(reflect.StructField{Name: "X", Tag: reflect.StructTag(tag)}); len(got) != want {
			t.Errorf("%s: %q, want %d problems", tag, got, want)
		}
	}
}

// TestComputed expects records that were not measured to say so, and the sizes of their caches to
// fit their ways and sets.
func TestComputed(t *testing.T) {
	for _, f := range families {
		r, measured := f.tuning, f.vendor == "AuthenticAMD" || f.vendor == "GenuineIntel"
		if r.computed == measured {
			t.Errorf("%s: computed %v", r.name, r.computed)
		}
		if r.Sets < 1 || r.Sets > mostSets || r.Sets&(r.Sets-1) != 0 {
			t.Errorf("%s: %d sets", r.name, r.Sets)
		}
		if r.Ways*r.Sets*line != 2*element*r.Gemm.InPlacePanel {
			t.Errorf("%s: %d ways of %d sets, a panel of %d elements", r.name, r.Ways, r.Sets, r.Gemm.InPlacePanel)
		}
	}
}

// TestCrowd: all rows of 4 KiB share a set of a cache with 64 sets, but only every fourth does with
// 256 sets.
func TestCrowd(t *testing.T) {
	kept := Used
	t.Cleanup(func() { Used = kept })
	for _, c := range []struct {
		record   Record
		ld, rows int
		want     bool
	}{
		{Zen4, 1024, 9, true}, {Zen4, 1024, 8, false}, {Zen4, 1040, 14, false}, {neoverseN1, 1024, 14, false},
		{neoverseN1, 4096, 5, true}, {neoverseN1, 4096, 4, false}, {appleM1, 4096, 8, false}, {appleM1, 4096, 9, true},
	} {
		if Used = c.record; Crowd(c.ld, c.rows) != c.want {
			t.Errorf("%s: %d rows %d apart: %v", c.record.name, c.rows, c.ld, !c.want)
		}
	}
}
