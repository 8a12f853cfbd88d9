package block

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// Convolutions over time and frequency, as FastConformers begin with.

// SubsamplingConfig is the sizes of a [Subsampling].
type SubsamplingConfig struct {
	Bins     int // features of a frame
	Channels int
	Steps    int // of each convolution over time and over frequency, an odd number
	Stride   int // of each convolution
	Layers   int // convolutions
	Dim      int // of the result
}

// Subsampling makes one hidden state of several frames of a spectrogram: a convolution to channels,
// then depthwise convolutions, each with a projection of the channels, and a projection of all that
// is left of a frame. Each convolution halves time and frequency if its stride is 2 (Rekesh et al.,
// 2023, "Fast Conformer with Linearly Scalable Attention for Efficient Speech Recognition").
type Subsampling struct {
	SubsamplingConfig
	first     *transformer.Linear // [steps*steps, channels]
	depthwise []depthwise
	pointwise []*transformer.Linear // [channels, channels]
	out       *transformer.Linear   // [frequencies*channels, D]
}

// depthwise is a convolution of each channel.
type depthwise struct{ weight, bias []float32 } // [steps*steps, channels], [channels]

// LoadSubsampling takes the tensors of transformers' ParakeetEncoderSubsamplingConv2D. Layers must
// leave frequencies of Bins.
func LoadSubsampling(c SubsamplingConfig, l *transformer.Loader) *Subsampling {
	s := &Subsampling{SubsamplingConfig: c}
	area := c.Steps * c.Steps
	first := l.At("layers.0.")
	s.first = first.LinearOf(area, c.Channels, first.Tensor("weight", c.Channels, 1, c.Steps, c.Steps), first.Tensor("bias", c.Channels))
	for i := 1; i < c.Layers && !l.Stopped(); i++ {
		at, next := l.At("layers.%d.", 3*i-1), l.At("layers.%d.", 3*i) // between ReLUs
		s.depthwise = append(s.depthwise, depthwise{StepsFirst(at.Tensor("weight", c.Channels, 1, c.Steps, c.Steps), c.Channels, area), at.Tensor("bias", c.Channels)})
		s.pointwise = append(s.pointwise, next.LinearOf(c.Channels, c.Channels, next.Tensor("weight", c.Channels, c.Channels, 1, 1), next.Tensor("bias", c.Channels)))
	}
	frequencies := c.Frequencies()
	out := l.At("linear.")
	weight := out.Tensor("weight", c.Dim, c.Channels*frequencies) // of a frame's frequencies channel by channel
	s.out = out.LinearOf(frequencies*c.Channels, c.Dim, StepsFirst(weight, c.Channels, frequencies), out.Tensor("bias", c.Dim))
	return s
}

// next returns the length that a convolution makes of a length.
func (c SubsamplingConfig) next(n int) int {
	if n += c.Steps - 1; n < c.Steps {
		return 0
	}
	return (n-c.Steps)/c.Stride + 1
}

// after returns the length that a number of convolutions make of a length.
func (c SubsamplingConfig) after(n, convolutions int) int {
	for range convolutions {
		n = c.next(n)
	}
	return n
}

// Frequencies returns the number of frequencies that are left of a frame.
func (c SubsamplingConfig) Frequencies() int { return c.frequencies(c.Layers) }

// frequencies returns the number of frequencies after a number of convolutions.
func (c SubsamplingConfig) frequencies(convolutions int) int { return c.after(c.Bins, convolutions) }

// Rows returns the number of hidden states of a number of frames.
func (c SubsamplingConfig) Rows(frames int) int { return c.after(frames, c.Layers) }

// subsamplingRows is how many hidden states are computed at once, which bounds the memory of what
// convolutions give.
const subsamplingRows = 16

// A span is rows From to To of a number of rows that a convolution takes or gives.
type span struct{ from, to int }

// Forward sets dst, [Rows(frames), D], to the hidden states of x, [frames, Bins].
func (s *Subsampling) Forward(ws *transformer.Workspace, dst, x []float32) error {
	frames := len(x) / s.Bins
	rows := s.Rows(frames)
	if len(x) != frames*s.Bins || len(dst) != rows*s.Dim {
		return check.Errorf(fault.ErrShape, "subsampling of %d elements to %d, want %d rows of %d", len(x), len(dst), rows, s.Dim)
	}
	for from := 0; from < rows; from += subsamplingRows {
		to := min(from+subsamplingRows, rows)
		if err := s.part(ws, dst[from*s.Dim:to*s.Dim], x, span{from, to}); err != nil {
			return err
		}
	}
	return nil
}

// part sets dst to the hidden states of a span.
func (s *Subsampling) part(ws *transformer.Workspace, dst, x []float32, want span) error {
	defer ws.Release(ws.Mark())
	spans := make([]span, s.Layers+1) // of what each convolution takes, and the last one gives
	spans[s.Layers] = want
	for i := s.Layers; i > 0; i-- {
		first, last := spans[i].from*s.Stride-s.Steps/2, (spans[i].to-1)*s.Stride-s.Steps/2+s.Steps
		spans[i-1] = span{max(first, 0), min(last, s.after(len(x)/s.Bins, i-1))}
	}
	y, err := s.enter(ws, x, spans[1]) // [rows, frequencies, channels]
	if err != nil {
		return err
	}
	for i, d := range s.depthwise {
		mixed := d.forward(ws, y, s.SubsamplingConfig, spans[i+1], spans[i+2], s.frequencies(i+1))
		y = ws.Alloc(len(mixed)) // [rows, frequencies, channels]
		if err := s.pointwise[i].Forward(ws, y, mixed); err != nil {
			return err
		}
		ws.Threads.ReLU(y, y)
	}
	return s.out.Forward(ws, dst, y) // [rows, D]
}

// enter returns the first convolution of x, [frames, Bins], for a span of its rows: [rows,
// frequencies, channels].
func (s *Subsampling) enter(ws *transformer.Workspace, x []float32, rows span) ([]float32, error) {
	frames, frequencies, area := len(x)/s.Bins, s.frequencies(1), s.Steps*s.Steps
	n := (rows.to - rows.from) * frequencies
	y, patches := ws.Alloc(n*s.Channels), ws.Alloc(n*area) // [rows, frequencies, channels], [rows, frequencies, steps, steps]
	clear(patches)
	for i := range n {
		t, f := (rows.from+i/frequencies)*s.Stride-s.Steps/2, i%frequencies*s.Stride-s.Steps/2
		for dt := max(0, -t); dt < min(s.Steps, frames-t); dt++ {
			for df := max(0, -f); df < min(s.Steps, s.Bins-f); df++ {
				patches[i*area+dt*s.Steps+df] = x[(t+dt)*s.Bins+f+df]
			}
		}
	}
	if err := s.first.Forward(ws, y, patches); err != nil { // [rows*frequencies, channels]
		return nil, err
	}
	ws.Threads.ReLU(y, y)
	return y, nil
}

// forward returns the convolution of a span of rows, x of [rows, frequencies, channels], for
// another span of its results.
func (d depthwise) forward(ws *transformer.Workspace, x []float32, c SubsamplingConfig, have, want span, frequencies int) []float32 {
	channels, fewer := c.Channels, c.next(frequencies)
	dst, product := ws.Alloc((want.to-want.from)*fewer*channels), ws.Alloc(channels)
	for i := range len(dst) / channels {
		y := dst[i*channels:][:channels]
		copy(y, d.bias)
		t, f := (want.from+i/fewer)*c.Stride-c.Steps/2, i%fewer*c.Stride-c.Steps/2
		for dt := max(0, have.from-t); dt < min(c.Steps, have.to-t); dt++ {
			for df := max(0, -f); df < min(c.Steps, frequencies-f); df++ {
				kernels.Mul(product, x[((t+dt-have.from)*frequencies+f+df)*channels:][:channels], d.weight[(dt*c.Steps+df)*channels:][:channels])
				kernels.Add(y, y, product)
			}
		}
	}
	return dst
}
