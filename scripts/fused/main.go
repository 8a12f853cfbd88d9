// Command fused finds Go code whose results have other bits on arm64 than on amd64: functions in
// which the compiler fuses a multiplication and an addition into one rounding, and calls of
// functions of package math that are assembly on some processors or that the compiler fuses. It
// builds the command avoformer for arm64, reads its instructions, and fails for each such function
// of this module that is not in its list.
//
//	go run ./scripts/fused
//
// A conversion rounds a product before the sum: float32(x*y) + z. Package internal/elementary
// replaces functions of package math.
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

// mayFuse holds prefixes of functions, with the reason why a fused result is the same or does not
// reach a caller.
var mayFuse = []struct{ function, why string }{
	{"kernels/internal/order.", "products of two float32 are exact in float64"},
	{"kernels/internal/simd.quantizeBlocks", "QuantizeOne: the product is exact"},
	{"kernels/internal/simd.wordColumnsGeneric", "QuantizeOne"},
	{"kernels/internal/simd.RoundWords", "products of two float32 are exact in float64"},
	{"kernels/internal/kv.(*rows).set", "QuantizeOne"},
	{"kernels/internal/weights.(*Matrix).packInt8", "QuantizeOne"},
	{"kernels/internal/weights.(*Matrix).Balance", "squares of float32 are exact in float64"},
	{"kernels/internal/weights.quantizeMXFP4", "a product with a power of two is exact"},
	{"kernels/internal/row.softmaxLongRow", "products of two float32 are exact in float64"},
	{"models.(*wav2vec2Config).loadPositions", "squares of float32 are exact in float64"},
	{"models/internal/sentence.applyModules", "squares of float32 are exact in float64"},
	{"serve/internal/engine.(*Engine).Similarity", "products of two float32 are exact in float64"},
	{"text.shape.joined", "products of float32 with counts and with float32 are exact in float64"},
	{"transformer/internal/checkpoint.(*LowRank).scaleRows", "squares of float32 are exact in float64"},
	{"text/jinja.floatPower", "a bound of an error"},
	{"internal/elementary.", "math.FMA, products with 2, and infinities; TestBits has one checksum for all machines"},
	{"serve/internal/engine.(*gate).", "a guess of time"},
	{"kernels/internal/product.(*call).partition", "a guess of time"},
	{"generation.(*gain).", "a guess of time"},
	{"generation.(*guesser).", "a guess of time"},
	{"generation.(*line).", "a guess of time"},
	{"generation.(*loop).", "a guess of time"},
	{"generation.(*pace).", "a guess of time"},
	{"generation.(*mtp).", "a guess of time"},
}

// differs matches an instruction or a call whose result may have other bits.
var differs = regexp.MustCompile(`\bFN?M(?:ADD|SUB)[SD]\b|\bmath\.(?:arch|log|pow|sin|cos|tan|exp|A|C(?:os|brt)|E|Gamma|Hypot|L(?:og|gamma)|Pow|S(?:in|inh|incos)\b|T)\w*\(SB\)`)

func main() {
	found, err := find()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fused:", err)
		os.Exit(1)
	}
	if found > 0 {
		fmt.Fprintf(os.Stderr, "fused: %d places: write float32(x*y) + z, use internal/elementary, or add the function to mayFuse in scripts/fused with the reason\n", found)
		os.Exit(1)
	}
}

// find prints the places, and returns their number.
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
	unused := map[string]bool{}
	for _, m := range mayFuse {
		unused[m.function] = true
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) > 1 && words[0] == "TEXT" {
			function = strings.TrimPrefix(words[1], module)
			continue
		}
		what := differs.FindString(lines.Text())
		if len(words) == 0 || what == "" {
			continue
		}
		place := fmt.Sprintf("%s %s %s", function, words[0], what)
		if m := allowed(function); m != "" {
			delete(unused, m)
		} else if !seen[place] {
			seen[place] = true
			fmt.Println(place)
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	for m := range unused {
		fmt.Println(m, "is in the list of scripts/fused, and does not fuse")
	}
	return len(seen) + len(unused), dump.Wait()
}

// allowed returns the prefix in the list that a function begins with, or "".
func allowed(function string) string {
	for _, m := range mayFuse {
		if strings.HasPrefix(function, m.function) {
			return m.function
		}
	}
	return ""
}
