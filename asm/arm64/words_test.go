package arm64

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"
)

var update = flag.Bool("update", false, "write testdata/words.txt with the GNU assembler")

const goldenWords = "testdata/words.txt"

// sample is an instruction of the table with particular operands.
type sample struct {
	w            *word
	d, n, m, imm int
}

func (s sample) encode() uint32 { return s.w.encode(s.d, s.n, s.m, s.imm) }
func (s sample) text() string   { return s.w.text(s.d, s.n, s.m, s.imm) }

// samples covers every row: each register field with both extreme values and with different values,
// every lane, and every shift.
func samples(w *word) []sample {
	immediates := []int{0}
	switch w.form {
	case byElement, dotElement:
		immediates = []int{0, 1, 2, 3}
	case shiftRight:
		immediates = nil
		for i := 1; i <= arrangements[w.arr].bits; i++ {
			immediates = append(immediates, i)
		}
	}
	var list []sample
	for _, imm := range immediates {
		for _, r := range [][3]int{{0, 0, 0}, {31, 31, 31}, {1, 2, 4}, {8, 16, 31}, {31, 7, 24}} {
			list = append(list, sample{w, r[0], r[1], r[2], imm})
		}
	}
	return list
}

// checkWord decodes a word with an independent decoder, and compares the result with the text.
func checkWord(code uint32, text string) error {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], code)
	inst, err := arm64asm.Decode(b[:])
	if err != nil {
		return fmt.Errorf("%08x, meant as %q: %w", code, text, err)
	}
	if got := arm64asm.GNUSyntax(inst); got != text {
		return fmt.Errorf("%08x is %q, meant as %q", code, got, text)
	}
	return nil
}

func TestWordTable(t *testing.T) {
	for i := range words {
		w := &words[i]
		if w.base&w.form.fields() != 0 {
			t.Errorf("%s: base %08x has ones in the fields of its operands, %08x", w.op, w.base, w.form.fields())
		}
		for _, s := range samples(w) {
			if w.extension != "" {
				continue // see golden
			}
			if err := checkWord(s.encode(), s.text()); err != nil {
				t.Error(err)
			}
		}
	}
}

// golden returns GNU as's words, by their text. The decoder does not know instructions of
// extensions.
func golden(t *testing.T) map[string]uint32 {
	want := map[string]uint32{}
	b, err := os.ReadFile(goldenWords)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		code, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(code, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		want[text] = uint32(n)
	}
	return want
}

// TestWordTableCatchesEveryBit: a wrong bit anywhere in a row must not pass TestWordTable.
func TestWordTableCatchesEveryBit(t *testing.T) {
	flips := 0
	known := golden(t)
	check := func(w *word, code uint32, text string) bool {
		if w.extension != "" {
			return known[text] == code
		}
		return checkWord(code, text) == nil
	}
	for i := range words {
		for bit := range 32 {
			w := words[i]
			w.base ^= 1 << bit
			caught := w.base&w.form.fields() != 0
			for _, s := range samples(&w) {
				caught = caught || !check(&w, s.encode(), s.text())
			}
			if !caught {
				t.Errorf("%s: flipping bit %d of %08x is not caught", w.op, bit, words[i].base)
			}
			// The decoder must detect it without the check of fields.
			if s := samples(&words[i])[2]; check(&words[i], s.encode()^1<<bit, s.text()) {
				t.Errorf("%s: flipping bit %d of the word %08x is not caught", w.op, bit, s.encode())
			}
			flips++
		}
	}
	if flips != 32*len(words) || flips == 0 {
		t.Errorf("%d flips for %d rows", flips, len(words))
	}
}

// TestWordsGolden compares the table with GNU as's words.
func TestWordsGolden(t *testing.T) {
	want := golden(t)
	n := 0
	for i := range words {
		for _, s := range samples(&words[i]) {
			if code, ok := want[s.text()]; !ok || code != s.encode() {
				t.Errorf("%s: the table has %08x, GNU as %08x (known: %v)", s.text(), s.encode(), code, ok)
			}
			n++
		}
	}
	if n != len(want) {
		t.Errorf("%d samples, %d golden words: run with -update", n, len(want))
	}
}

// TestWordsGNUAs assembles, with GNU as, the table's samples, and every word of the committed files
// from its comment. Without GNU as it is skipped, unless AVOFORMER_REQUIRE_AS is set.
func TestWordsGNUAs(t *testing.T) {
	as, err := exec.LookPath("aarch64-linux-gnu-as")
	if err != nil {
		if os.Getenv("AVOFORMER_REQUIRE_AS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	var texts []string
	var codes []uint32
	for i := range words {
		for _, s := range samples(&words[i]) {
			texts, codes = append(texts, s.text()), append(codes, s.encode())
		}
	}
	inTable := len(texts)
	for _, w := range committedWords(t) {
		texts, codes = append(texts, w.text), append(codes, w.code)
	}
	got := assemble(t, as, texts)
	if *update {
		var b strings.Builder
		for i, text := range texts[:inTable] {
			fmt.Fprintf(&b, "%08x %s\n", got[i], text)
		}
		if err := os.WriteFile(goldenWords, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, code := range codes {
		if got[i] != code {
			t.Errorf("%s is %08x to GNU as, %08x to us", texts[i], got[i], code)
		}
	}
}

// assemble returns the word of each instruction.
func assemble(t *testing.T, as string, texts []string) []uint32 {
	t.Helper()
	dir := t.TempDir()
	source, object := filepath.Join(dir, "words.s"), filepath.Join(dir, "words.o")
	if err := os.WriteFile(source, []byte(strings.Join(texts, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// The listing has a line number, an offset and the bytes in memory order.
	out, err := exec.Command(as, "-march=armv8.2-a+dotprod+i8mm", "-al", "-o", object, source).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var list []uint32
	for _, m := range regexp.MustCompile(`(?m)^\s*\d+ [0-9a-f]{4,} ([0-9A-F]{8})\s`).FindAllStringSubmatch(string(out), -1) {
		n, err := strconv.ParseUint(m[1], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(n))
		list = append(list, binary.LittleEndian.Uint32(b[:]))
	}
	if len(list) != len(texts) {
		t.Fatalf("GNU as listed %d words for %d instructions", len(list), len(texts))
	}
	return list
}

// committedWord is a WORD of a committed assembly file.
type committedWord struct {
	where string
	code  uint32
	text  string
}

var wordLine = regexp.MustCompile(`^\s*WORD\s+\$0x([0-9a-f]{8}) // (.+)$`)

// committedWords reads every arm64 file of package kernels.
func committedWords(t *testing.T) []committedWord {
	t.Helper()
	files, err := filepath.Glob("../../kernels/internal/simd/*_arm64.s")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no arm64 assembly in package simd")
	}
	var list []committedWord
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		line := 0
		for s := range strings.Lines(string(b)) {
			line++
			if !strings.Contains(s, "WORD") {
				continue
			}
			where := fmt.Sprintf("%s:%d", filepath.Base(file), line)
			m := wordLine.FindStringSubmatch(strings.TrimRight(s, "\n"))
			if m == nil {
				t.Errorf("%s: not a word with a comment: %s", where, s)
				continue
			}
			code, err := strconv.ParseUint(m[1], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, committedWord{where, uint32(code), m[2]})
		}
	}
	if len(list) == 0 {
		t.Fatalf("no WORD in %v", files)
	}
	return list
}

func TestCommittedWords(t *testing.T) {
	list := committedWords(t)
	for _, w := range list {
		if e := extensionWord(w.text); e != nil {
			if *e != w.code {
				t.Errorf("%s: %08x, meant as %q, which is %08x", w.where, w.code, w.text, *e)
			}
			continue
		}
		if err := checkWord(w.code, w.text); err != nil {
			t.Errorf("%s: %v", w.where, err)
		}
	}
	t.Logf("%d words decoded", len(list))
}

// TestCommittedRegisters: the committed assembly does not use the reserved registers, and its
// functions are leaves without a frame. The test does not use the allocator.
func TestCommittedRegisters(t *testing.T) {
	files, err := filepath.Glob("../../kernels/internal/simd/*_arm64.s")
	if err != nil {
		t.Fatal(err)
	}
	reserved := regexp.MustCompile(`\b(R1[678]|R18_PLATFORM|R2[789]|R3[01]|g|RSP|SP|LR)\b`)
	functions := 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		line := 0
		for s := range strings.Lines(string(b)) {
			line++
			code, _, _ := strings.Cut(s, "//")
			if strings.HasPrefix(code, "TEXT") {
				functions++
				if !strings.Contains(code, "(SB), NOSPLIT, $0-") {
					t.Errorf("%s:%d: not a leaf without a frame: %s", filepath.Base(file), line, s)
				}
			}
			if r := reserved.FindString(code); r != "" {
				t.Errorf("%s:%d: %s is used: %s", filepath.Base(file), line, r, s)
			}
		}
	}
	if functions == 0 {
		t.Errorf("no functions in %v", files)
	}
}

// extensionWord returns the word of an instruction of an extension, from the table, which
// TestWordsGolden verifies; nil if the text is not an instruction.
func extensionWord(text string) *uint32 {
	for i := range words {
		w := &words[i]
		if w.extension == "" || !strings.HasPrefix(text, w.gnu+" ") {
			continue
		}
		var number []int // registers, and the lane
		for _, m := range regexp.MustCompile(`v(\d+)|\[(\d)\]`).FindAllStringSubmatch(text, -1) {
			n, _ := strconv.Atoi(m[1] + m[2])
			number = append(number, n)
		}
		number = append(number, 0)
		if code := w.encode(number[0], number[1], number[2], number[3]); w.text(number[0], number[1], number[2], number[3]) == text {
			return &code
		}
	}
	return nil
}
