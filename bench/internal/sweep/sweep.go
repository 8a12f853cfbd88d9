// Package sweep times a case at many sizes and finds cliffs: sizes at which the speed is lower than
// at the previous size by more than a stated part.
package sweep

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/avoformer/avoformer/bench/internal/workload"
)

// A Point is a size and the median speed at this size.
type Point struct {
	Size  int
	Speed float64
}

// A Line is a measured series.
type Line struct {
	Label  string
	Unit   string
	Points []Point
	Cliffs []Cliff
}

// A Cliff is a fall of the speed that a second measurement of only the two sizes has confirmed.
// That measurement uses other memory, because an effect of the position of pages is not an effect
// of the size.
type Cliff struct {
	From, To int
	Fall     float64
}

// Options hold the times to measure.
type Options struct {
	Rounds int
	Block  time.Duration // time per size and round
}

type point struct {
	workload.Case
	size    int
	job     workload.Job
	reps    int
	seconds []float64
}

func (p *point) time() error {
	t, err := p.job.Time(p.reps)
	p.seconds = append(p.seconds, t.Seconds()/float64(p.reps))
	return err
}

func (p *point) speed() float64 {
	s := slices.Sorted(slices.Values(p.seconds))
	return speed(p.Case, s[len(s)/2])
}

// Run measures a series. It first checks every size against the oracle. The rounds measure the
// sizes in a new random order, so that a slow moment of the machine does not look like a slow size.
func Run(w Sweep, s Series, c workload.Contestant, o Options) (Line, error) {
	line := Line{Label: s.Label}
	var points []*point
	defer func() {
		for _, p := range points {
			p.job.Close()
		}
	}()
	open := func(n int) (*point, error) {
		p, err := newPoint(s.Case(n), n, c, o)
		if p != nil {
			points = append(points, p)
		}
		return p, err
	}
	for _, n := range s.Sizes {
		if _, err := open(n); err != nil {
			return line, err
		}
	}
	if err := rounds(points, o.Rounds); err != nil {
		return line, err
	}
	for i, p := range points[:len(s.Sizes)] {
		line.Unit = unit(p.Case)
		line.Points = append(line.Points, Point{p.size, p.speed()})
		if i == 0 || !w.From(points[i-1].Case) || fall(points[i-1].speed(), p.speed()) <= w.Fall {
			continue
		}
		before, err := open(points[i-1].size)
		if err != nil {
			return line, err
		}
		after, err := open(p.size)
		if err != nil {
			return line, err
		}
		pair := []*point{before, after}
		if err := rounds(pair, 3*o.Rounds); err != nil {
			return line, err
		}
		if f := fall(pair[0].speed(), pair[1].speed()); f > w.Fall {
			line.Cliffs = append(line.Cliffs, Cliff{pair[0].size, p.size, f})
		}
	}
	return line, nil
}

// newPoint checks a size against the oracle, and computes how many calls fit in a block.
func newPoint(k workload.Case, size int, c workload.Contestant, o Options) (*point, error) {
	d := workload.NewSample(k, 1e6)
	job, err := c.Open(d, c.Variants(k)[0])
	if errors.Is(err, workload.ErrUnsupported) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%v: %w", k, err)
	}
	p := &point{Case: k, size: size, job: job}
	out, err := job.Output()
	if err == nil {
		err = d.Check(out)
	}
	if err != nil {
		return p, fmt.Errorf("%v: %w", k, err)
	}
	t, err := job.Time(1)
	if err != nil {
		return p, fmt.Errorf("%v: %w", k, err)
	}
	p.reps = max(1, int(o.Block/max(t, 1)))
	return p, nil
}

func rounds(points []*point, n int) error {
	for range n {
		for _, i := range rand.Perm(len(points)) {
			if err := points[i].time(); err != nil {
				return fmt.Errorf("%v: %w", points[i].Case, err)
			}
		}
	}
	return nil
}
