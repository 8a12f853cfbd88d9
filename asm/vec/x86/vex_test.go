package x86

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/vex.txt with the GNU assembler")

const goldenVEX = "testdata/vex.txt"

// samples returns instructions with every register in every place.
func samples() (all []encoded) {
	for r := range 16 {
		all = append(all, vexDot{r, 0, 0}, vexDot{0, r, 0}, vexDot{0, 0, r}, vexDot{r, (r + 5) % 16, (r + 11) % 16})
	}
	for r := range 32 {
		all = append(all, evexDot{r, 0, 0}, evexDot{0, r, 0}, evexDot{0, 0, r}, evexDot{r, (r + 11) % 32, (r + 21) % 32})
	}
	all = append(all, tileInstruction{opcode: tileRelease})
	for r := range 16 {
		other := (r + 9) % 16
		if other == 4 { // the stack pointer is not an index
			other = 3
		}
		t := r % tileMax
		all = append(all, tileInstruction{opcode: "LDTILECFG", mem: &tileAddress{r, -1}, first: true},
			tileInstruction{opcode: "TILEZERO", tiles: []int{t}},
			tileInstruction{opcode: "TILELOADD", mem: &tileAddress{r, other}, first: true, tiles: []int{t}},
			tileInstruction{opcode: "TILESTORED", mem: &tileAddress{r, other}, tiles: []int{t}},
			tileInstruction{opcode: "TDPBSUD", tiles: []int{t, (t + 3) % tileMax, (t + 5) % tileMax}},
			tileInstruction{opcode: "TDPBSSD", tiles: []int{t, (t + 3) % tileMax, (t + 5) % tileMax}},
			tileInstruction{opcode: "TDPBF16PS", tiles: []int{t, (t + 3) % tileMax, (t + 5) % tileMax}})
	}
	return all
}

func line(e encoded) string { return fmt.Sprintf("%x %s\n", e.code(), e.text()) }

// TestVEX compares the samples with GNU as's bytes for them.
func TestVEX(t *testing.T) {
	want, err := os.ReadFile(goldenVEX)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(want)))
	if len(lines) != len(samples()) {
		t.Fatalf("%d lines in %s, want %d", len(lines), goldenVEX, len(samples()))
	}
	for i, s := range samples() {
		if got := line(s); got != lines[i] {
			t.Errorf("%s, want %s", got, lines[i])
		}
	}
}

// committedVEX matches an instruction in the files of package simd: directives with bytes, and the
// text.
var committedVEX = regexp.MustCompile(`(?m)^\s*((?:LONG|WORD|BYTE)\s.*) // (.+)$`)

// bytesOfLine returns the bytes of directives, as hexadecimal digits in the order of memory.
func bytesOfLine(text string) (digits string) {
	for d := range strings.SplitSeq(text, ";") {
		_, value, _ := strings.Cut(d, "$0x")
		for ; len(value) >= 2; value = value[:len(value)-2] {
			digits += value[len(value)-2:]
		}
	}
	return digits
}

// TestVEXGNUAs assembles, with GNU as, the samples and every instruction of the committed files.
// Without GNU as it is skipped, unless AVOFORMER_REQUIRE_AS is set.
func TestVEXGNUAs(t *testing.T) {
	as, err := exec.LookPath("x86_64-linux-gnu-as")
	if err != nil {
		if os.Getenv("AVOFORMER_REQUIRE_AS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	var lines []string
	for _, s := range samples() {
		lines = append(lines, line(s))
	}
	samples := len(lines)
	files, err := filepath.Glob("../../../kernels/internal/simd/*_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := committedVEX.FindAllStringSubmatch(string(b), -1)
		if n := len(regexp.MustCompile(`(?m)^\s*(LONG|WORD|BYTE|QUAD)\s`).FindAll(b, -1)); n != len(found) {
			t.Errorf("%s: %d of %d lines of bytes are such an instruction", file, len(found), n)
		}
		for _, m := range found {
			lines = append(lines, bytesOfLine(m[1])+" "+m[2]+"\n")
		}
	}
	if len(lines) == samples {
		t.Errorf("no such instruction in %v", files)
	}
	got := assemble(t, as, lines)
	if *update {
		if err := os.WriteFile(goldenVEX, []byte(strings.Join(got[:samples], "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, line := range lines {
		if got[i] != line {
			t.Errorf("GNU as has %s, the generator %s", got[i], line)
		}
	}
}

// assemble returns lines with GNU as's bytes for their instructions.
func assemble(t *testing.T, as string, lines []string) (made []string) {
	t.Helper()
	var source strings.Builder
	for _, line := range lines {
		_, text, _ := strings.Cut(line, " ")
		source.WriteString(strings.TrimSpace(text) + "\n")
	}
	cmd := exec.Command(as, "-aln", "--listing-lhs-width=2", "-o", filepath.Join(t.TempDir(), "vex.o"))
	cmd.Stdin = strings.NewReader(source.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// The listing has a line number, an offset and the bytes in memory order.
	found := regexp.MustCompile(`(?m)^\s*\d+ [0-9a-f]{4,} ([0-9A-F]{8}) ?([0-9A-F]{2,6})\s`).FindAllStringSubmatch(string(out), -1)
	if len(found) != len(lines) {
		t.Fatalf("GNU as listed %d instructions of %d", len(found), len(lines))
	}
	for i, m := range found {
		_, text, _ := strings.Cut(lines[i], " ")
		made = append(made, strings.ToLower(m[1]+m[2])+" "+text)
	}
	return made
}
