// Sound heard in windows by models of CTC.

package speech

import (
	"github.com/avoformer/avoformer/models"
)

// A model of CTC attends from each hidden state to all of them, so that time grows with the square of what it hears at
// once. Windows have the length of Whisper's, and the strides that transformers' pipeline has without stride_length_s: a
// sixth of a window.
const (
	windowSeconds = 30
	strideSeconds = 5
)

// windows says how long sound is divided. All are whole numbers of the samples from one hidden state to the next.
type windows struct {
	step   int // samples from one hidden state to the next
	length int // samples of a window
	stride int // samples at each end of a window whose hidden states are dropped
}

// windowsOf is the windows of a model with a hidden state every step samples.
func windowsOf(step int) windows {
	w := windows{step: step}
	if step > 0 {
		w.length, w.stride = whole(windowSeconds, step), whole(strideSeconds, step)
	}
	return w
}

// whole is the multiple of step that is next to a number of seconds, in samples.
func whole(seconds, step int) int {
	return (seconds*models.SampleRate + step/2) / step * step
}

// fit reports whether windows leave hidden states, and miss none: the last ones of a window hear beyond its end, which must be no
// more than the stride.
func (w windows) fit(rows func(samples int) int) bool {
	return w.stride > 0 && 2*w.stride < w.length && rows(w.length) >= (w.length-w.stride)/w.step
}

// Windows cuts samples into windows. A window of so many samples has as many hidden states as rows says.
func (c *Characters) Windows(samples []float32, rows func(samples int) int) []Window {
	return c.windows.of(samples, rows)
}

// A Window is samples that are heard at once. The hidden states From to To count.
type Window struct {
	Samples  []float32
	From, To int
}

// of cuts samples into windows, of whose samples there are so many hidden states as rows says.
func (w windows) of(samples []float32, rows func(samples int) int) (all []Window) {
	for at := 0; ; at += w.length - 2*w.stride {
		x := Window{Samples: samples[at:]}
		last := len(x.Samples) <= w.length
		if !last {
			x.Samples = x.Samples[:w.length]
		}
		if at > 0 {
			x.From = w.stride / w.step
		}
		if x.To = (w.length - w.stride) / w.step; last {
			x.To = rows(len(x.Samples))
		}
		if all = append(all, x); last {
			return all
		}
	}
}
