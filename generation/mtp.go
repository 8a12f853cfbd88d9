package generation

import (
	"errors"
	"slices"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// This file makes proposals with a model's own layer for multi-token prediction (DeepSeek-AI 2024,
// "DeepSeek-V3 Technical Report"). The layer predicts the token after the next one from the hidden
// state of a token and the next token, so it reads what the steps of the model have computed, and
// has a history of its own. As with a draft model, the text's own sampler chooses from its logits
// and takes the choice back, and the model decides.

// mtp makes the layer of a model propose tokens. The zero mtp has no layer, and proposes nothing.
type mtp struct {
	layer *models.Predictor
	pages *transformer.Pages
	ws    *transformer.Workspace
	cache transformer.Cache
	vocab int
	dim   int

	prefixes *prefixes // which give way where there is no memory
	passes   uint64    // of the layer, since the loop counted them

	jobs    []*job // that get proposals
	lengths []int
	past    []*transformer.History
	tokens  []int
	x, last []float32 // [rows, D], and those after which the next token is wanted
	logits  []float32 // [jobs, V]

	gain
}

// mostUnread bounds the rows of a text that wait for the layer: reading them together takes less
// time than one by one.
const mostUnread = 64

// begin makes the layer of a model propose, with a memory in bytes; 0: no limit.
func (g *mtp) begin(m models.LanguageModel, threads kernels.Threads, memory int64, p *prefixes) {
	g.layer = m.(models.MultiTokenPredictor).Predictor()
	g.pages, g.ws = g.layer.NewPages(memory), &transformer.Workspace{Threads: threads}
	g.vocab, g.dim, g.rate, g.prefixes = m.Vocab(), m.Dim(), firstRate, p
}

func (g *mtp) used() int64 {
	if g.pages == nil {
		return 0
	}
	return g.pages.Used()
}

// follow keeps the rows of a step that passed, [rows, D], which begin at from in each of the texts
// of jobs, for those that continue.
func (g *mtp) follow(jobs, running []*job, batch transformer.Batch, hidden []float32, from []int) {
	if g.layer == nil {
		return
	}
	full := false
	for i, j := range jobs {
		at := batch.Start(i)
		if j.history == nil || j.mtp.off || !slices.Contains(running, j) {
			continue
		}
		n := min(j.history.Len(), len(j.tokens)-1) - from[i] // without proposals that were not accepted
		f := &j.mtp
		f.hidden = append(f.hidden, hidden[at*g.dim:(at+n)*g.dim]...)
		f.tokens = append(f.tokens, j.tokens[from[i]+1:from[i]+1+n]...)
		full = full || len(f.tokens) >= mostUnread
	}
	if full {
		g.jobs = g.jobs[:0]
		for _, j := range jobs {
			if len(j.mtp.tokens) >= mostUnread {
				g.jobs = append(g.jobs, j)
			}
		}
		g.read()
	}
}

// read passes the rows of g.jobs that wait for the layer. It leaves out texts for which there is no
// memory.
func (g *mtp) read() {
	g.x, g.tokens = g.x[:0], g.tokens[:0]
	g.past, g.lengths = g.past[:0], g.lengths[:0]
	for _, j := range g.jobs {
		f := &j.mtp
		if f.history == nil {
			f.history = g.pages.New()
		}
		if f.history.Len() > f.rows { // proposals
			if err := f.history.Truncate(f.rows); err != nil {
				f.release()
				f.history = g.pages.New()
			}
		}
		g.x, g.tokens = append(g.x, f.hidden...), append(g.tokens, f.tokens...)
		g.past, g.lengths = append(g.past, f.history), append(g.lengths, len(f.tokens))
		f.hidden, f.tokens = f.hidden[:0], f.tokens[:0]
	}
	if !g.pass() {
		return
	}
	at := 0
	for i, j := range g.jobs {
		f := &j.mtp
		f.rows, at = f.history.Len(), at+g.lengths[i]
		if g.lengths[i] > 0 {
			f.ahead = append(f.ahead[:0], g.x[(at-1)*g.dim:at*g.dim]...)
		}
	}
}

// pass runs the layer on g.x and g.tokens, and sets g.x to its hidden states. It is false, and the
// texts have no more proposals, if that fails.
func (g *mtp) pass() bool {
	g.cache.Use(g.past)
	for {
		err := g.layer.Predict(g.ws, g.x, g.x, g.tokens, transformer.Ragged(g.lengths...), &g.cache)
		if err == nil {
			break
		}
		if errors.Is(err, fault.ErrMemory) && g.prefixes.dropGuesses() {
			continue
		}
		for _, j := range g.jobs {
			j.mtp.release()
			j.mtp.off = true
		}
		g.jobs = g.jobs[:0]
		return false
	}
	g.passes++
	return true
}

// propose adds proposals, at most most a text, to the pieces of jobs that have none. All of them
// decode.
func (g *mtp) propose(jobs []*job, most int) {
	if g.layer == nil || len(jobs) == 0 {
		return
	}
	most = g.size(len(jobs), most)
	g.jobs = g.jobs[:0]
	for _, j := range jobs {
		f := &j.mtp
		// The layer has to know all rows of the model, so that it predicts what follows the last
		// token.
		if known := len(f.tokens) > 0 || len(f.ahead) > 0; known && j.left() == 1 && f.plan(j, most) {
			g.jobs = append(g.jobs, j)
		}
	}
	if len(g.jobs) == 0 {
		return
	}
	begin, passes := time.Now(), 0
	if slices.ContainsFunc(g.jobs, func(j *job) bool { return len(j.mtp.tokens) > 0 }) {
		g.read()
	}
	all := slices.Clone(g.jobs)
	for len(g.jobs) > 0 {
		passes++
		g.choose()
	}
	for _, j := range all {
		j.mtp.takeBack(j)
	}
	if passes > 0 {
		g.draft.learn(float64(len(all)), time.Since(begin).Seconds()/float64(passes), keepSteps)
	}
}

// choose adds a proposal to the piece of each text of g.jobs, which then has those that want
// another one.
func (g *mtp) choose() {
	g.last = g.last[:0]
	for _, j := range g.jobs {
		g.last = append(g.last, j.mtp.ahead...)
	}
	g.logits = slices.Grow(g.logits[:0], len(g.jobs)*g.vocab)[:len(g.jobs)*g.vocab]
	if err := g.layer.Logits(g.ws, g.logits, g.last); err != nil {
		g.jobs = g.jobs[:0]
		return
	}
	w := takeScratch()
	defer w.giveBack()
	g.x, g.tokens, g.past, g.lengths = g.x[:0], g.tokens[:0], g.past[:0], g.lengths[:0]
	more := g.jobs[:0]
	for i, j := range g.jobs {
		if f := &j.mtp; f.choose(j, w, g.logits[i*g.vocab:(i+1)*g.vocab]) {
			more = append(more, j)
			g.x, g.tokens = append(g.x, f.ahead...), append(g.tokens, j.piece[len(j.piece)-1])
			g.past, g.lengths = append(g.past, f.history), append(g.lengths, 1)
		}
	}
	if g.jobs = more; len(more) == 0 || !g.pass() {
		return
	}
	for i, j := range g.jobs {
		copy(j.mtp.ahead, g.x[i*g.dim:(i+1)*g.dim])
	}
}
