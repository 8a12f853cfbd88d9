package openai

import (
	"testing"

	"github.com/avoformer/avoformer/text"
)

func TestSubtitles(t *testing.T) {
	said := []text.Segment{{Start: 0, End: 1.0605, Text: " a --> b"}, {Start: 59.9996, End: 3725.25, Text: "x < y\n\n& z "}}
	if got, want := string(subRip(said)), "1\n00:00:00,000 --> 00:00:01,061\na -> b\n\n2\n00:01:00,000 --> 01:02:05,250\nx < y & z\n\n"; got != want {
		t.Errorf("SRT %q, want %q", got, want)
	}
	if got, want := string(webVTT(said)), "WEBVTT\n\n00:00:00.000 --> 00:00:01.061\na --&gt; b\n\n00:01:00.000 --> 01:02:05.250\nx &lt; y &amp; z\n\n"; got != want {
		t.Errorf("WebVTT %q, want %q", got, want)
	}
}
