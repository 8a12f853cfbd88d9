package tokenizer

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
)

// TestRanksRefused changes files of ranks, one place at a time: errors name what is wrong.
func TestRanksRefused(t *testing.T) {
	const tekken, tiktoken = "testdata/tekken/tekken.json", "testdata/cl100k_base/cl100k_base.tiktoken"
	for _, c := range []struct{ from, name, old, changed, want string }{
		{tekken, "", `"rank": 300`, `"rank": 301`, "vocab[300]: rank 301"}, {tekken, "", `"AQ=="`, `"Ag=="`, "vocab[1]"},
		{tekken, "", `"AQ=="`, `"A"`, "vocab[1]"}, {tekken, "", `"default_num_special_tokens": 30`, `"default_num_special_tokens": 300000000`, "config"},
		{tekken, "", `"default_num_special_tokens": 30`, `"default_num_special_tokens": 0`, "config"},
		{tekken, "", `"default_vocab_size": `, `"default_vocab_size": 1`, "config"}, {tekken, "", `"version": "v3"`, `"version": "v13"`, "special_tokens"},
		{tekken, "", `"pattern": "`, `"pattern": "a{1,2}+|`, "braces"}, {tekken, "", `"pattern": "`, `"pattern": "(|`, "("},
		{tekken, "", `"type"`, `"special_tokens": [{"rank": 1, "token_str": "<s>"}], "type"`, "special_tokens[0]"},
		{tekken, "", `"type"`, `"special_tokens": [{"rank": 0, "token_str": "the"}], "type"`, "special token"},
		{tekken, "", `"type"`, `"special_tokens": [{"rank": 0, "token_str": "<unk>"}], "type"`, "<s>"},
		{tiktoken, "mine.tiktoken", "", "", "want one of [cl100k_base"}, {tiktoken, "", " 299\n", " 298\n", "line"},
		{tiktoken, "", " 299\n", " 2147483647\n", "line"}, {tiktoken, "", " 299\n", " -1\n", "line 300"}, {tiktoken, "", " 299\n", " 3000\n", "line 300"}, {tiktoken, "", "AQ== 1\n", " 1\n", "line 2"}, {tiktoken, "", " 299\n", "\n", "line 300"},
		{tiktoken, "", "AQ== 1\n", "*Q== 1\n", "line 2"}, {tiktoken, "", "AQ== 1\n", "\n", "0x01"}, {tiktoken, "", "AQ== 1\n", "Ag== 1\n", "there twice"},
	} {
		data := string(tftest.Must(os.ReadFile(c.from))(t))
		if c.old != "" && !strings.Contains(data, c.old) {
			t.Fatalf("%s lacks %q", c.from, c.old)
		}
		name := c.from[strings.LastIndexByte(c.from, '/')+1:]
		if c.name != "" {
			name = c.name
		}
		_, err := OpenFS(fstest.MapFS{name: {Data: []byte(strings.Replace(data, c.old, c.changed, 1))}})
		if !errors.Is(err, fault.ErrFormat) && !errors.Is(err, fault.ErrConfig) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s with %q for %q: %v, want %q", name, c.changed, c.old, err, c.want)
		}
	}
}
