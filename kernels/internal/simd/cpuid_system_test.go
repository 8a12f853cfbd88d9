package simd

import (
	"testing"
	"testing/fstest"
)

// TestMIDR reads registers in the form in which Linux writes them.
func TestMIDR(t *testing.T) {
	for text, want := range map[string]struct {
		vendor string
		part   int
	}{
		"0x00000000413fd0c1\n": {"ARM", 0xd0c}, // Neoverse N1
		"0x00000000411fd401\n": {"ARM", 0xd40}, // Neoverse V1
		"0x00000000410fd4f1\n": {"ARM", 0xd4f}, // Neoverse V2
		"0x00000000611f0230\n": {"Apple", 0x023},
		"0x00000000481fd010\n": {"", 0xd01}, // another manufacturer
		"":                     {}, "0xzz": {},
	} {
		vendor, part := MIDR(fstest.MapFS{"regs/identification/midr_el1": {Data: []byte(text)}})
		if vendor != want.vendor || part != want.part {
			t.Errorf("%q: %q %#x, want %q %#x", text, vendor, part, want.vendor, want.part)
		}
	}
	if vendor, part := MIDR(fstest.MapFS{}); vendor != "" || part != 0 {
		t.Errorf("without a file: %q %#x", vendor, part)
	}
}

// TestSystemCaches reads folders as Linux has them, and malformed ones.
func TestSystemCaches(t *testing.T) {
	files := fstest.MapFS{}
	for index, c := range [][3]string{{"1", "Data", "64K"}, {"1", "Instruction", "32K"}, {"2", "Unified", "1M"}, {"3", "Unified", "32768K"},
		{"4", "Unified", "1M"}, {"-1", "Data", "1K"}, {"", "", ""}} {
		for i, name := range []string{"level", "type", "size"} {
			files["cache/index"+string(rune('0'+index))+"/"+name] = &fstest.MapFile{Data: []byte(c[i] + "\n")}
		}
	}
	if got, want := SystemCaches(files), [4]int{0, 64 << 10, 1 << 20, 32 << 20}; got != want {
		t.Errorf("%v, want %v", got, want)
	}
	for _, size := range []string{"-4K", "99999999999999999999K", "K", "9999999M"} {
		if got := SystemCaches(fstest.MapFS{"cache/index0/level": {Data: []byte("2")}, "cache/index0/size": {Data: []byte(size)}}); got != [4]int{} {
			t.Errorf("size %s: %v", size, got)
		}
	}
}
