package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// benchTexts returns the texts of a folder's cases.
func benchTexts(b *testing.B, dir string) (texts []string, size int64) {
	data, err := os.ReadFile(filepath.Join(dir, "tokenizer_cases.json"))
	if err != nil {
		b.Fatal(err)
	}
	var c cases
	if err := json.Unmarshal(data, &c); err != nil {
		b.Fatal(err)
	}
	for _, x := range c.Cases {
		texts = append(texts, x.Text)
		size += int64(len(x.Text))
	}
	return texts, size
}

// BenchmarkEncode encodes the texts of testdata, short and odd ones; for the speed on ordinary text
// see scripts/speed.py.
func BenchmarkEncode(b *testing.B) {
	for _, name := range []string{"bert", "gpt2", "qwen3", "llama-untied", "xlm-roberta"} {
		dir := filepath.Join("testdata", name)
		tok := open(b, name)
		texts, size := benchTexts(b, dir)
		for what, opts := range map[string]Options{"ids": {}, "offsets": {Offsets: Characters}} {
			b.Run(name+"/"+what, func(b *testing.B) {
				b.SetBytes(size)
				b.ReportAllocs()
				for b.Loop() {
					for _, s := range texts {
						if _, err := tok.Encode(s, opts); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

// BenchmarkOpen reads a folder.
func BenchmarkOpen(b *testing.B) {
	for _, name := range []string{"bert", "gpt2", "xlm-roberta"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				open(b, name)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"bert", "gpt2", "llama-untied"} {
		tok := open(b, name)
		e, err := tok.Encode("The quick brown fox jumps over the lazy dog, naïve café 東京.", Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				tok.Decode(e.IDs, true)
			}
		})
	}
}
