package tokenizer

// tokenizer.json: models, added tokens, truncation and padding.

import (
	"bytes"
	"fmt"

	"github.com/avoformer/avoformer/fault"
)

// parseModel reads the model. Files from before 2021 do not name its type.
func parseModel(o *object, from *source) (model, error) {
	kind, err := modelType(o)
	if err != nil {
		return nil, err
	}
	vocab, _ := o.take("vocab")
	var m model
	switch kind {
	case "BPE":
		m, err = parseBPE(o, vocab, from)
	case "WordPiece":
		unknown, prefix := o.text("unk_token"), o.text("continuing_subword_prefix")
		limit := o.number("max_input_chars_per_word")
		var v *vocabulary
		if v, err = from.vocabulary("model.vocab", vocab); err == nil {
			m = newWordPiece(v, from.trieOf(), unknown, prefix, limit)
		}
	case "WordLevel":
		unknown := o.text("unk_token")
		var v *vocabulary
		if v, err = from.vocabulary("model.vocab", vocab); err == nil {
			m = &wordLevel{v, unknown}
		}
	case "Unigram":
		m, err = parseUnigram(o, vocab, from)
	default:
		return nil, unknownType("model", kind)
	}
	if err == nil {
		err = o.done()
	}
	return m, err
}

// modelType returns the type of a model. If the file does not name it, it is the first type whose
// fields are all present, in the order of Hugging Face's library.
func modelType(o *object) (string, error) {
	if err := o.once("type"); err != nil {
		return "", err
	}
	if v, ok := o.fields["type"]; ok {
		kind, isText := v.text()
		if !isText {
			return "", fmt.Errorf("%w: model.type is %s", fault.ErrFormat, v)
		}
		return kind, nil
	}
	has := func(names ...string) bool {
		for _, name := range names {
			if o.fields[name].isNull() {
				return false
			}
		}
		return true
	}
	switch vocab := o.fields["vocab"]; {
	case len(vocab) > 0 && vocab[0] == '[':
		return "Unigram", nil
	case has("vocab", "merges"):
		return "BPE", nil
	case has("vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"):
		return "WordPiece", nil
	case has("vocab", "unk_token"):
		return "WordLevel", nil
	}
	return "", fmt.Errorf("%w: model.type is missing, and no model has these fields", fault.ErrFormat)
}

func parseBPE(o *object, vocab value, from *source) (model, error) {
	c := bpeConfig{
		unknown: o.text("unk_token", ""), prefix: o.text("continuing_subword_prefix", ""), suffix: o.text("end_of_word_suffix", ""),
		fuseUnknown: o.bool("fuse_unk", false), byteFallback: o.bool("byte_fallback", false), ignoreMerges: o.bool("ignore_merges", false),
	}
	if v, ok := o.take("dropout"); ok {
		if p, isNumber := v.float(); !isNumber || p != 0 {
			return nil, fmt.Errorf("%w: model.dropout: %s", fault.ErrConfig, v)
		}
	}
	v, err := from.vocabulary("model.vocab", vocab)
	if err != nil {
		return nil, err
	}
	m := newBPE(v, c)
	m.from = from
	list, _ := o.take("merges")
	if err := from.mergesOf(list, m); err != nil {
		return nil, err
	}
	m.finish()
	return m, nil
}

func parseUnigram(o *object, vocab value, from *source) (model, error) {
	unknown := o.number("unk_id", -1)
	fallback := o.bool("byte_fallback", false)
	p, err := from.piecesOf(vocab)
	if err != nil {
		return nil, err
	}
	return p.unigram(int32(unknown), fallback)
}

// parseScored reads [["token", score], …].
func parseScored(vocab value) (*pieces, error) {
	if len(vocab) == 0 || vocab[0] != '[' {
		return nil, fmt.Errorf("%w: model.vocab must be an array", fault.ErrFormat)
	}
	n := min(bytes.Count(vocab, []byte{'['}), len(vocab)/16) // about
	tokens, scores := make([]string, 0, n), make([]float64, 0, n)
	var texts arena
	err := vocab.each(func(_, v value) error {
		i, ok := 0, v[0] == '['
		if ok {
			v.each(func(_, v value) error {
				switch i++; i {
				case 1:
					s, isText := texts.text(v)
					tokens, ok = append(tokens, s), ok && isText
				case 2:
					f, isNumber := v.float()
					scores, ok = append(scores, f), ok && isNumber
				}
				return nil
			})
		}
		if !ok || i != 2 {
			return fmt.Errorf("%w: model.vocab[%d] is %s, not a token and its score", fault.ErrFormat, len(tokens), v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return newPieces(tokens, scores), nil
}

func parseAdded(in value) ([]AddedToken, error) {
	if in.isNull() {
		return nil, nil
	}
	if in[0] != '[' {
		return nil, fmt.Errorf("%w: added_tokens must be an array", fault.ErrFormat)
	}
	var list []AddedToken
	err := in.each(func(_, v value) error {
		what := fmt.Sprintf("added_tokens[%d]", len(list))
		o, err := parseOnce(what, v)
		if err != nil {
			return err
		}
		list = append(list, AddedToken{
			ID: uint32(o.number("id")), Content: o.text("content"), SingleWord: o.bool("single_word"),
			LStrip: o.bool("lstrip"), RStrip: o.bool("rstrip"), Normalized: o.bool("normalized"), Special: o.bool("special"),
		})
		return o.done()
	})
	return list, err
}

var (
	leftOrRight = map[string]bool{"Left": true, "Right": false}
	strategies  = map[string]Strategy{"LongestFirst": LongestFirst, "OnlyFirst": OnlyFirst, "OnlySecond": OnlySecond}
)

func parseTruncation(in value) (*Truncation, error) {
	if in.isNull() {
		return nil, nil
	}
	o, err := parseOnce("truncation", in)
	if err != nil {
		return nil, err
	}
	c := &Truncation{MaxLength: o.number("max_length"), Stride: o.number("stride"),
		Strategy: choice(o, "strategy", strategies), Left: choice(o, "direction", leftOrRight, "Right")}
	return c, o.done()
}

func parsePadding(in value) (*Padding, error) {
	if in.isNull() {
		return nil, nil
	}
	o, err := parseOnce("padding", in)
	if err != nil {
		return nil, err
	}
	c := &Padding{MultipleOf: o.number("pad_to_multiple_of", 0), Left: choice(o, "direction", leftOrRight),
		ID: o.number("pad_id"), TypeID: o.number("pad_type_id"), Token: o.text("pad_token")}
	v, _ := o.take("strategy")
	if s, ok := v.text(); ok {
		if s != "BatchLongest" {
			o.fail(fault.ErrConfig, "strategy", "not supported")
		}
		return c, o.done()
	}
	fixed, err := parseOnce("padding.strategy", v)
	if err != nil {
		return nil, err
	}
	c.Length = fixed.number("Fixed")
	if err := fixed.done(); err != nil {
		return nil, err
	}
	return c, o.done()
}
