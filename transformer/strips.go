package transformer

// A layer in strips of rows. Only attention mixes rows. Everything before it and everything after it works on each row for
// itself, so a thread can take some rows through all of that and wait for the others once, where products and
// normalizations that all threads share would have them wait after each. The thread also finds in its caches what it wrote.

// strips is a layer that runs in strips. It is a kernels.Task whose parts are strips.
type strips struct {
	layer    *Layer
	in       LayerInput
	dst      []float32
	h, norm  []float32    // [rows, D]
	context  []float32    // [rows, heads*hd]
	placing  placing      // with the projections
	n        int          // strips
	attended bool         // attention is done: what follows it is to run
	room     []*Workspace // of each strip
	errs     []error      // of each strip
}

const (
	// stripRows is the least that a strip has: fewer rows take too long to read the weights for.
	stripRows = 16
	// longRows is how many rows a thread has to have for several strips, of which other threads can take some if it
	// falls behind.
	longRows = 64
)

// stripsFor is how many strips the rows of a pass are cut into; 1: threads share each operation.
func (l *Layer) stripsFor(ws *Workspace, in *LayerInput) int {
	t, rows := int(ws.Threads), in.Batch.Rows()
	if t <= 1 || rows < stripRows*t || ws.Trace != nil || len(ws.adapted) > 0 || l.Cross != nil {
		return 1
	}
	a, feed := l.Self, l.Feed
	if f, ok := feed.(*FeedForward); !ok || f.Chunk != 0 || a == nil || a.Heads == 0 || a.Out == nil || a.OutDim != l.Dim || l.SelfNorm.size != l.Dim || l.FeedNorm.size != l.Dim {
		return 1
	}
	return t * max(1, min(4, rows/(longRows*t)))
}

// forwardStrips is Forward of checked arguments in n strips.
func (l *Layer) forwardStrips(ws *Workspace, dst []float32, in LayerInput, cache *LayerCache, n int) error {
	a, rows := l.Self, in.Batch.Rows()
	s := &ws.strips
	s.layer, s.in, s.dst, s.n = l, in, dst, n
	defer func() { *s = strips{room: s.room, errs: s.errs} }()
	s.h, s.norm = ws.Alloc(len(dst)), ws.Alloc(len(dst))
	for len(s.room) < n {
		s.room, s.errs = append(s.room, new(Workspace)), append(s.errs, nil)
	}
	if err := a.openPlaces(in.Batch, cache); err != nil {
		return err
	}
	s.placing = placing{a, in.Batch, a.room(ws, rows, cache), cache}
	if err := s.run(ws); err != nil {
		return err
	}
	s.context = ws.Alloc(rows * a.Heads * a.HeadDim)
	self := AttentionInput{Batch: in.Batch, KeyBatch: in.Batch, Mask: in.Mask, HeadMask: in.HeadMask}
	if err := a.scores(ws, s.context, s.placing.p, self); err != nil {
		return err
	}
	s.attended = true
	return s.run(ws)
}

// run runs what comes before or after attention.
func (s *strips) run(ws *Workspace) error {
	clear(s.errs)
	ws.Threads.Run(s.n, 1<<30, s)
	for _, err := range s.errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Do takes the rows of the strips [from, to) through one side of the layer.
func (s *strips) Do(from, to int) {
	rows := s.in.Batch.Rows()
	first, last := rows*from/s.n, rows*to/s.n
	if s.attended {
		s.errs[from] = s.after(s.room[from], first, last)
	} else {
		s.errs[from] = s.before(s.room[from], first, last)
	}
}

// of is the rows [from, to) of x.
func (s *strips) of(x []float32, from, to int) []float32 {
	return x[from*s.layer.Dim : to*s.layer.Dim]
}

// before projects the rows [from, to).
func (s *strips) before(ws *Workspace, from, to int) error {
	l := s.layer
	x := s.of(s.in.X, from, to)
	if l.NormFirst {
		norm := s.of(s.norm, from, to)
		if err := l.SelfNorm.Forward(ws, norm, x); err != nil {
			return err
		}
		x = norm
	}
	if err := l.Self.projectRows(ws, s.placing.p, x, from, to); err != nil {
		return err
	}
	if l.Self.places(s.placing.cache) {
		s.placing.Do(from, to)
	}
	return nil
}

// after makes the layer's output of what attention gave for the rows [from, to).
func (s *strips) after(ws *Workspace, from, to int) error {
	l, width := s.layer, s.layer.Self.Out.In
	h, norm, dst := s.of(s.h, from, to), s.of(s.norm, from, to), s.of(s.dst, from, to)
	sum := norm
	if l.NormFirst {
		sum = h
	}
	if err := l.Self.Out.ForwardAdd(ws, sum, s.context[from*width:to*width], s.of(s.in.X, from, to)); err != nil {
		return err
	}
	if err := l.leave(ws, h, norm, l.SelfNorm); err != nil {
		return err
	}
	return l.feed(ws, dst, h, norm)
}
