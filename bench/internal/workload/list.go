package workload

import "strings"

// All holds every case of the full benchmark.
var All = parseAll(
	"gemm_nn,gemm_nt,gemm_packed", "128x768x768 128x3072x768 128x768x3072 512x512x512 1024x1024x1024 2048x2048x2048 "+
		"1x768x768 1x3072x768 1x4096x4096 8x3072x768 10x512x512 32x768x768 197x768x768 640x512x512 512x2048x512 5x64x64 64x64x64 77x513x129",
	"linear_bias_gelu", "128x3072x768 512x3072x768 512x2048x512 8x3072x768 1x3072x768 10x512x512",
	"bgemm_nt", "12x128x128x64",
	"bgemm_nn", "12x128x128x64 12x128x64x128",
	"softmax", "1536x128 12288x512 64x5 4096x4096 1x32000",
	"layernorm", "128x768 512x1024 4096x4096 10x512",
	"gelu_erf", "128x3072",
	"exp,gelu_tanh,silu,relu,tanh,sigmoid,erf,add,mul", "128x3072",
	"log_softmax", "1536x128",
	"rmsnorm,add_layernorm", "128x768",
	"sdpa", "1x12x32x32x64 1x12x64x64x64 1x12x128x128x64 1x12x256x256x64 1x12x512x512x64 1x12x1024x1024x64 1x8x2048x2048x64 64x8x10x10x64",
	"sdpa_decode", "1x12x1x1024x64 1x12x1x4096x64",
	"encoder_layer", "1x32x768x12x3072 1x64x768x12x3072 1x128x768x12x3072 1x256x768x12x3072 1x512x768x12x3072 8x32x768x12x3072 16x40x384x12x1536",
	"self_attention", "1x128x768x12",
	"feed_forward", "128x768x3072",
	"decoder_layer", "1x128x128x768x12x3072 10x1x16x512x8x2048",
)

// Int8 holds the cases with weights in int8.
var Int8 = parseAll(
	"gemm_packed_int8", "128x768x768 128x3072x768 512x2048x512 32x768x768",
	"encoder_layer_int8", "1x128x768x12x3072 1x128x384x12x1536",
)

// Quick holds the subset for a first impression: one case of each kind of work.
var Quick = parseAll(
	"gemm_nn", "128x768x768 1024x1024x1024 1x768x768",
	"gemm_nt", "128x768x768",
	"gemm_packed", "128x768x768 10x512x512",
	"linear_bias_gelu", "128x3072x768",
	"bgemm_nt", "12x128x128x64",
	"softmax", "1536x128",
	"layernorm", "128x768",
	"gelu_erf", "128x3072",
	"sdpa", "1x12x128x128x64",
	"sdpa_decode", "1x12x1x1024x64",
	"encoder_layer", "1x128x768x12x3072",
)

// Small holds the kernels that are not compared with other libraries.
var Small = parseAll(
	"exp,gelu_tanh,silu,relu,tanh,sigmoid,erf,add,mul", "128x3072",
	"log_softmax", "1536x128",
	"rmsnorm,add_layernorm", "128x768",
	"self_attention", "1x128x768x12",
	"feed_forward", "128x768x3072",
	"decoder_layer", "1x128x128x768x12x3072",
)

// parseAll parses pairs of operations (comma-separated) and shapes (space-separated).
func parseAll(pairs ...string) []Case {
	var out []Case
	for i := 0; i < len(pairs); i += 2 {
		for shape := range strings.FieldsSeq(pairs[i+1]) {
			for op := range strings.SplitSeq(pairs[i], ",") {
				out = append(out, MustParse(op+" "+shape))
			}
		}
	}
	return out
}
