package text

import (
	"math"
	"testing"
)

// TestPenalties: penalties and biases of a call change what a hook that does the same changes.
func TestPenalties(t *testing.T) {
	g, err := OpenGenerator("testdata/generate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	const prompt, frequency, presence = "The quick brown", 0.7, 0.4
	bias := map[int]float64{40: 1.5, 41: -100}
	length := -1
	hook := func(logits []float32, tokens []int) {
		if length < 0 {
			length = len(tokens)
		}
		counts := map[int]int{}
		for _, id := range tokens[length:] {
			counts[id]++
		}
		for id, n := range counts {
			logits[id] -= float32(frequency*float64(n) + presence)
		}
		for id, b := range bias {
			logits[id] += float32(b)
		}
	}
	texts := map[string]string{}
	for name, o := range map[string]GenerateOptions{
		"none": {}, "hook": {Hook: hook}, "options": {FrequencyPenalty: frequency, PresencePenalty: presence, LogitBias: bias},
	} {
		o.MaxTokens = 40
		if texts[name], err = textOf(g.Generate(t.Context(), prompt, o)); err != nil {
			t.Fatal(err)
		}
	}
	if texts["options"] != texts["hook"] || texts["options"] == texts["none"] {
		t.Errorf("%q", texts)
	}
	for _, o := range []GenerateOptions{{FrequencyPenalty: math.Inf(1)}, {PresencePenalty: -math.Inf(1)}, {LogitBias: map[int]float64{1 << 30: 1}}} {
		if _, err := textOf(g.Generate(t.Context(), prompt, o)); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
