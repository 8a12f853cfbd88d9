package transformer

import "github.com/avoformer/avoformer/kernels"

// scan takes rows of a sequence through the convolution and the state of a Mamba-2 block.
type scan struct {
	*Mamba2
	ws    *Workspace
	y     []float32 // [rows of the batch, inner]
	mixed []float32 // [rows, mixed]: x, B and C
	steps []float32 // [rows, Heads]
	decay []float32 // [rows, Heads]: exp(step*A)
	rows  int
}

// step is Recurrence.Step. A state is that of the convolution, its last inputs, and that of the heads.
func (s *scan) step(to, from, inputs []float32, first int) error {
	defer s.ws.Release(s.ws.Mark())
	width, mixed := s.Mamba2.mixed()+s.Heads, s.Mamba2.mixed()
	s.rows = len(inputs) / width
	s.mixed, s.steps, s.decay = s.ws.Alloc(s.rows*mixed), s.ws.Alloc(s.rows*s.Heads), s.ws.Alloc(s.rows*s.Heads)
	s.convolve(from[:s.recent()], inputs)
	s.remember(to[:s.recent()], from[:s.recent()], inputs)
	for i := range s.rows {
		kernels.Add(s.steps[i*s.Heads:][:s.Heads], inputs[i*width+mixed:][:s.Heads], s.StepBias)
	}
	s.ws.Threads.Softplus(s.steps, s.steps)
	for i, v := range s.steps {
		if v < s.StepMin {
			v = s.StepMin
		}
		if s.StepMax > 0 && v > s.StepMax {
			v = s.StepMax
		}
		s.steps[i] = v
		s.decay[i] = v * s.A[i%s.Heads]
	}
	s.ws.Threads.Exp(s.decay, s.decay)
	y := s.y[max(first, 0)*s.inner():][:s.rows*s.inner()]
	if first < 0 {
		y = s.ws.Alloc(s.rows * s.inner()) // not wanted
	}
	bc := s.Groups * s.State
	s.ws.Threads.Recurrence(kernels.RecurrenceParams{
		Rows: s.rows, Heads: s.Heads, KeyHeads: s.Groups, KeyDim: s.State, ValueDim: s.HeadDim,
		From: from[s.recent():], To: to[s.recent():],
		Q: s.mixed[s.inner()+bc:], LdQ: mixed, K: s.mixed[s.inner():], LdK: mixed, V: s.mixed, LdV: mixed,
		Decay: s.decay, Beta: s.steps, Dst: y, LdDst: s.inner(),
	})
	if first >= 0 {
		s.pass(y)
	}
	return nil
}

// pass adds D*x to y, [rows, inner].
func (s *scan) pass(y []float32) {
	for i := range s.rows {
		x, row := s.mixed[i*s.Mamba2.mixed():], y[i*s.inner():][:s.inner()]
		for h, d := range s.D {
			kernels.AXPY(d, x[h*s.HeadDim:][:s.HeadDim], row[h*s.HeadDim:][:s.HeadDim])
		}
	}
}

// convolve sets mixed to silu of the convolution of inputs, in front of which are the rows before.
func (s *scan) convolve(before, inputs []float32) {
	mixed, width := s.Mamba2.mixed(), s.Mamba2.mixed()+s.Heads
	past, product := s.Taps-1, s.ws.Alloc(s.Mamba2.mixed())
	for i := range s.rows {
		y := s.mixed[i*mixed:][:mixed]
		for tap := range s.Taps {
			x := before
			if at := i + tap; at < past {
				x = before[at*mixed:][:mixed]
			} else {
				x = inputs[(at-past)*width:][:mixed]
			}
			weight := s.Weight[tap*mixed:][:mixed]
			if tap == 0 {
				kernels.Mul(y, weight, x)
				continue
			}
			kernels.Mul(product, weight, x)
			kernels.Add(y, y, product)
		}
		if s.Bias != nil {
			kernels.Add(y, y, s.Bias)
		}
		kernels.SiLU(y, y)
	}
}

// remember sets to, [Taps-1, mixed], to the last inputs of those before and those that came. to may be before.
func (s *scan) remember(to, before, inputs []float32) {
	mixed, width := s.Mamba2.mixed(), s.Mamba2.mixed()+s.Heads
	for i := range s.Taps - 1 {
		if at := i + s.rows; at < s.Taps-1 {
			copy(to[i*mixed:][:mixed], before[at*mixed:])
		} else {
			copy(to[i*mixed:][:mixed], inputs[(at-s.Taps+1)*width:])
		}
	}
}
