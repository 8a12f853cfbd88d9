package tokenizer

// Mistral's tekken.json, as the package mistral-common reads it.

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/regular"
)

// tekkenName is the file's.
const tekkenName = "tekken.json"

// tekkenSpecial are the special tokens of files without a list.
var tekkenSpecial = []string{"<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]",
	"[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"}

// tekkenVersions are the versions of files that may lack the list.
var tekkenVersions = []string{"v1", "v2", "v3", "v7"}

// tekkenFile has the fields of the file for texts. Images and sound have files of their own.
type tekkenFile struct {
	Config struct {
		Pattern string `json:"pattern"`
		Size    int    `json:"default_vocab_size"`
		Special int    `json:"default_num_special_tokens"`
		Version string `json:"version"`
	} `json:"config"`
	Vocab []struct {
		Rank  int    `json:"rank"`
		Bytes string `json:"token_bytes"` // in base64
	} `json:"vocab"`
	Special []struct {
		Rank int    `json:"rank"`
		Text string `json:"token_str"`
	} `json:"special_tokens"`
}

// openTekken reads the file, and returns its tokens with roles. A text begins with <s>.
func openTekken(fsys fs.FS) (*Tokenizer, map[string]string, error) {
	data, err := regular.ReadFile(fsys, tekkenName)
	if err != nil {
		return nil, nil, err
	}
	var f tekkenFile
	if err := pyjson.Unmarshal(data, &f); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", fault.ErrFormat, err)
	}
	r, err := f.ranked()
	if err != nil {
		return nil, nil, err
	}
	t, err := r.build()
	if err != nil {
		return nil, nil, err
	}
	roles := map[string]string{"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
	maps.DeleteFunc(roles, func(_, text string) bool {
		return !slices.ContainsFunc(r.special, func(t AddedToken) bool { return t.Content == text })
	})
	t.post, err = beginAndEnd(t.model, "<s>", "", true, false)
	return t, roles, err
}

// ranked returns the tokens: special ones have the first ids, and of the others as many count as
// config says.
func (f *tekkenFile) ranked() (*ranked, error) {
	c := f.Config
	size := c.Size - c.Special
	if c.Special < len(f.Special) || size < 1 || size > len(f.Vocab) || c.Special < 1 || c.Special > 1<<20 {
		return nil, fmt.Errorf("%w: config: %d tokens with %d special ones, of %d and %d in the file", fault.ErrFormat, c.Size, c.Special, len(f.Vocab), len(f.Special))
	}
	r := &ranked{tokens: make([][]byte, size), first: uint32(c.Special), pattern: c.Pattern}
	for i, t := range f.Vocab {
		if t.Rank != i {
			return nil, fmt.Errorf("%w: vocab[%d]: rank %d", fault.ErrFormat, i, t.Rank)
		}
		b, err := base64.StdEncoding.DecodeString(t.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%w: vocab[%d]: %w", fault.ErrFormat, i, err)
		}
		if i < size {
			r.tokens[i] = b
		}
		if i < 256 && string(b) != string([]byte{byte(i)}) {
			return nil, fmt.Errorf("%w: vocab[%d] is %q, want the byte", fault.ErrFormat, i, b)
		}
	}
	names := make([]string, c.Special)
	for i := range names {
		names[i] = fmt.Sprintf("<SPECIAL_%d>", i)
	}
	if f.Special == nil {
		if !slices.Contains(tekkenVersions, c.Version) {
			return nil, fmt.Errorf("%w: special_tokens: missing in version %q", fault.ErrFormat, c.Version)
		}
		copy(names, tekkenSpecial)
	}
	for i, t := range f.Special {
		if t.Rank != i {
			return nil, fmt.Errorf("%w: special_tokens[%d]: rank %d", fault.ErrFormat, i, t.Rank)
		}
		names[i] = t.Text
	}
	for i, name := range names {
		r.special = append(r.special, AddedToken{ID: uint32(i), Content: name, Special: true})
	}
	return r, nil
}
