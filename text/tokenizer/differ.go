package tokenizer

// Warnings about folders whose files say different things about the ids of a text, where one of
// them is followed as transformers does.

import (
	"fmt"
	"slices"

	"github.com/avoformer/avoformer/internal/pyclass"
)

// probes are short texts in whose ids tokenizers of different kinds differ: spaces, digits, cases,
// contractions, scripts, forms of Unicode, code.
var probes = []string{
	"Hello, world!", " a  b   c ", "a\tb\r\n\n  c\n", "1234567 3.14 2²", "camelCase HTTPServer iPhone15", "we'll WE'LL don't I'M", "!!! ... ?!", "https://a.org/b_c?d=e&f",
	"if (x != 0) {\n\treturn x->y;\n}", "Été été naïve", "E\u0301te\u0301", "ﬁ ① Ａｂ", "İstanbul ΑΣ ß", "日本語の文、中国", "한국어 한", "ไทย हिन्दी", "مرحبا שלום", "Привет", "👩‍👩‍👧 🇫🇷 é",
	"a\u00a0b\u200bc\u00add", "a\u0000b\ufffd", "▁a▁▁b", "<0x0A>", "$1,000 50%", "__init__ 'a' \"b\"",
}

// compare notes a warning if a tokenizer that a class builds from a folder gives other ids than its
// tokenizer.json as it is written.
func (s *settings) compare(class string, written, built *Tokenizer) {
	written, built = written.WithPadding(nil).WithTruncation(nil), built.WithPadding(nil).WithTruncation(nil)
	differ, first := 0, ""
	for _, text := range probes {
		a, errA := written.Encode(text, Options{})
		b, errB := built.Encode(text, Options{})
		if (errA == nil) == (errB == nil) && (errA != nil || slices.Equal(a.IDs, b.IDs)) {
			continue
		}
		if differ++; differ == 1 {
			first = text
		}
	}
	if differ > 0 {
		s.notes = append(s.notes, fmt.Sprintf("tokenizer.json: the class %s builds another tokenizer of it, here as in transformers %s: %d of %d short texts have other ids, such as %q; "+
			"the option TokenizerAsWritten (-tokenizer-as-written of the command) uses the file as it is", class, pyclass.Transformers, differ, len(probes), first))
	}
}
