// Fused finds where the compiler fuses a multiplication and an addition of Go code into one rounding, as it may on arm64: a result
// would have other bits there than on amd64. It builds the command for arm64, looks at its instructions, and fails for each
// function of this module that fuses and is not one of those that may.
//
//	go run ./scripts/fused
//
// A product is kept apart by a conversion: float32(x*y) + z.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const module = "github.com/avoformer/avoformer/"

// mayFuse are functions in which a fused result is the same, or is none that a caller sees.
var mayFuse = []struct{ function, why string }{
	{"kernels/internal/order.", "products of two float32 are exact in float64"},
	{"kernels/internal/simd.quantizeBlocks", "QuantizeOne: the product is exact"},
	{"kernels/internal/simd.wordColumnsGeneric", "QuantizeOne"},
	{"kernels/internal/simd.RoundWords", "products of two float32 are exact in float64"},
	{"kernels/internal/kv.(*rows).set", "QuantizeOne"},
	{"kernels/internal/weights.(*Matrix).packInt8", "QuantizeOne"},
	{"kernels/internal/weights.quantizeQ8_0", "QuantizeOne"},
	{"kernels/internal/weights.(*Matrix).Balance", "squares of float32 are exact in float64"},
	{"kernels/internal/weights.(*grid).fit", "products of whole numbers and float32 are exact"},
	{"kernels/internal/weights.quantizeGroups", "a product of 11 and 6 bits is exact"},
	{"kernels/internal/weights.quantizeMXFP4", "a product with a power of two is exact"},
	{"kernels/internal/row.softmaxLongRow", "products of two float32 are exact in float64"},
	{"models.(*wav2vec2Config).loadPositions", "squares of float32 are exact in float64"},
	{"models/internal/sentence.applyModules", "squares of float32 are exact in float64"},
	{"serve/internal/engine.(*Engine).Similarity", "products of two float32 are exact in float64"},
	{"text.shape.joined", "products of float32 with counts and with float32 are exact in float64"},
	{"transformer/internal/checkpoint.Scope.scaleRows", "squares of float32 are exact in float64"},
	{"text/internal/jinja.floatPower", "a bound of an error"},
	{"kernels/internal/product.(*call).partition", "a guess of time"},
	{"generation.(*gain).", "a guess of time"},
	{"generation.(*guesser).", "a guess of time"},
	{"generation.(*line).", "a guess of time"},
	{"generation.(*loop).", "a guess of time"},
	{"generation.(*pace).", "a guess of time"},
	{"serve/internal/engine.(*gate).release", "a guess of time"},
}

var fused = regexp.MustCompile(`\bFN?M(ADD|SUB)[SD]\b`)

func main() {
	found, err := find()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fused:", err)
		os.Exit(1)
	}
	if found > 0 {
		fmt.Fprintf(os.Stderr, "fused: %d places: write float32(x*y) + z, or say in scripts/fused why the result is the same\n", found)
		os.Exit(1)
	}
}

// find prints the places, and returns how many there are.
func find() (found int, err error) {
	dir, err := os.MkdirTemp("", "fused")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "avoformer")
	build := exec.Command("go", "build", "-o", binary, "./cmd/avoformer")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return 0, err
	}
	dump := exec.Command("go", "tool", "objdump", "-s", "^"+module, binary)
	dump.Stderr = os.Stderr
	out, err := dump.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := dump.Start(); err != nil {
		return 0, err
	}
	function, seen := "", map[string]bool{}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) > 1 && words[0] == "TEXT" {
			function = strings.TrimPrefix(words[1], module)
		} else if place := function + " "; len(words) > 0 && fused.MatchString(lines.Text()) && !allowed(function) && !seen[place+words[0]] {
			seen[place+words[0]] = true
			fmt.Println(place + words[0])
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return len(seen), dump.Wait()
}

func allowed(function string) bool {
	for _, m := range mayFuse {
		if strings.HasPrefix(function, m.function) {
			return true
		}
	}
	return false
}
