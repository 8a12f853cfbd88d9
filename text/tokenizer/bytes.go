package tokenizer

import (
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// The bytes of tokens, for callers that must know what a token adds to a text before they
// choose it.

// mostHoles bounds the ids without a token that are looked at.
const mostHoles = 1 << 16

// TokenBytes returns the bytes that each token adds to a text, by its id: half a character of some, and none of special
// tokens and of ids that no token has. Joined, those of a text's tokens are what Decode gives without special tokens,
// except for a space at its beginning that Decode may take off, and for bytes that are not UTF-8. It is an error for
// decoders that make more of a token than its bytes, such as WordPiece's: what a token adds then depends on its
// neighbours.
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

// SpellToken returns the bytes of one token as TokenBytes has them, and a special token's own text: what a list of tokens
// shows. It is nil for an id that no token has, and the token as the vocabulary has it where TokenBytes is an error.
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

// bytesOf returns the bytes of a token, which is its text if it was added to the vocabulary.
func (t *Tokenizer) bytesOf(id int, token string, spell func(token string) []byte) []byte {
	if _, added := t.added.byID[uint32(id)]; added {
		return []byte(token)
	}
	return spell(token)
}

// spelling is what a decoder makes of a token alone.
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
			if d.content == " " && d.stop == 0 && i > 0 { // at the beginning of the text, once all is joined
				if _, joined := list[i-1].(fuseDecoder); joined {
					continue
				}
			}
		}
		return nil, fmt.Errorf("%w: the decoder makes text of several tokens together", fault.ErrConfig)
	}
	return func(token string) []byte {
		bytes := []byte(token)
		for _, step := range steps {
			bytes = step(string(bytes))
		}
		return bytes
	}, nil
}
