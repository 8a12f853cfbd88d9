package tokenizer

import (
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// The bytes of tokens, for callers that must know what a token adds to a text before they choose
// it.

// mostHoles bounds how many ids without a token TokenBytes visits.
const mostHoles = 1 << 16

// TokenBytes returns, by id, the bytes that each token adds to a text. These may be half a
// character. They are empty for special tokens and for ids that no token has. Joined over the
// tokens of a text, they are what Decode returns without special tokens, with two exceptions:
// Decode may remove a space at the beginning, and replaces bytes that are not UTF-8. TokenBytes
// fails for decoders with which the bytes of a token depend on its neighbours, such as WordPiece's.
func (t *Tokenizer) TokenBytes() ([][]byte, error) {
	spell, err := spelling(t.decoder)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for id, found := 0, 0; found < t.Size() && id < t.Size()+mostHoles; id++ {
		s, ok := t.Token(id)
		var bytes []byte
		if ok {
			found++
			if !t.IsSpecial(id) {
				bytes = t.bytesOf(id, s, spell)
			}
		}
		all = append(all, bytes)
	}
	return all, nil
}

// SpellToken returns the bytes of one token as in TokenBytes, or the text of a special token, for
// display in a list of tokens. It returns nil for an id that no token has, and the token as in the
// vocabulary where TokenBytes fails.
func (t *Tokenizer) SpellToken(id int) []byte {
	s, ok := t.Token(id)
	if !ok {
		return nil
	}
	spell, err := spelling(t.decoder)
	if err != nil {
		return []byte(s)
	}
	return t.bytesOf(id, s, spell)
}

// bytesOf returns the bytes of a token. An added token is its own text.
func (t *Tokenizer) bytesOf(id int, token string, spell func(token string) []byte) []byte {
	if _, added := t.added.byID[uint32(id)]; added {
		return []byte(token)
	}
	return spell(token)
}

// spelling returns the function that decodes a single token.
func spelling(d decoder) (func(token string) []byte, error) {
	list, ok := d.(decoders)
	if !ok {
		list = decoders{d}
	}
	var steps []func(token string) []byte
	replace := func(from, to string) {
		steps = append(steps, func(token string) []byte { return []byte(strings.ReplaceAll(token, from, to)) })
	}
	for i, d := range list {
		switch d := d.(type) {
		case byteLevelDecoder:
			if i == len(list)-1 {
				steps = append(steps, func(token string) []byte { return appendBytes(nil, token) })
				continue
			}
		case metaspaceDecoder:
			replace(string(d.replacement), " ")
			continue
		case replaceDecoder:
			if p, ok := d.pattern.(literal); ok && p != "" {
				replace(string(p), d.content)
				continue
			}
		case byteFallbackDecoder:
			steps = append(steps, func(token string) []byte {
				if b, ok := byteToken(token); ok {
					return []byte{b}
				}
				return []byte(token)
			})
			continue
		case fuseDecoder:
			continue
		case stripDecoder:
			if d.content == " " && d.stop == 0 && i > 0 { // only at the beginning of the joined text
				if _, joined := list[i-1].(fuseDecoder); joined {
					continue
				}
			}
		}
		return nil, fmt.Errorf("%w: the decoder makes text from several tokens together", fault.ErrConfig)
	}
	return func(token string) []byte {
		bytes := []byte(token)
		for _, step := range steps {
			bytes = step(string(bytes))
		}
		return bytes
	}, nil
}
