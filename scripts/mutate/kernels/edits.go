package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// edit is one way of breaking a function.
type edit struct {
	line  int    // the line in the file
	what  string // describes the change
	apply func(i int, line string) string
	data  []string // lines added to the file
}

// replace returns an edit of one line.
func replace(line int, what, with string) edit {
	return edit{line: line, what: what, apply: func(i int, old string) string {
		if i == line {
			return with
		}
		return old
	}}
}

// mutantData is replaced by the name of a broken function's own constants.
const mutantData = "MUTANTDATA"

// edits lists the changes to the function in lines[start:stop].
func edits(lines []string, start, stop, n int) []edit {
	var tails, stores, operations []edit
	guess := false
	for i := start + 1; i < stop; i++ {
		op, args := split(lines[i])
		// The code of a guess goes from this comment to a label.
		if strings.Contains(lines[i], "Any number is right") {
			guess = true
		} else if strings.HasSuffix(lines[i], ":") {
			guess = false
		}
		switch {
		case guess: // no change there makes a result wrong
		case op == "JZ" && strings.Contains(lines[i-1], "TESTQ") && strings.Contains(lines[i-1], "$"):
			// The branch chooses, by the alignment of addresses, one of two ways to the same
			// result.
		case op == "JZ" && strings.Contains(lines[i-1], "TESTQ"), op == "CBZ" && strings.Contains(args, "end"):
			label := args[strings.LastIndexAny(args, " ,")+1:]
			jump := map[string]string{"JZ": "JMP", "CBZ": "B"}[op]
			tails = append(tails, replace(i, "leave out what a length of 0 leaves out", "\t"+jump+" "+label))
		case isStore(op, args):
			stores = append(stores, replace(i, "leave out a store: "+op, ""))
		default:
			if broken, what := otherOperation(lines[i]); what != "" {
				operations = append(operations, replace(i, what, broken))
			}
		}
	}
	all := append(constants(lines, start, stop), tails...)
	return append(append(all, spread(stores, n)...), spread(operations, n)...)
}

// spread returns at most n elements of list, with the first and the last among them.
func spread(list []edit, n int) []edit {
	if len(list) <= n {
		return list
	}
	var some []edit
	for i := range n {
		some = append(some, list[i*(len(list)-1)/max(n-1, 1)])
	}
	return some
}

// split divides an instruction into its name and its operands.
func split(line string) (op, args string) {
	op, args, _ = strings.Cut(strings.TrimSpace(line), " ")
	return op, strings.TrimSpace(args)
}

var (
	x86Store = regexp.MustCompile(`^[XYZ]\d+, (?:[YK]\d+, )?-?\d*\(`)
	armStore = regexp.MustCompile(`^(?:F\d+|\(F\d+, F\d+\)|V\d+\.S\[\d\]|\[V.*\]), -?\d*\(R`)
)

func isStore(op, args string) bool {
	switch op {
	case "VMOVUPS", "VMASKMOVPS", "VMOVSS":
		return x86Store.MatchString(args) && !strings.Contains(args, "(SP)")
	case "FMOVQ", "FMOVS", "FSTPQ", "VST1", "FMOVQ.P", "FMOVS.P":
		return armStore.MatchString(args) && !strings.HasSuffix(op, ".P") && !strings.Contains(args, "RSP")
	}
	return false
}

var x86Operations = map[string]string{
	"VADDPS": "VSUBPS", "VSUBPS": "VADDPS", "VMULPS": "VADDPS", "VDIVPS": "VMULPS", "VMAXPS": "VMINPS", "VMINPS": "VMAXPS",
	"VFMADD231PS": "VFNMADD231PS", "VFMADD213PS": "VFNMADD213PS", "VFNMADD231PS": "VFMADD231PS",
	"VPDPBUSD": "VPDPWSSD", "VPMADDWD": "VPMULLW",
}

// armWords has instructions that Go's assembler lacks. They are words, with the mnemonic in a
// comment; the second element has the bits to flip.
var armWords = []struct {
	op, to string
	lane   bool // multiplies by one lane
	flip   uint32
}{
	{"fadd", "fsub", false, 1 << 23},
	{"fsub", "fadd", false, 1 << 23},
	{"fmax", "fmin", false, 1 << 23},
	{"fmin", "fmax", false, 1 << 23},
	{"fmul", "fadd", false, 0x6e20dc00 ^ 0x4e20d400},
	{"fmul", "fmla", true, 1 << 15},
	{"fmla", "fmls", true, 1 << 14},
	{"smlal", "smlsl", false, 1 << 13},
	{"smlal2", "smlsl2", false, 1 << 13},
	{"sadalp", "uadalp", false, 1 << 29},
	{"sdot", "udot", true, 1 << 29},
	{"smmla", "ummla", false, 1 << 29},
}

// vexDot matches the VPDPBUSD that Go's assembler lacks. The fourth byte of VPDPWSSD is larger by
// two.
var vexDot = regexp.MustCompile(`LONG\s+\$0x50([0-9a-f]{6}; BYTE \$0x[0-9a-f]{2}) // \{vex\} vpdpbusd`)

var wordLine = regexp.MustCompile(`WORD\s+\$0x([0-9a-f]{8}) // (\w+) (.*)$`)

// otherOperation replaces an arithmetic instruction by another one.
func otherOperation(line string) (broken, what string) {
	op, _ := split(line)
	name, suffix, _ := strings.Cut(op, ".")
	if to, ok := x86Operations[name]; ok {
		if suffix != "" {
			to += "." + suffix
		}
		return strings.Replace(line, op, to, 1), op + " to " + to
	}
	if op == "VFMLA" {
		return strings.Replace(line, op, "VFMLS", 1), "fmla to fmls"
	}
	if m := vexDot.FindStringSubmatch(line); m != nil {
		return "\tLONG $0x52" + m[1], "vpdpbusd to vpdpwssd"
	}
	m := wordLine.FindStringSubmatch(line)
	if m == nil {
		return "", ""
	}
	for _, w := range armWords {
		if w.op == m[2] && w.lane == strings.Contains(m[3], "[") {
			word, err := strconv.ParseUint(m[1], 16, 32)
			if err != nil {
				return "", ""
			}
			return fmt.Sprintf("\tWORD $0x%08x", uint32(word)^w.flip), w.op + " to " + w.to
		}
	}
	return "", ""
}

// exponentBit is the lowest bit of a float32's exponent. Flipping it doubles or halves the number.
const exponentBit = 1 << 23

var (
	x86Const = regexp.MustCompile(`(f32x(\d+)_([0-9a-f]{8})<>)\+0\(SB\)`)
	armTable = regexp.MustCompile(`MOVD\s+\$constants<>\(SB\), (R\d+)`)
	armConst = regexp.MustCompile(`FMOVQ\s+(\d*)\((R\d+)\), F\d+`)
	armData  = regexp.MustCompile(`^DATA constants<>\+(\d+)\(SB\)/8, \$0x([0-9a-f]{16})`)
)

// constants returns an edit for each constant that the function uses.
func constants(lines []string, start, stop int) (list []edit) {
	seen := map[string]bool{}
	base := ""
	for i := start + 1; i < stop; i++ {
		if m := x86Const.FindStringSubmatch(lines[i]); m != nil && !seen[m[1]] {
			seen[m[1]] = true
			bits, _ := strconv.ParseUint(m[3], 16, 32)
			lanes, _ := strconv.Atoi(m[2])
			e := edit{line: i, what: "another constant for 0x" + m[3]}
			e.apply = func(_ int, line string) string { return strings.ReplaceAll(line, m[1], mutantData) }
			for l := range lanes {
				e.data = append(e.data, fmt.Sprintf("DATA %s+%d(SB)/4, $0x%08x", mutantData, 4*l, bits^exponentBit))
			}
			e.data = append(e.data, fmt.Sprintf("GLOBL %s(SB), RODATA|NOPTR, $%d", mutantData, 4*lanes))
			list = append(list, e)
		}
		if m := armTable.FindStringSubmatch(lines[i]); m != nil {
			base = m[1]
		} else if base != "" && strings.HasSuffix(lines[i], ", "+base) {
			base = "" // the register has another value from here on
		}
		if m := armConst.FindStringSubmatch(lines[i]); m != nil && m[2] == base && !seen[m[1]] {
			seen[m[1]] = true
			offset, _ := strconv.Atoi("0" + m[1])
			list = append(list, armConstant(lines, i, offset))
		}
	}
	return list
}

// armConstant returns an edit that gives the function a table of its own, which differs at offset.
func armConstant(lines []string, line, offset int) edit {
	e := edit{line: line, apply: func(_ int, line string) string {
		return strings.ReplaceAll(line, "constants<>", mutantData)
	}}
	end := 0
	for _, l := range lines {
		m := armData.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		at, _ := strconv.Atoi(m[1])
		bits, _ := strconv.ParseUint(m[2], 16, 64)
		if at == offset {
			e.what = "another constant for 0x" + m[2][8:]
		}
		if at == offset || at == offset+8 {
			bits ^= exponentBit<<32 | exponentBit
		}
		e.data = append(e.data, fmt.Sprintf("DATA %s+%d(SB)/8, $0x%016x", mutantData, at, bits))
		end = max(end, at+8)
	}
	e.data = append(e.data, fmt.Sprintf("GLOBL %s(SB), RODATA|NOPTR, $%d", mutantData, end))
	e.data = slices.Clip(e.data)
	return e
}
