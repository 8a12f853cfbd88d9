// This file writes the times of speech in the formats of transcriptions.

package openai

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/avoformer/avoformer/text"
)

// segment is a part of the speech, as in verbose_json. Further fields of OpenAI's segments are
// about the decoding of its own model.
type segment struct {
	ID    int     `json:"id"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Text  string  `json:"text"`
}

func numbered(segments []text.Segment) []segment {
	out := make([]segment, len(segments))
	for i, s := range segments {
		out[i] = segment{i, s.Start, s.End, s.Text}
	}
	return out
}

// word is a word in verbose_json.
type word struct {
	Word  string  `json:"word"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
}

func words(segments []text.Segment) []word {
	out := make([]word, len(segments))
	for i, s := range segments {
		out[i] = word{strings.TrimSpace(s.Text), s.Start, s.End} // as OpenAI's have no spaces
	}
	return out
}

// subRip returns segments as SRT subtitles. Each has a number from 1, a line of times, a line of
// text, and an empty line.
func subRip(segments []text.Segment) []byte {
	var b bytes.Buffer
	for i, s := range segments {
		said := strings.ReplaceAll(line(s.Text), "-->", "->") // only a line of times may have -->
		fmt.Fprintf(&b, "%d\n%s --> %s\n%s\n\n", i+1, clock(s.Start, ','), clock(s.End, ','), said)
	}
	return b.Bytes()
}

var escapeVTT = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// webVTT returns segments as subtitles in the format of https://www.w3.org/TR/webvtt1.
func webVTT(segments []text.Segment) []byte {
	b := bytes.NewBufferString("WEBVTT\n\n")
	for _, s := range segments {
		fmt.Fprintf(b, "%s --> %s\n%s\n\n", clock(s.Start, '.'), clock(s.End, '.'), escapeVTT.Replace(line(s.Text)))
	}
	return b.Bytes()
}

// line returns a text in one line, because an empty line would end a subtitle.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

// clock returns seconds as hours, minutes, seconds and, after point, milliseconds.
func clock(seconds float64, point rune) string {
	ms := int64(math.Round(seconds * 1000))
	return fmt.Sprintf("%02d:%02d:%02d%c%03d", ms/3600000, ms/60000%60, ms/1000%60, point, ms%1000)
}
