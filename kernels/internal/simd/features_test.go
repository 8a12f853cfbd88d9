package simd

import (
	"slices"
	"strings"
	"testing"
)

// TestChosen looks at the implementation of every kernel for every tier and set of features:
// it is the first that they allow.
func TestChosen(t *testing.T) {
	for on := range Features(1) << len(featureNames) {
		c := choose(on)
		for k, list := range implementations {
			for isa := Generic; isa < numISAs; isa++ {
				i := int(c[k][isa])
				for j, im := range list[:i+1] {
					if allowed := im.ISA <= isa && im.Needs&on == im.Needs; allowed != (j == i) {
						t.Fatalf("%v on %v with %v: %s is chosen, and %s allowed: %v", Kernel(k), isa, on.names(), list[i].Name, im.Name, allowed)
					}
				}
			}
		}
	}
}

// TestImplementations: the list of each kernel ends with the pure-Go twin, names are unique, and
// there is a function for each.
func TestImplementations(t *testing.T) {
	for k, list := range implementations {
		if last := list[len(list)-1]; last.Name != "generic" || last.ISA != Generic || last.Needs != 0 {
			t.Errorf("%v: the last implementation is %+v, want the generic one", Kernel(k), last)
		}
		var names []string
		for _, im := range list {
			if !strings.HasPrefix(im.Name, im.ISA.String()) || slices.Contains(names, im.Name) {
				t.Errorf("%v: an implementation for %v is named %s, beside %v", Kernel(k), im.ISA, im.Name, names)
			}
			names = append(names, im.Name)
		}
		if len(functions[k]) != len(list) {
			t.Errorf("%v: %d functions for %d implementations", Kernel(k), len(functions[k]), len(list))
		}
	}
}

func TestFeaturesOff(t *testing.T) {
	all := Features(1)<<len(featureNames) - 1
	for _, test := range []struct {
		off  string
		want Features
	}{
		{"", all},
		{"-f16c", all &^ F16C},
		{"-avx512vnni, -i8mm", all &^ (AVX512VNNI | I8MM)},
		{"-dotprod,-dotprod", all &^ DotProd},
	} {
		if got := chooseFeatures(all, test.off); got != test.want {
			t.Errorf("AVOFORMER_CPU=%s leaves %v, want %v", test.off, got.names(), test.want.names())
		}
	}
	if got := chooseFeatures(F16C, "-avx512vnni"); got != F16C {
		t.Errorf("turning off what the machine lacks leaves %v, want f16c", got.names())
	}
}

// TestWrongFeature: a word that names no feature ends the program, by a panic at its start.
func TestWrongFeature(t *testing.T) {
	for off, message := range map[string]string{
		"-avx512vnni,-amx": `AVOFORMER_CPU = "-avx512vnni,-amx": want some of -avx512vnni -avx512bf16`,
		"f16c":             `not "f16c"`,
		"+f16c":            `not "+f16c"`,
		"-":                `not "-"`,
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, message) {
					t.Errorf("AVOFORMER_CPU=%s: %q, want a panic with %q", off, text, message)
				}
			}()
			chooseFeatures(0, off)
		}()
	}
}

// TestConfigurations: together they run every implementation that the machine can.
func TestConfigurations(t *testing.T) {
	ran := map[*Implementation]bool{}
	before := chosen
	for _, c := range Configurations() {
		restore := c.Use()
		for k := range Kernel(numKernels) {
			ran[k.On(c.ISA)] = true
		}
		restore()
	}
	for _, im := range catalog {
		if im.runs() && !ran[im.Implementation] {
			t.Errorf("%v: %s runs in none of %v", im.kernel, im.Name, Configurations())
		}
	}
	if chosen != before {
		t.Error("a configuration outlives its restore")
	}
}
