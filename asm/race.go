package asm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// The race detector sees no memory that assembly touches. Under the race build
// tag the dispatching functions therefore report their operands to it. Which
// parts of which slices those are follows from the parameters of the forms
//
//	func(dst, x …)                      each slice whole
//	func(dst, x …, rows, cols int …)    each slice whole
//
// and is in strided for the kernels whose slices are matrices with a leading
// dimension. A kernel without an entry there that needs one is not reported;
// TestRaceReports fails then.

// matrix names the parameters with the size of an operand.
type matrix struct{ rows, cols, ld string }

var finishOperands = map[string]matrix{
	"dst":      {"rows", "cols", "lddst"},
	"x":        {"rows", "cols", "cols"},
	"bias":     {"1", "cols", "cols"},
	"residual": {"rows", "cols", "ldresidual"},
}

var strided = map[string]map[string]matrix{
	"gemmPanel": {
		"a": {"m", "k", "lda"},
		"b": {"k", "n", "ldb"},
		"c": {"m", "n", "ldc"},
	},
	"gemmPack": {
		"a":   {"m", "k", "lda"},
		"b":   {"k", "n", "ldb"},
		"dst": {"k", "n", "n"},
		"c":   {"m", "n", "ldc"},
	},
	"gemmDot":        {"a": {"m", "k", "lda"}, "b": {"n", "k", "ldb"}, "c": {"m", "n", "ldc"}},
	"gemvPanels":     {"b": {"len(c)", "len(a)", "len(a)"}},
	"gemvRows":       {"b": {"len(a)", "len(c)", "ldb"}},
	"gemvDot":        {"b": {"len(c)", "len(a)", "ldb"}},
	"copyRows":       {"dst": {"rows", "cols", "lddst"}, "x": {"rows", "cols", "ldx"}},
	"addRows":        {"dst": {"rows", "cols", "lddst"}, "x": {"rows", "cols", "ldx"}},
	"transposeRows":  {"dst": {"cols", "rows", "lddst"}, "x": {"rows", "cols", "ldx"}},
	"finishIdentity": finishOperands,
	"finishReLU":     finishOperands,
	"finishGELU":     finishOperands,
	"finishGELUTanh": finishOperands,
	"finishSiLU":     finishOperands,
	"attnSoftmax":    {"s": {"rows", "cols", "ld"}},
	"attnScaleRows":  {"x": {"rows", "cols", "ld"}},
	"attnAccumulate": {"v": {"len(p)", "len(o)", "ldv"}},
	"attnDot": {
		"q": {"rows", "dim", "ldq"},
		"k": {"n", "dim", "ldk"},
		"s": {"rows", "n", "lds"},
	},
	"attnShort": {
		"q":    {"rows", "dim", "ldq"},
		"k":    {"n", "dim", "ldk"},
		"bias": {"1", "len(bias)", "len(bias)"},
		"v":    {"n", "cols", "ldv"},
		"o":    {"rows", "cols", "ldo"},
	},
	"attnFew": {
		"q":    {"rows", "dim", "ldq"},
		"k":    {"n", "dim", "ldk"},
		"bias": {"1", "len(bias)", "len(bias)"},
		"v":    {"n", "cols", "ldv"},
		"o":    {"rows", "cols", "ldo"},
	},
}

// written are the operands that kernels write; all others they only read.
var written = []string{"dst", "sum", "tmp", "y", "c", "s", "o"}

// writtenBy are the exceptions: operands written by one kernel only.
var writtenBy = map[string][]string{
	"attnSoftmax":   {"max", "factor"},
	"expSumRows":    {"max"},
	"attnScaleRows": {"x"},
}

// raceReports writes the calls that report the operands of k, and names the
// first operand of which it does not know the extent.
func raceReports(k Kernel) (calls, unknown string) {
	var w bytes.Buffer
	params := paramNames(k.Signature)
	sizes := slices.ContainsFunc(params, func(p string) bool {
		return p != "rows" && p != "cols" && paramType(k.Signature, p) == "int"
	})
	fmt.Fprintf(&w, "if race.Enabled {\n")
	for _, p := range params {
		if !strings.HasPrefix(paramType(k.Signature, p), "[]") {
			continue
		}
		access := "Read"
		if slices.Contains(written, p) || slices.Contains(writtenBy[k.Name], p) {
			access = "Write"
		}
		m, ok := strided[k.Name][p]
		switch {
		case ok:
			for _, size := range []string{m.rows, m.cols, m.ld} {
				if !slices.Contains(params, size) && !strings.HasPrefix(size, "len(") && size != "1" {
					return "", p
				}
			}
			fmt.Fprintf(&w, "race%sRows(%s, %s, %s, %s)\n", access, p, m.rows, m.cols, m.ld)
		case sizes && strided[k.Name] == nil:
			return "", p
		default:
			fmt.Fprintf(&w, "race%s(%s)\n", access, p)
		}
	}
	fmt.Fprintf(&w, "}\n")
	return w.String(), ""
}
