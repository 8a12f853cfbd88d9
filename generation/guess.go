package generation

import (
	"time"

	"github.com/avoformer/avoformer/transformer"
)

// Proposals of a draft model (Leviathan et al. 2023, "Fast Inference from Transformers via
// Speculative Decoding"). The text's own sampler chooses from the logits of the draft and takes the
// choice back. Because its draw at a place depends only on the seed and the place, it is likely to
// choose the same token from the logits of the model, which decide.

// guesser is a draft model at work. Without one it proposes nothing.
type guesser struct {
	stepper Stepper
	pages   *transformer.Pages
	most    int // rows of a step

	step    Step
	lengths []int
	all     []*job // that get proposals
	jobs    []*job // of them: with a row in the step of the draft model

	gain
}

func (g *guesser) begin(s *Scheduler) {
	if m := s.c.DraftModel; m != nil {
		g.stepper = Stepper{Model: m, Workspace: &transformer.Workspace{Threads: s.c.Threads}}
		g.pages, g.most = m.NewPages((s.c.Memory+3)/4), s.c.StepTokens
		g.rate = firstRate
	}
}

func (g *guesser) used() int64 {
	if g.pages == nil {
		return 0
	}
	return g.pages.Used()
}

// propose adds proposals of the draft model, at most most a text, to the pieces of a step that have
// none. All texts of the step decode.
func (g *guesser) propose(l *loop, most int) {
	if g.pages == nil || len(l.jobs) == 0 {
		return
	}
	most = g.size(len(l.jobs), most)
	g.jobs = g.jobs[:0]
	for _, j := range l.jobs {
		if len(j.piece) < j.left() || len(j.tokens)-j.guesses.history.Len() > g.behind {
			continue
		}
		if j.guesses.plan(j, most) {
			if j.guesses.history == nil {
				j.guesses.history = g.pages.New()
			}
			g.jobs = append(g.jobs, j)
		}
	}
	g.all = append(g.all[:0], g.jobs...)
	passes := 0
	for ; len(g.jobs) > 0; passes++ {
		g.pass(l)
	}
	for _, j := range g.all {
		j.guesses.takeBack(j)
	}
	l.s.mu.Lock()
	l.s.stats.DraftSteps += uint64(passes)
	l.s.mu.Unlock()
}

// pass runs one step of the draft model, after which g.jobs is the texts that want another one.
func (g *guesser) pass(l *loop) {
	st := &g.step
	st.Tokens, st.Past, st.Want, g.lengths = st.Tokens[:0], st.Past[:0], st.Want[:0], g.lengths[:0]
	for _, j := range g.jobs {
		first, from, known := len(st.Tokens), j.guesses.history.Len(), len(j.tokens)
		if from < known { // and nothing is proposed yet
			st.Tokens = append(st.Tokens, j.tokens[from:min(known, from+max(1, g.most/len(g.jobs)))]...)
		} else {
			st.Tokens = append(st.Tokens, j.piece[len(j.piece)-1])
		}
		rows := len(st.Tokens) - first
		st.Past, g.lengths = append(st.Past, j.guesses.history), append(g.lengths, rows)
		if from+rows >= known {
			st.Want = append(st.Want, len(st.Tokens)-1)
		}
	}
	st.Batch = st.Batch.Reuse(g.lengths...)
	begin := time.Now()
	logits, err := g.stepper.Run(*st)
	if err != nil {
		g.failed(l)
		return
	}
	g.draft.learn(float64(len(st.Tokens)), time.Since(begin).Seconds(), keepSteps)
	vocab := g.stepper.Model.Vocab()
	more := g.jobs[:0]
	w := takeScratch()
	defer w.giveBack()
	for _, j := range g.jobs {
		if j.guesses.history.Len() < len(j.tokens) {
			continue // the rest of a long text follows in later steps
		}
		if j.guesses.choose(j, w, logits[:vocab]) {
			more = append(more, j)
		}
		logits = logits[vocab:]
	}
	g.jobs = more
}

// failed continues after a step of the draft model that failed: with less memory for prefixes, or
// without its texts.
func (g *guesser) failed(l *loop) {
	if l.prefixes.dropGuesses() {
		return
	}
	for _, j := range g.jobs {
		j.guesses.off = true
		j.guesses.release()
	}
	g.jobs = g.jobs[:0]
}
