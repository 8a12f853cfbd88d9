// Sound heard in windows by models that attend to all of it.

package speech

import "github.com/avoformer/avoformer/models"

// A model of CTC attends from each hidden state to all of them, so that time grows with the square
// of what it hears at once. Windows of models that take samples have the length of Whisper's, and
// the strides that transformers' pipeline has without stride_length_s: a sixth of a window. Strides
// of longer windows are as long.
const (
	windowSeconds = 30
	strideSeconds = 5
)

// windows says how long sound is divided. All are whole numbers of the samples from one hidden
// state to the next.
type windows struct {
	rows   func(samples int) int // hidden states of a number of samples
	step   int                   // samples from one hidden state to the next
	length int                   // samples of a window
	stride int                   // samples at each end of a window whose hidden states are dropped
}

// windowsOf returns the windows of a length in samples of a model with a hidden state every step
// samples, and as many of samples as rows says.
func windowsOf(step, length int, rows func(samples int) int) windows {
	w := windows{rows: rows, step: step}
	if step > 0 {
		w.length = whole(length, step)
		w.stride = min(whole(strideSeconds*models.SampleRate, step), whole(w.length/6, step))
	}
	return w
}

// whole returns the multiple of step that is next to a number of samples.
func whole(samples, step int) int { return (samples + step/2) / step * step }

// fit reports whether windows leave hidden states, and miss none: the last ones of a window hear
// beyond its end, which must be no more than the stride.
func (w windows) fit() bool {
	return w.stride > 0 && 2*w.stride < w.length && w.rows(w.length) >= (w.length-w.stride)/w.step
}

// A Window is samples that are heard at once. The hidden states From to To count.
type Window struct {
	Samples  []float32
	From, To int
}

// Windows cuts samples into windows.
func (w windows) Windows(samples []float32) (all []Window) {
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
			x.To = w.rows(len(x.Samples))
		}
		if all = append(all, x); last {
			return all
		}
	}
}
