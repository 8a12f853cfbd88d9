package native

// held describes how libraries are limited to an instruction set: the environment variables for it,
// and the families that have no such variables and are left out.
var held = map[string]struct{ env, without []string }{
	"avx2": {
		env: []string{
			"DNNL_MAX_CPU_ISA=AVX2", "ONEDNN_MAX_CPU_ISA=AVX2", // oneDNN before and since version 3
			"OPENBLAS_CORETYPE=Haswell", "MKL_ENABLE_INSTRUCTIONS=AVX2", "ATEN_CPU_CAPABILITY=avx2",
		},
		without: []string{"onnxruntime", "blis"},
	},
}

// CanHold reports whether libraries can be limited to an instruction set.
func CanHold(isa string) bool { return len(held[isa].env) > 0 }
