package peerenv

import (
	"slices"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	environ := []string{"PATH=/bin", "OPENBLAS_CORETYPE=Haswell", "OMP_NUM_THREADS=1", "MKLROOT=/opt", "OMPI_X=1", "KMP_AFFINITY=a=b", "HOME=/root"}
	for _, test := range []struct {
		keep  string
		env   []string
		notes []string // a text that each contains
	}{
		{"", []string{"PATH=/bin", "MKLROOT=/opt", "OMPI_X=1", "HOME=/root"}, []string{"not passed on to other libraries: KMP_AFFINITY=a=b OMP_NUM_THREADS=1 OPENBLAS_CORETYPE=Haswell ("}},
		{"KMP_AFFINITY,OMP_NUM_THREADS", []string{"PATH=/bin", "OMP_NUM_THREADS=1", "MKLROOT=/opt", "OMPI_X=1", "KMP_AFFINITY=a=b", "HOME=/root"},
			[]string{"not passed on to other libraries: OPENBLAS_CORETYPE=Haswell (", "may hold them back: KMP_AFFINITY=a=b OMP_NUM_THREADS=1"}},
		{"all", environ, []string{"may hold them back: KMP_AFFINITY=a=b OMP_NUM_THREADS=1 OPENBLAS_CORETYPE=Haswell"}},
	} {
		keep := KeepVariable + "=" + test.keep
		e := Of(append(slices.Clone(environ), keep))
		if want := append(test.env, keep); !slices.Equal(e.Env, want) {
			t.Errorf("%s: %q, want %q", keep, e.Env, want)
		}
		notes := e.Notes()
		if len(notes) != len(test.notes) {
			t.Fatalf("%s: %q", keep, notes)
		}
		for i, n := range notes {
			if !strings.Contains(n, test.notes[i]) {
				t.Errorf("%s: %q, want %q", keep, n, test.notes[i])
			}
		}
	}
	if notes := Of([]string{"PATH=/bin"}).Notes(); notes != nil {
		t.Errorf("notes %q, want none for an environment without such variables", notes)
	}
}

// TestFamilies has a variable of each family that is known to slow a library down.
func TestFamilies(t *testing.T) {
	for _, v := range []string{"OPENBLAS_CORETYPE=Haswell", "OPENBLAS_NUM_THREADS=1", "GOTO_NUM_THREADS=1", "BLIS_ARCH_TYPE=haswell", "BLIS_NUM_THREADS=1",
		"MKL_ENABLE_INSTRUCTIONS=AVX2", "MKL_NUM_THREADS=1", "MKL_CBWR=COMPATIBLE", "DNNL_MAX_CPU_ISA=AVX2", "ONEDNN_MAX_CPU_ISA=AVX2",
		"ATEN_CPU_CAPABILITY=default", "OMP_NUM_THREADS=1", "OMP_THREAD_LIMIT=1", "GOMP_CPU_AFFINITY=0", "KMP_BLOCKTIME=0"} {
		if e := Of([]string{v}); len(e.Env) != 0 {
			t.Errorf("%s is passed on", v)
		}
	}
}
