package speech

import (
	"math"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// TestWindowsWithCleanUp: a text whose words are changed by their neighbours is the same in pieces.
func TestWindowsWithCleanUp(t *testing.T) {
	t.Parallel()
	c := &Characters{space: " "}
	letters := func(s string) (all []Segment) {
		for _, r := range s {
			all = append(all, Segment{Text: string(r)})
		}
		return all
	}
	if got := joined(c.Complete(letters("I do not"))); got != "I do" {
		t.Errorf("complete words are %q, want %q", got, "I do")
	}
	c.cleanUp = true
	if got := c.Complete(letters("I do not")); got != nil {
		t.Errorf("%v is said before what comes next", got)
	}
}

// TestWindowsRefused: windows do not fit convolutions that leave no hidden states to them, or whose
// last ones hear beyond the stride.
func TestWindowsRefused(t *testing.T) {
	t.Parallel()
	for _, step := range []int{0, -1, 1 << 20, math.MaxInt} {
		if windowsOf(step, windowSeconds*16000, func(n int) int { return n / max(step, 1) }).fit() {
			t.Errorf("a hidden state every %d samples is taken", step)
		}
	}
	if w := windowsOf(320, windowSeconds*16000, func(n int) int { return (n-400)/320 + 1 }); w.step != 320 || w.length != 480000 || w.stride != 80000 || !w.fit() {
		t.Errorf("windows of %d samples every %d, strides of %d", w.length, w.step, w.stride)
	}
	if windowsOf(320, windowSeconds*16000, func(n int) int { return (n-90000)/320 + 1 }).fit() {
		t.Error("hidden states of more than a stride are taken")
	}
}

// TestTimestampRules are cases of Whisper's rules that random weights do not reach.
func TestTimestampRules(t *testing.T) {
	most := 2
	r := Timestamps{First: 4, Prompt: 1, Most: &most, End: 3}
	allowed := func(written ...int) (open []int) {
		logits := make([]float32, 10)
		logits[1] = 9 // likelier than all timestamps together
		r.Hide(logits, append([]int{0}, written...))
		for i, v := range logits {
			if !math.IsInf(float64(v), -1) {
				open = append(open, i)
			}
		}
		return open
	}
	for _, c := range []struct{ written, want []int }{
		{nil, []int{4, 5, 6}},                        // a time at first, not too late
		{[]int{5}, []int{0, 1, 2}},                   // then text
		{[]int{5, 1}, []int{0, 1, 2, 6, 7, 8, 9}},    // and a later time
		{[]int{5, 1, 7}, []int{7, 8, 9}},             // with another after it, or the end, which is notimestamps here
		{[]int{5, 1, 7, 7}, []int{0, 1, 2}},          // and so on
		{[]int{5, 1, 7, 7, 1}, []int{0, 1, 2, 8, 9}}, // never back
	} {
		if got := allowed(c.written...); !slices.Equal(got, c.want) {
			t.Errorf("after %v: %v, want %v", c.written, got, c.want)
		}
	}
}

// TestPiecesEnd: what a stream of text holds at the end of the sound is said where the last token
// ended.
func TestPiecesEnd(t *testing.T) {
	t.Parallel()
	half := `{"model": {"type": "BPE", "vocab": {"a": 0, "Ã": 1}, "merges": []}, "decoder": {"type": "ByteLevel"}}` // Ã is the first byte of a character
	p := &Pieces{tokenizer: tftest.Must(tokenizer.OpenFS(fstest.MapFS{"tokenizer.json": {Data: []byte(half)}}))(t), blank: 2, step: 0.5}
	for name, hear := range map[string]func(h *HeardPieces){ // a in one hidden state, the byte in two
		"a transducer": func(h *HeardPieces) { h.Say(0, 2, 1); h.Say(1, 5, 2) },
		"CTC": func(h *HeardPieces) {
			h.Add(2)
			h.Add(2)
			h.Add(0)
			h.Add(2)
			h.Add(2)
			h.Add(1)
			h.Add(1)
		},
	} {
		h := p.Begin().(*HeardPieces)
		hear(h)
		h.End()
		if want := []Segment{{1, 1.5, "a"}, {3.5, 3.5, "\uFFFD"}}; !slices.Equal(h.All(), want) {
			t.Errorf("%s: %v, want %v", name, h.All(), want)
		}
	}
}
