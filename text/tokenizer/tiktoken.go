package tokenizer

// Files of tiktoken: a line for each token, its bytes in base64 and its rank. The pattern and the
// special tokens are not in the file: its name, that of an encoding, says them.

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/regular"
)

// encoding is what the name of a file says.
type encoding struct {
	pattern string
	special map[string]uint32
}

// tiktokenEnd ends texts in all encodings.
const tiktokenEnd = "<|endoftext|>"

// The patterns of r50k_base, p50k_base and cl100k_base in today's tiktoken have possessive
// quantifiers, which match the same as the older ones here.

// encodings are tiktoken's encodings, by the names of their files.
var encodings = map[string]func() encoding{
	"r50k_base": func() encoding { return encoding{gpt2Source, map[string]uint32{tiktokenEnd: 50256}} },
	"p50k_base": func() encoding { return encoding{gpt2Source, map[string]uint32{tiktokenEnd: 50256}} },
	"cl100k_base": func() encoding {
		return encoding{cl100kSource, map[string]uint32{tiktokenEnd: 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276}}
	},
	"o200k_base": func() encoding {
		return encoding{o200kSource, map[string]uint32{tiktokenEnd: 199999, "<|endofprompt|>": 200018}}
	},
	"o200k_harmony": harmony,
}

// harmony is the encoding of gpt-oss.
func harmony() encoding {
	e := encoding{o200kSource, map[string]uint32{}}
	for id := uint32(200000); id < 201088; id++ {
		e.special[fmt.Sprintf("<|reserved_%d|>", id)] = id
	}
	for name, id := range map[string]uint32{"<|startoftext|>": 199998, tiktokenEnd: 199999, "<|return|>": 200002, "<|constrain|>": 200003, "<|channel|>": 200005,
		"<|start|>": 200006, "<|end|>": 200007, "<|message|>": 200008, "<|call|>": 200012} {
		delete(e.special, fmt.Sprintf("<|reserved_%d|>", id))
		e.special[name] = id
	}
	delete(e.special, "<|reserved_200018|>") // a second name of the id
	e.special["<|endofprompt|>"] = 200018
	return e
}

// tiktokenName returns the folder's file of this kind, "" if it does not have exactly one.
func tiktokenName(fsys fs.FS) string {
	if files, _ := fs.Glob(fsys, "*.tiktoken"); len(files) == 1 {
		return files[0]
	}
	return ""
}

// openTiktoken reads such a file, and returns its tokens with roles.
func openTiktoken(fsys fs.FS, name string) (*Tokenizer, map[string]string, error) {
	of, ok := encodings[strings.TrimSuffix(name, ".tiktoken")]
	if !ok {
		return nil, nil, fmt.Errorf("%w: no pattern is known for a file of this name, want one of %v", fault.ErrConfig, slices.Sorted(maps.Keys(encodings)))
	}
	data, err := regular.ReadFile(fsys, name)
	if err != nil {
		return nil, nil, err
	}
	e := of()
	r := &ranked{pattern: e.pattern}
	if r.tokens, err = tiktokenRanks(data); err != nil {
		return nil, nil, err
	}
	for _, text := range slices.SortedFunc(maps.Keys(e.special), func(a, b string) int { return int(e.special[a]) - int(e.special[b]) }) {
		r.special = append(r.special, AddedToken{ID: e.special[text], Content: text, Special: true})
	}
	t, err := r.build()
	return t, map[string]string{"eos_token": tiktokenEnd}, err
}

// tiktokenRanks returns the bytes of tokens by their rank.
func tiktokenRanks(data []byte) (tokens [][]byte, err error) {
	most := uint64(256) // of ranks: p50k_base leaves out that of a special token
	for line := range bytes.Lines(data) {
		if len(bytes.TrimRight(line, "\r\n")) > 0 {
			most++
		}
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			continue
		}
		word, rank, ok := bytes.Cut(line, []byte(" "))
		n, err := strconv.ParseUint(string(rank), 10, 31)
		if err != nil || !ok || len(word) == 0 || n >= most {
			return nil, fmt.Errorf("%w: line %d: %.40q, want base64 and a rank", fault.ErrFormat, number, line)
		}
		b, err := base64.StdEncoding.AppendDecode(nil, word)
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", fault.ErrFormat, number, err)
		}
		for len(tokens) <= int(n) {
			tokens = append(tokens, nil)
		}
		if tokens[n] != nil {
			return nil, fmt.Errorf("%w: line %d: rank %d is there twice", fault.ErrFormat, number, n)
		}
		tokens[n] = b
	}
	return tokens, nil
}
