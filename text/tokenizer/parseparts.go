package tokenizer

// tokenizer.json: normalizers, pre-tokenizers, post-processors and decoders.

import (
	"encoding/base64"
	"fmt"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

func parseNormalizer(what string, in value) (normalizer, error) {
	o, kind, err := typed(what, in)
	if err != nil {
		return nil, err
	}
	var n normalizer
	switch kind {
	case "BertNormalizer", "Bert":
		b := &bertNormalizer{clean: o.bool("clean_text"), chinese: o.bool("handle_chinese_chars"), table: properties}
		_, given := o.fields["strip_accents"]
		given = given && !o.fields["strip_accents"].isNull()
		b.strip = o.bool("strip_accents", false)
		b.lower = o.bool("lowercase")
		if !given {
			b.strip = b.lower
		}
		b.lowerCase = newLowerCase()
		n = b
	case "NFC":
		n = form{ucd.FormC}
	case "NFD":
		n = form{ucd.FormD}
	case "NFKC":
		n = form{ucd.FormKC}
	case "NFKD":
		n = form{ucd.FormKD}
	case "Lowercase":
		n = newLowerCase()
	case "StripAccents":
		n = dropped{ucd.Combining, properties}
	case "Strip":
		n = strip{o.bool("strip_left"), o.bool("strip_right")}
	case "Nmt":
		n = nmt{}
	case "ByteLevel":
		n = byteChars{}
	case "Prepend":
		n = prepend(o.text("prepend"))
	case "Replace":
		r := &replace{content: o.text("content")}
		pattern, _ := o.take("pattern")
		if r.pattern, err = parsePattern(what, pattern); err != nil {
			return nil, err
		}
		n = r
	case "Precompiled":
		data, err := base64.StdEncoding.DecodeString(o.text("precompiled_charsmap"))
		if err != nil {
			return nil, fmt.Errorf("%w: %s.precompiled_charsmap: %v", fault.ErrFormat, what, err)
		}
		if n, err = parseCharsmap(data); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
	case "Sequence":
		n = normalizers(parts(o, "normalizers", parseNormalizer))
	default:
		return nil, unknownType(what, kind)
	}
	return n, o.done()
}

func parsePreTokenizer(what string, in value) (preTokenizer, error) {
	o, kind, err := typed(what, in)
	if err != nil {
		return nil, err
	}
	var p preTokenizer
	switch kind {
	case "BertPreTokenizer":
		p = bertPreTokenizer{}
	case "Whitespace":
		p = whitespace{}
	case "WhitespaceSplit":
		p = whitespaceSplit{}
	case "ByteLevel":
		o.bool("trim_offsets", true)
		p = byteLevel{prefixSpace: o.bool("add_prefix_space"), pattern: o.bool("use_regex", true), spell: true}
	case "Metaspace":
		p = parseMetaspace(o)
	case "CharDelimiterSplit", "Delimiter":
		p = splitRune(o.rune("delimiter"))
	case "Punctuation":
		p = splitChars{ucd.Punct, choice(o, "behavior", behaviors, "Isolated")}
	case "Digits":
		b := contiguous
		if o.bool("individual_digits") {
			b = isolated
		}
		p = splitChars{ucd.Numeric, b}
	case "FixedLength":
		n := o.number("length", 5)
		if n < 1 {
			o.fail(fault.ErrFormat, "length", "is 0")
		}
		p = fixedLength(n)
	case "Split":
		s := &splitAt{behavior: choice(o, "behavior", behaviors), invert: o.bool("invert")}
		pattern, _ := o.take("pattern")
		if s.pattern, err = parsePattern(what, pattern); err != nil {
			return nil, err
		}
		p = s
	case "Sequence":
		p = preTokenizers(parts(o, "pretokenizers", parsePreTokenizer))
	default:
		return nil, unknownType(what, kind)
	}
	return p, o.done()
}

var schemes = map[string]scheme{"always": always, "first": first, "never": never}

// parseMetaspace reads prepend_scheme, or add_prefix_space, which files from before 2023 have.
func parseMetaspace(o *object) metaspace {
	p := metaspace{replacement: o.rune("replacement"), split: o.bool("split", true)}
	_, given := o.fields["prepend_scheme"]
	p.scheme = choice(o, "prepend_scheme", schemes, "always")
	if !o.bool("add_prefix_space", true) {
		if given && p.scheme != never {
			o.fail(fault.ErrFormat, "", "add_prefix_space is false, but prepend_scheme is not never")
		}
		p.scheme = never
	}
	o.take("str_rep")
	return p
}

func parsePostProcessor(what string, in value) (postProcessor, error) {
	o, kind, err := typed(what, in)
	if err == nil {
		err = o.once(o.repeated...)
	}
	if err != nil {
		return nil, err
	}
	var p postProcessor
	switch kind {
	case "BertProcessing":
		p = &bertProcessing{cls: parseSpecial(o, "cls"), sep: parseSpecial(o, "sep")}
	case "RobertaProcessing":
		p = &bertProcessing{cls: parseSpecial(o, "cls"), sep: parseSpecial(o, "sep"), roberta: true,
			trim: o.bool("trim_offsets"), prefixSpace: o.bool("add_prefix_space")}
	case "ByteLevel":
		o.bool("use_regex", true)
		p = byteLevelOffsets{o.bool("trim_offsets"), o.bool("add_prefix_space")}
	case "TemplateProcessing":
		p = parseTemplate(o)
	case "Sequence":
		p = postProcessors(parts(o, "processors", parsePostProcessor))
	default:
		return nil, unknownType(what, kind)
	}
	return p, o.done()
}

// parseSpecial reads ["token", id].
func parseSpecial(o *object, name string) special {
	v, ok := o.take(name)
	var s special
	i := 0
	if ok = ok && v[0] == '['; ok {
		v.each(func(_, v value) error {
			switch i++; i {
			case 1:
				s.token, ok = v.text()
			case 2:
				id, isID := v.uint32()
				s.id, ok = int(id), ok && isID && id <= maxID
			}
			return nil
		})
	}
	if !ok || i != 2 {
		o.fail(fault.ErrFormat, name, "must be a token and its id")
	}
	return s
}

func parseTemplate(o *object) *template {
	tokens := map[string][]special{}
	if v, ok := o.take("special_tokens"); ok && v[0] == '{' {
		v.each(func(key, v value) error {
			name, _ := key.text()
			tokens[name] = parseSpecialTokens(o, name, v)
			return nil
		})
	} else {
		o.fail(fault.ErrFormat, "special_tokens", "must be an object")
	}
	return &template{single: parsePieces(o, "single", tokens), pair: parsePieces(o, "pair", tokens)}
}

// parseSpecialTokens reads {"id": …, "ids": […], "tokens": […]}.
func parseSpecialTokens(o *object, name string, in value) []special {
	var list []special
	fields, err := parseObject(o.what+".special_tokens", in)
	if err != nil {
		o.fail(fault.ErrFormat, "special_tokens", "%q must be an object", name)
		return nil
	}
	ids, okIDs := fields.take("ids")
	texts, okTexts := fields.take("tokens")
	if !okIDs || !okTexts || ids[0] != '[' || texts[0] != '[' {
		o.fail(fault.ErrFormat, "special_tokens", "%q must have ids and tokens", name)
		return nil
	}
	ids.each(func(_, v value) error {
		id, ok := v.uint32()
		if !ok || id > maxID {
			o.fail(fault.ErrFormat, "special_tokens", "the ids of %q hold %s", name, v)
		}
		list = append(list, special{id: int(id)})
		return nil
	})
	i := 0
	texts.each(func(_, v value) error {
		s, ok := v.text()
		if !ok || i >= len(list) {
			o.fail(fault.ErrFormat, "special_tokens", "%q must have as many tokens as ids", name)
			return nil
		}
		list[i].token = s
		i++
		return nil
	})
	if i != len(list) {
		o.fail(fault.ErrFormat, "special_tokens", "%q must have as many tokens as ids", name)
	}
	return list
}

func parsePieces(o *object, name string, tokens map[string][]special) []templatePiece {
	v, ok := o.take(name)
	if !ok || v[0] != '[' {
		o.fail(fault.ErrFormat, name, "must be an array")
		return nil
	}
	var pieces []templatePiece
	v.each(func(_, v value) error {
		piece := templatePiece{text: -1}
		kind, inner := "", value(nil)
		if v[0] == '{' {
			v.each(func(key, v value) error {
				kind, _ = key.text()
				inner = v
				return nil
			})
		}
		fields, err := parseObject(o.what+"."+name, inner)
		if err != nil {
			o.fail(fault.ErrFormat, name, "must hold objects")
			return nil
		}
		id := fields.text("id")
		piece.typeID = fields.number("type_id")
		switch {
		case fields.done() != nil:
			o.fail(fault.ErrFormat, name, "%v", fields.err)
		case kind == "Sequence" && id == "A":
			piece.text = 0
		case kind == "Sequence" && id == "B" && name == "pair":
			piece.text = 1
		case kind == "SpecialToken":
			known := false
			if piece.tokens, known = tokens[id]; !known {
				o.fail(fault.ErrFormat, name, "%q is not in special_tokens", id)
			}
		default:
			o.fail(fault.ErrConfig, name, "%s %q", kind, id)
		}
		pieces = append(pieces, piece)
		return nil
	})
	return pieces
}

func parseDecoder(what string, in value) (decoder, error) {
	o, kind, err := typed(what, in)
	if err != nil {
		return nil, err
	}
	var d decoder
	switch kind {
	case "ByteLevel":
		o.bool("add_prefix_space", true)
		o.bool("trim_offsets", true)
		o.bool("use_regex", true)
		d = byteLevelDecoder{}
	case "WordPiece":
		d = wordPieceDecoder{o.text("prefix"), o.bool("cleanup")}
	case "Metaspace":
		m := parseMetaspace(o)
		d = metaspaceDecoder{m.replacement, m.scheme != never}
	case "BPEDecoder":
		d = bpeDecoder(o.text("suffix"))
	case "ByteFallback":
		d = byteFallbackDecoder{}
	case "Fuse":
		d = fuseDecoder{}
	case "Strip":
		d = stripDecoder{string(o.rune("content")), o.number("start"), o.number("stop")}
	case "Replace":
		r := replaceDecoder{content: o.text("content")}
		pattern, _ := o.take("pattern")
		if r.pattern, err = parsePattern(what, pattern); err != nil {
			return nil, err
		}
		d = r
	case "CTC":
		d = ctcDecoder{o.text("pad_token"), o.text("word_delimiter_token"), o.bool("cleanup")}
	case "Sequence":
		d = decoders(parts(o, "decoders", parseDecoder))
	default:
		return nil, unknownType(what, kind)
	}
	return d, o.done()
}
