package gguf

import (
	"bytes"
	"slices"
	"testing"
)

// TestEndTokens asks for the ends of vocabularies as published files have them.
func TestEndTokens(t *testing.T) {
	for name, c := range map[string]struct {
		tokens []string
		keys   map[string]any
		want   []int
	}{
		"the key of the end of a turn":          {[]string{"a", "b", "<turn>"}, map[string]any{"eos_token_id": uint32(1), "eot_token_id": uint32(2)}, []int{1, 2}},
		"of a message":                          {[]string{"a", "b", "c"}, map[string]any{"eom_token_id": int32(2)}, []int{2}},
		"a text without a key":                  {[]string{"a", "<|im_end|>", "<|endoftext|>"}, map[string]any{"eos_token_id": uint32(2)}, []int{1, 2}},
		"no keys":                               {[]string{"a", "</s>", "<|eot_id|>"}, nil, []int{1, 2}},
		"nothing ends":                          {[]string{"a", "b"}, nil, []int{}},
		"no vocabulary":                         {nil, map[string]any{"eos_token_id": uint32(7)}, []int{7}},
		"ids outside of the vocabulary":         {[]string{"a", "b"}, map[string]any{"eos_token_id": int32(-1), "eot_token_id": uint32(2)}, []int{}},
		"<|end|> of a message, not of a turn":   {[]string{"<|end|>", "<|return|>", "<|call|>"}, nil, []int{1, 2}},
		"<|end|> of a turn":                     {[]string{"<|end|>", "<|return|>"}, nil, []int{0, 1}},
		"<|end|> beside <|flush|>":              {[]string{"<|end|>", "<|flush|>", "<|calls|>"}, nil, []int{1, 2}},
		"</s> that is an ordinary token":        {[]string{"</s>", "<|tool_response>", "<eos>"}, nil, []int{1, 2}},
		"code: the first text, without a key":   {[]string{"[PAD]", "<PAD>", "<|file_sep|>"}, nil, []int{1, 2}},
		"code: the key instead of the text":     {[]string{"<PAD>", "x"}, map[string]any{"fim_pad_token_id": uint32(1)}, []int{1}},
		"the same token by two keys and a text": {[]string{"a", "</s>"}, map[string]any{"eos_token_id": uint32(1), "eot_token_id": uint32(1)}, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			var pairs []Pair
			if c.tokens != nil {
				pairs = append(pairs, Pair{"tokenizer.ggml.tokens", c.tokens})
			}
			for key, v := range c.keys {
				pairs = append(pairs, Pair{"tokenizer.ggml." + key, v})
			}
			var b bytes.Buffer
			if err := Write(&b, pairs, nil); err != nil {
				t.Fatal(err)
			}
			f, err := NewFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := f.EndTokens(); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%v, error %v, want %v", got, err, c.want)
			}
		})
	}
}
