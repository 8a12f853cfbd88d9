package tile

import (
	"encoding/hex"
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

var update = flag.Bool("update", false, "write testdata/forms.txt with the GNU assembler")

const forms = "testdata/forms.txt"

// samples returns every instruction, with every register in every place and with every kind of
// address.
func samples() (all []Instruction) {
	for _, op := range Ops() {
		switch op {
		case TILERELEASE:
			all = append(all, Instruction{Op: op})
		case TILEZERO:
			for t := range tiles {
				all = append(all, Instruction{Op: op, C: t})
			}
		case LDTILECFG, STTILECFG:
			all = append(all, Instruction{Op: op, Mem: Address{Base: -1, Index: -1, Scale: 1, Disp: 0x1234, OfNext: true}})
			for r := range Registers {
				all = append(all, Instruction{Op: op, Mem: Address{Base: r, Index: -1, Scale: 1, Disp: int64(r-8) * 40}})
			}
		case TILELOADD, TILELOADDT1, TILESTORED:
			for r := range Registers {
				index := (r + 9) % len(Registers)
				if index == 4 { // the stack pointer is not an index
					index = 3
				}
				all = append(all, Instruction{Op: op, C: r % tiles, Mem: Address{Base: r, Index: index, Scale: 1 << (r % 4), Disp: int64(r%3-1) * 64 << (r % 5)}})
			}
		default:
			for t := range tiles {
				all = append(all, Instruction{Op: op, C: t, A: (t + 3) % tiles, B: (t + 5) % tiles})
			}
		}
	}
	return all
}

// TestDecode decodes GNU as's output for the samples, and refuses each instruction if it is cut
// short.
func TestDecode(t *testing.T) {
	text, err := os.ReadFile(forms)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(text)))
	if len(lines) != len(samples()) {
		t.Fatalf("%d lines in %s for %d samples", len(lines), forms, len(samples()))
	}
	for n, want := range samples() {
		digits, name, _ := strings.Cut(strings.TrimSpace(lines[n]), " ")
		code, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		if name != want.String() {
			t.Fatalf("line %d is of %s, want %v", n+1, name, want)
		}
		want.Len = len(code)
		if got, err := Decode(append(code, 0x90, 0x90)); err != nil || got != want {
			t.Errorf("% x: %+v, %v, want %+v", code, got, err, want)
		}
		for cut := range code {
			if got, err := Decode(code[:cut]); err == nil {
				t.Errorf("% x is %v, want an error", code[:cut], got)
			}
		}
	}
}

// TestDecodeReserved refuses instructions that the processor refuses.
func TestDecodeReserved(t *testing.T) {
	for name, code := range map[string]string{
		"TDPBSSD of tile 8":                "c4627b5ec0",
		"TDPBSSD by tile 8":                "c4e23b5ec0",
		"TDPBSSD times tile 8":             "c4c27b5ec0",
		"TDPBSSD of 64 bits":               "c4e2fb5ec0",
		"TDPBSSD of 256 bits":              "c4e27f5ec0",
		"TILEZERO with a second register":  "c4e23b49c0",
		"TILEZERO with r/m":                "c4e27b49c1",
		"TILERELEASE of a tile":            "c4e27849c8",
		"LDTILECFG with a register":        "c4e2784908",
		"TILELOADD without an index":       "c4e27b4b07",
		"TILELOADD of tile 8":              "c4627b4b0437",
		"TILELOADD with a second register": "c4e23b4b0437",
		"TDPFP16PS":                        "c4e27b5cc0",
		"another map":                      "c4e17b5ec0",
		"VEX of two bytes":                 "c5fb5ec0c0",
	} {
		b, err := hex.DecodeString(code)
		if err != nil {
			t.Fatal(err)
		}
		if i, err := Decode(b); err == nil {
			t.Errorf("%s: %s is %v, want an error", name, code, i)
		}
	}
}

// TestFormsGNUAs assembles the samples with GNU as. Without GNU as it is skipped, unless
// AVOFORMER_REQUIRE_AS is set.
func TestFormsGNUAs(t *testing.T) {
	as, err := exec.LookPath("x86_64-linux-gnu-as")
	if err != nil {
		if os.Getenv("AVOFORMER_REQUIRE_AS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	var source strings.Builder
	for _, i := range samples() {
		fmt.Fprintln(&source, i)
	}
	cmd := exec.Command(as, "-aln", "--listing-lhs-width=3", "-o", filepath.Join(t.TempDir(), "forms.o"))
	cmd.Stdin = strings.NewReader(source.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := regexp.MustCompile(`(?m)^\s*\d+ [0-9a-f]{4} ([0-9A-F ]+?)\s*\t(.*)$`).FindAllStringSubmatch(string(out), -1)
	if len(found) != len(samples()) {
		t.Fatalf("GNU as listed %d instructions of %d:\n%s", len(found), len(samples()), out)
	}
	var made strings.Builder
	for _, f := range found {
		fmt.Fprintf(&made, "%s %s\n", strings.ToLower(strings.ReplaceAll(f[1], " ", "")), strings.TrimSpace(f[2]))
	}
	if *update {
		if err := os.WriteFile(forms, []byte(made.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(forms); err != nil || made.String() != string(want) {
		t.Errorf("output of GNU as for the samples (%v):\n%s", err, made.String())
	}
}
