package simd

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestChosen checks the implementation of every kernel for every tier and every set of features: it
// is the first one that these allow.
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
		if got, err := chooseFeatures(all, test.off); err != nil || got != test.want {
			t.Errorf("AVOFORMER_CPU=%s leaves %v, %v, want %v", test.off, got.names(), err, test.want.names())
		}
	}
	if got, err := chooseFeatures(F16C, "-avx512vnni"); err != nil || got != F16C {
		t.Errorf("turning off what the machine lacks leaves %v, %v, want f16c", got.names(), err)
	}
}

// TestWrongFeature: a word that names no feature is an error, which ends the program at its start.
func TestWrongFeature(t *testing.T) {
	for off, message := range map[string]string{
		"-avx512vnni,-avx10": `AVOFORMER_CPU = "-avx512vnni,-avx10": want some of -avx512vnni -f16c`,
		"f16c":               `not "f16c"`,
		"+f16c":              `not "+f16c"`,
		"-":                  `not "-"`,
	} {
		if _, err := chooseFeatures(0, off); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("AVOFORMER_CPU=%s: %v, want an error with %q", off, err, message)
		}
	}
}

// TestEnvironmentStops: if the environment asks for something that the machine cannot do, a program
// ends before it begins, with one line and no stack.
func TestEnvironmentStops(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	for variable, message := range map[string]string{
		"AVOFORMER_ISA=avx3":  `kernels: AVOFORMER_ISA = "avx3", want one of those this machine has: generic`,
		"AVOFORMER_CPU=-sse9": `kernels: AVOFORMER_CPU = "-sse9": want some of `,
	} {
		c := exec.Command(self, "-test.run=^$")
		c.Env = append(os.Environ(), variable)
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Skip(err) // in an emulator of one process
		}
		if text := string(out); err == nil || exit.ExitCode() != 2 || !strings.HasPrefix(text, message) || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: %v, %q, want exit code 2 and one line with %q", variable, err, out, message)
		}
	}
}

// TestConfigurations: together, the configurations run every implementation that the machine can
// run.
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
	for _, im := range catalog() {
		if im.runs() && !ran[im.Implementation] {
			t.Errorf("%v: %s runs in none of %v", im.kernel, im.Name, Configurations())
		}
	}
	if chosen != before {
		t.Error("a configuration outlives its restore")
	}
}
