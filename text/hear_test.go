package text

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/models"
)

// repeated is n samples of a sound that is repeated, each time with a loudness of its own.
func repeated(t *testing.T, sound string, n int) []float32 {
	t.Helper()
	one := samplesOf(t, sound)
	all := make([]float32, n)
	for i := range all {
		all[i] = one[i%len(one)] / float32(int(1)<<(i/len(one)%5))
	}
	return all
}

// TestWindows compares text and times of sound that is heard in windows with those of transformers' pipeline with
// chunk_length_s=30, and the pieces of the text with the whole.
func TestWindows(t *testing.T) {
	t.Parallel()
	var want struct {
		Sound string
		Long  struct {
			Samples int
			Text    string
			Words   []int // where each begins and ends, in hidden states
		}
	}
	readExpected(t, "characters", &want)
	tr, err := OpenTranscriber("testdata/characters", Options{Threads: 3}) // the last of four windows is computed after the others
	if err != nil {
		t.Fatal(err)
	}
	samples := repeated(t, want.Sound, want.Long.Samples)
	var words []Segment
	for i, w := range strings.Fields(want.Long.Text) {
		words = append(words, Segment{float64(want.Long.Words[2*i]) / 50, float64(want.Long.Words[2*i+1]) / 50, w})
	}
	got, err := tr.Segments(t.Context(), samples, TranscribeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sameSegments(t, "words", got, words)
	var pieces []string
	for piece, err := range tr.Transcribe(t.Context(), samples, TranscribeOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, piece.Text)
	}
	if got := strings.Join(pieces, ""); got != want.Long.Text {
		t.Errorf("%q, want %q", got, want.Long.Text)
	}
	if len(pieces) != 4 {
		t.Errorf("%d pieces, want one of each of 4 windows", len(pieces))
	}
	for i, piece := range pieces[1:] {
		if !strings.HasPrefix(piece, " ") {
			t.Errorf("piece %d begins within a word: %q", i+1, piece)
		}
	}
	for range tr.Transcribe(t.Context(), samples, TranscribeOptions{}) {
		break // a caller that has heard enough
	}
}

// passes records how many samples each pass of a model has, and how far their variance is from 1 at most.
type passes struct {
	models.AudioEncoder
	samples []int
	off     float64
}

func (p *passes) EncodeAudio(ws *models.Workspace, dst, samples []float32, sounds, frames int) error {
	p.samples = append(p.samples, len(samples))
	power := 0.0
	for _, x := range samples {
		power += float64(x) * float64(x)
	}
	p.off = max(p.off, math.Abs(power/float64(len(samples))-1))
	return p.AudioEncoder.EncodeAudio(ws, dst, samples, sounds, frames)
}

// TestWindowLengths: sound of one window is heard at once, and no pass hears more than a window, which bounds its memory. Each
// is normalized by itself.
func TestWindowLengths(t *testing.T) {
	t.Parallel()
	tr, err := OpenTranscriber("testdata/characters", Options{Threads: 1}) // for passes in order
	if err != nil {
		t.Fatal(err)
	}
	const second = 16000
	for _, c := range []struct {
		samples int
		want    []int
	}{
		{second, []int{second}}, {30 * second, []int{30 * second}}, {30*second + 1, []int{30 * second, 10*second + 1}},
		{50 * second, []int{30 * second, 30 * second}}, {95 * second, []int{30 * second, 30 * second, 30 * second, 30 * second, 15 * second}},
	} {
		p := &passes{AudioEncoder: tr.model.Audio}
		tr.model.Audio = p
		_, err := tr.Characters(t.Context(), repeated(t, "sound0.wav", c.samples))
		tr.model.Audio = p.AudioEncoder
		if err != nil || !slices.Equal(p.samples, c.want) {
			t.Errorf("%d samples: passes of %v, %v, want %v", c.samples, p.samples, err, c.want)
		}
		if p.off > 1e-3 {
			t.Errorf("%d samples: the variance of a window is off by %g", c.samples, p.off)
		}
	}
}

// TestWindowsWithCleanUp: a text whose words are changed by their neighbours is the same in pieces.
func TestWindowsWithCleanUp(t *testing.T) {
	t.Parallel()
	c := &characters{space: " "}
	letters := func(s string) (all []Segment) {
		for _, r := range s {
			all = append(all, Segment{Text: string(r)})
		}
		return all
	}
	if got := joined(c.complete(letters("I do not"))); got != "I do" {
		t.Errorf("complete words are %q, want %q", got, "I do")
	}
	c.cleanUp = true
	if got := c.complete(letters("I do not")); got != nil {
		t.Errorf("%v is said before what comes next", got)
	}
}

// TestWindowsCancelled: a call that is cancelled ends before the next window.
func TestWindowsCancelled(t *testing.T) {
	t.Parallel()
	tr, err := OpenTranscriber("testdata/characters", Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	passes := 0
	_, err = tr.hear(ctx, repeated(t, "sound0.wav", 90*16000), TranscribeOptions{}, func([]Segment) bool {
		passes++
		cancel()
		return true
	})
	if !errors.Is(err, context.Canceled) || passes != 1 {
		t.Errorf("%v after %d windows", err, passes)
	}
}

// TestWindowsRefused: convolutions that leave no hidden states to windows are an error that names the field.
func TestWindowsRefused(t *testing.T) {
	t.Parallel()
	for _, step := range []int{0, -1, 1 << 20, math.MaxInt} {
		if windowsOf(step).fit(func(n int) int { return n / max(step, 1) }) {
			t.Errorf("a hidden state every %d samples is taken", step)
		}
	}
	if w := windowsOf(320); w != (ctcWindows{320, 480000, 80000}) || !w.fit(func(n int) int { return (n-400)/320 + 1 }) {
		t.Errorf("%+v", w)
	}
	if windowsOf(320).fit(func(n int) int { return (n-90000)/320 + 1 }) {
		t.Error("hidden states of more than a stride are taken")
	}
}
