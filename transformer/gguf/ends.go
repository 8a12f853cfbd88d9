package gguf

import (
	"errors"
	"slices"
	"sync"

	"github.com/avoformer/avoformer/fault"
)

// This file finds the tokens that end a language model's text. Few files name all of them.

// endKeys name tokens that end a text, a turn or, in code, a piece that was to be filled in.
var endKeys = []string{"eos_token_id", "eot_token_id", "eom_token_id", "fim_pad_token_id", "fim_rep_token_id", "fim_sep_token_id"}

// endTexts are tokens that end a text or a turn wherever a vocabulary has them. These lists are
// those of llama.cpp.
var endTexts = []string{
	"<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|calls|>", "<|flush|>", "<end_of_turn>", "<|endoftext|>", "</s>",
	"<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>",
	"<｜end▁of▁sentence｜>", "[e~[",
}

// fillTexts are the tokens of fim_pad, fim_rep and fim_sep. Where no key names one, the first that
// a vocabulary has ends texts.
var fillTexts = map[string][]string{
	"fim_pad_token_id": {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"},
	"fim_rep_token_id": {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"},
	"fim_sep_token_id": {"<|file_sep|>"},
}

// asked has all texts that EndTokens looks for.
var asked = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{"<|plamo:eos|>": true}
	for _, t := range endTexts {
		all[t] = true
	}
	for _, texts := range fillTexts {
		for _, t := range texts {
			all[t] = true
		}
	}
	return all
})

// EndTokens returns the ids of the tokens that end what a language model writes, in ascending
// order: those that the metadata below tokenizer.ggml names, and those whose text says so in the
// vocabularies of published models, such as <|im_end|>. The error matches [fault.ErrType] if a key
// is not what it should be; a file without a vocabulary has the tokens of its keys.
func (f *File) EndTokens() ([]int, error) {
	const prefix = "tokenizer.ggml."
	tokens, err := f.Texts(prefix + "tokens")
	if err != nil && !errors.Is(err, fault.ErrAbsent) {
		return nil, err
	}
	id := map[string]int{} // of the tokens that are asked for
	for i, t := range tokens {
		if asked()[t] {
			id[t] = i
		}
	}
	ends := map[int]bool{}
	for _, key := range endKeys {
		switch n, err := f.Int(prefix + key); {
		case err == nil:
			if n >= 0 && (tokens == nil || n < int64(len(tokens))) { // converters write -1, and what a vocabulary was padded to
				ends[int(n)] = true
			}
		case !errors.Is(err, fault.ErrAbsent):
			return nil, err
		default:
			for _, t := range fillTexts[key] {
				if i, ok := id[t]; ok {
					ends[i] = true
					break
				}
			}
		}
	}
	has := func(text string) bool { _, ok := id[text]; return ok }
	for _, t := range endTexts {
		if i, ok := id[t]; ok {
			ends[i] = true
		}
	}
	if has("<|return|>") && (has("<|call|>") || has("<|calls|>")) || has("<|flush|>") && (has("<|call|>") || has("<|calls|>")) {
		drop(ends, id, "<|end|>") // ends a message there, which others of the same turn may follow
	}
	if has("<|tool_response>") || has("<|plamo:eos|>") {
		drop(ends, id, "</s>") // an ordinary token there
	}
	list := make([]int, 0, len(ends))
	for i := range ends {
		list = append(list, i)
	}
	slices.Sort(list)
	return list, nil
}

// drop takes a text's token out of ends, if it has one.
func drop(ends map[int]bool, id map[string]int, text string) {
	if i, ok := id[text]; ok {
		delete(ends, i)
	}
}
