package tokenizer

// Streaming decoders, which get their tokens one by one.

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// stage is a decoder that produces text as soon as it is certain.
type stage interface {
	// next appends the output for the next token. After a stage that joins all tokens, token is the
	// next characters.
	next(out []string, token string) []string
	// end appends the output that waited for the end.
	end(out []string) []string
}

// stagesOf returns the stages of a decoder. joined says whether its input has been joined, and the
// result whether its output is.
func stagesOf(d decoder, joined bool) ([]stage, bool) {
	switch d := d.(type) {
	case nil:
		return []stage{&spacedStage{}}, joined
	case decoders:
		var all []stage
		for _, x := range d {
			var more []stage
			more, joined = stagesOf(x, joined)
			all = append(all, more...)
		}
		return all, joined
	case fuseDecoder:
		return nil, true
	case metaspaceDecoder: // decodes each character separately
		return []stage{&eachStage{d: d, first: joined}}, joined
	}
	if joined {
		return []stage{joinedStage(d)}, true
	}
	switch d := d.(type) {
	case byteLevelDecoder:
		return []stage{&byteStage{}}, true
	case byteFallbackDecoder:
		return []stage{&fallbackStage{}}, false
	case bpeDecoder:
		return []stage{&bpeStage{d: d}}, false
	case ctcDecoder:
		return []stage{&ctcStage{d: d}}, false
	}
	return []stage{&eachStage{d: d}}, false
}

// joinedStage returns the stage of a decoder whose only input token is the whole text.
func joinedStage(d decoder) stage {
	switch d := d.(type) {
	case stripDecoder:
		return &stripStage{d: d}
	case replaceDecoder:
		if p, ok := d.pattern.(literal); ok && p != "" {
			return &replaceStage{d: d, pattern: string(p)}
		}
	}
	return &wholeStage{d: d} // no known tokenizer has such a decoder
}

// spacedStage puts a space between tokens.
type spacedStage struct{ later bool }

func (s *spacedStage) next(out []string, token string) []string {
	if s.later {
		out = append(out, " ")
	}
	s.later = true
	return append(out, token)
}

func (*spacedStage) end(out []string) []string { return out }

// eachStage is for decoders that decode each token independently, except the first.
type eachStage struct {
	d     decoder
	first bool // every token is decoded like the first
	later bool
	pair  [2]string
}

func (s *eachStage) next(out []string, token string) []string {
	s.pair = [2]string{"", token}
	if s.first || !s.later {
		s.later = true
		return append(out, s.d.decode(s.pair[1:])...)
	}
	return append(out, s.d.decode(s.pair[:])[1])
}

func (*eachStage) end(out []string) []string { return out }

// byteStage is the stage of byteLevelDecoder.
type byteStage struct{ held []byte }

func (s *byteStage) next(out []string, token string) []string {
	s.held = appendBytes(s.held, token)
	n := complete(s.held)
	if n == 0 {
		return out
	}
	out = append(out, lossy(s.held[:n]))
	s.held = slices.Delete(s.held, 0, n)
	return out
}

func (s *byteStage) end(out []string) []string { return append(out, lossy(s.held)) }

// complete returns the length of b without an incomplete character at its end that further bytes
// may complete.
func complete(b []byte) int {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}

// fallbackStage is the stage of byteFallbackDecoder.
type fallbackStage struct {
	row    []byte // bytes that may still be UTF-8
	broken bool   // the bytes are not UTF-8
}

func (s *fallbackStage) next(out []string, token string) []string {
	b, ok := byteToken(token)
	if !ok {
		return append(s.end(out), token)
	}
	if s.broken {
		return append(out, string(utf8.RuneError))
	}
	s.row = append(s.row, b)
	switch n := complete(s.row); {
	case !utf8.Valid(s.row[:n]):
		out = s.end(out)
		s.broken = true
	case len(s.row) >= maxWaiting:
		out = append(out, string(s.row[:n]))
		s.row = slices.Delete(s.row, 0, n)
	}
	return out
}

func (s *fallbackStage) end(out []string) []string {
	out = appendRow(out, s.row)
	s.row, s.broken = s.row[:0], false
	return out
}

// bpeStage is the stage of bpeDecoder, which treats the last token differently.
type bpeStage struct {
	d    bpeDecoder
	held []string // at most one token
}

func (s *bpeStage) next(out []string, token string) []string {
	if len(s.held) > 0 {
		out = append(out, s.d.decode(append(s.held, ""))[0])
		s.held = s.held[:0]
	}
	if strings.Contains(token, string(s.d)) {
		s.held = append(s.held, token)
		return out
	}
	return append(out, token)
}

func (s *bpeStage) end(out []string) []string { return append(out, s.d.decode(s.held)...) }

// ctcStage is the stage of ctcDecoder.
type ctcStage struct {
	d    ctcDecoder
	last [1]string // at first "", which has no output either
}

func (s *ctcStage) next(out []string, token string) []string {
	if token == s.last[0] {
		return out
	}
	s.last[0] = token
	return append(out, s.d.decode(s.last[:])...)
}

func (*ctcStage) end(out []string) []string { return out }

// stripStage is the stage of stripDecoder.
type stripStage struct {
	d       stripDecoder
	cut     int  // characters removed from the start so far
	started bool // nothing more is removed from the start
	held    int  // characters held back because they may be at the end
}

func (s *stripStage) next(out []string, text string) []string {
	for !s.started && text != "" {
		rest, ok := strings.CutPrefix(text, s.d.content)
		if s.started = !ok || s.cut == s.d.start; !s.started {
			text = rest
			s.cut++
		}
	}
	text = strings.Repeat(s.d.content, s.held) + text
	for s.held = 0; s.held < s.d.stop && strings.HasSuffix(text, s.d.content); s.held++ {
		text = text[:len(text)-len(s.d.content)]
	}
	return append(out, text)
}

func (*stripStage) end(out []string) []string { return out }

// replaceStage is the stage of replaceDecoder with a literal pattern.
type replaceStage struct {
	d       replaceDecoder
	pattern string
	held    string // may be the beginning of a match
	one     [1]string
}

func (s *replaceStage) next(out []string, text string) []string {
	text = s.held + text
	rest := text
	for at := strings.Index(rest, s.pattern); at >= 0; at = strings.Index(rest, s.pattern) {
		rest = rest[at+len(s.pattern):]
	}
	n := min(len(s.pattern)-1, len(rest))
	for !strings.HasPrefix(s.pattern, rest[len(rest)-n:]) {
		n--
	}
	s.held, s.one[0] = rest[len(rest)-n:], text[:len(text)-n]
	return append(out, s.d.decode(s.one[:])...)
}

func (s *replaceStage) end(out []string) []string { return append(out, s.held) }

// wholeStage waits for the whole text.
type wholeStage struct {
	d    decoder
	text []byte
}

func (s *wholeStage) next(out []string, text string) []string {
	s.text = append(s.text, text...)
	return out
}

func (s *wholeStage) end(out []string) []string {
	return append(out, s.d.decode([]string{string(s.text)})...)
}

// maxWaiting bounds, in bytes, the successive byte tokens that wait for their end.
const maxWaiting = 64
