package generation

import (
	"context"
	"iter"
	"math"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// This file has the scheduler's interface to its callers: its options, its requests, and its
// counters. loop.go has its loop.

// SchedulerConfig describes how a scheduler shares a model. All fields except Model may be left
// out.
type SchedulerConfig struct {
	Model   models.LanguageModel
	Threads kernels.Threads // of a step; 0: 1
	CPUs    []int           // that steps are bound to, as machine.Bind does; nil: none
	// Memory bounds the bytes of the pages with keys and values, including those of kept prefixes.
	// 0: running texts get what they need.
	Memory int64
	// Kept bounds the bytes of pages up to which prefixes are kept: histories of texts that have
	// ended, for requests that begin with the same tokens. They give way to running texts in any
	// case. 0: Memory, or 1 GiB if that is 0.
	Kept int64
	// Streams is the largest number of texts that are generated at a time, 0: 64, and Queue the
	// largest number of requests that wait, 0: 1024.
	Streams, Queue int
	// StepTokens is the most tokens of a step; 0: 512. A step may have more if there are more
	// texts, since each text gets one token, and a piece of a prompt joins them.
	StepTokens int
	// Stall is the longest time that a step with prompts may take, as a multiple of its time
	// without them: a longer time completes prompts earlier. If there are more prompts than texts,
	// the time grows by their ratio. A piece of a prompt has at least 4 tokens. 0: 2.5.
	Stall float64
	// NoPrefixes keeps no histories of texts that have ended for requests that begin with the same
	// tokens.
	NoPrefixes bool
	// Draft is the most tokens that are proposed at a time: from a [Proposer], from an earlier
	// place of the text with the same tokens before it, or by the model's own layer that predicts
	// further tokens, a [models.MultiTokenPredictor]. That layer proposes if it saves time, as a
	// DraftModel does, which takes its place; a quarter of Memory is for its keys and values.
	// Proposals that the model would not have chosen are taken back. 0: 8; negative: none.
	Draft int
	// DraftModel, unless nil, is a smaller model with the same vocabulary that proposes tokens too,
	// if that takes less time than it saves. A quarter of Memory is for its keys and values. It
	// does not change texts. It proposes none for requests with a Hook, or with a Constraint that
	// cannot be undone.
	DraftModel models.LanguageModel
}

// A Scheduler generates many texts with one model. Requests join and leave between steps; prompts
// enter in pieces beside the texts that are being generated; of a prompt that begins like another
// text, only the rest is computed. Each text gets the same tokens as without other requests, except
// with weights in kernels.FormatBF16Fast, or with a second copy of the weights for many rows
// ([transformer.Loader.PackMany]). It is safe for concurrent use. Hooks, constraints and StopWhen
// of requests run on the scheduler's goroutine; a panic in one of them ends only its request, with
// a [PanicError].
type Scheduler struct {
	c     SchedulerConfig
	pages *transformer.Pages

	mu      sync.Mutex
	queue   []*job
	closed  bool
	working chan struct{} // closed when the loop ends; nil while there is nothing to do
	stats   Stats

	loop loop // of one goroutine, while there is something to do
}

// Stats has counts of a scheduler since its start, and its present contents.
type Stats struct {
	Waiting, Running int   // at the moment: requests
	Prefixes         int   // at the moment: histories that are kept
	PageBytes        int64 // at the moment: pages in use
	PageLimit        int64 // most bytes of pages; 0: no limit

	Steps          uint64
	PromptTokens   uint64 // that were computed
	SharedTokens   uint64 // of prompts, whose history another text had
	Tokens         uint64 // that were generated
	DraftTokens    uint64 // that were proposed
	AcceptedTokens uint64 // of them
	DraftSteps     uint64 // of the draft model
	ForcedTokens   uint64 // that were generated without logits, since a constraint allowed only one token
	Preempted      uint64 // texts that had to wait for memory after they had begun
}

// NewScheduler returns a scheduler without requests. While it has none, it has no goroutine and
// needs no Close.
func NewScheduler(c SchedulerConfig) (*Scheduler, error) {
	if c.Model == nil {
		return nil, check.Errorf(fault.ErrConfig, "scheduler without a model")
	}
	for _, x := range []struct {
		name     string
		n        *int
		standard int
	}{{"Streams", &c.Streams, 64}, {"Queue", &c.Queue, 1024}, {"StepTokens", &c.StepTokens, 512}} {
		if *x.n < 0 {
			return nil, check.Errorf(fault.ErrConfig, "scheduler: %s = %d, want at least 0", x.name, *x.n)
		}
		if *x.n == 0 {
			*x.n = x.standard
		}
	}
	if c.Memory < 0 || c.Kept < 0 || !(c.Stall >= 0) || math.IsInf(c.Stall, 0) {
		return nil, check.Errorf(fault.ErrConfig, "scheduler: Memory = %d, Kept = %d, Stall = %g, want at least 0", c.Memory, c.Kept, c.Stall)
	}
	if c.Stall == 0 {
		c.Stall = 2.5
	}
	if c.Draft == 0 {
		c.Draft = 8
	}
	if rewrites(c.Model) {
		c.NoPrefixes, c.Draft = true, -1
	}
	if err := c.checkDraft(); err != nil {
		return nil, err
	}
	memory := c.Memory
	if c.DraftModel != nil || c.Draft > 0 && predicts(c.Model) {
		memory -= memory / 4
	}
	s := &Scheduler{c: c, pages: c.Model.NewPages(memory)}
	s.loop.begin(s)
	return s, nil
}

// Generate yields the tokens of a text as they are generated, and finally its end, with the reason.
// For an invalid request it yields only an error: fault.ErrBusy if too many requests wait,
// fault.ErrClosed, fault.ErrShape without a prompt, fault.ErrToken for a token outside the
// vocabulary. A text ends within one step when its iteration stops, when ctx is cancelled, or when
// Cancelled returns an error.
func (s *Scheduler) Generate(ctx context.Context, r Request) iter.Seq2[Next, error] {
	return func(yield func(Next, error) bool) {
		j, err := s.submit(ctx, r)
		if err != nil {
			yield(Next{Choice: Choice{Token: -1}}, err)
			return
		}
		defer j.stream.leave()
		for ctx.Err() == nil {
			for _, n := range j.stream.wait(ctx) {
				if ctx.Err() != nil {
					break
				}
				if !yield(n, nil) || n.Finish != FinishNone {
					return
				}
			}
		}
		yield(Next{Choice: Choice{Token: -1}, Finish: FinishCancelled, Err: context.Cause(ctx)}, nil)
	}
}

// submit puts a request into the queue.
func (s *Scheduler) submit(ctx context.Context, r Request) (*job, error) {
	vocab := s.c.Model.Vocab()
	if err := r.settle(vocab); err != nil {
		return nil, err
	}
	for _, t := range r.Prompt {
		if t < 0 || t >= vocab {
			return nil, check.Errorf(fault.ErrToken, "token %d of a vocabulary of %d", t, vocab)
		}
	}
	if err := s.checkMemory(r.Memory); err != nil {
		return nil, err
	}
	adapter, err := s.adapter(r.Adapter)
	if err != nil {
		return nil, err
	}
	soft, err := s.checkSoft(&r)
	if err != nil {
		return nil, err
	}
	j := newJob(ctx, r, adapter, soft, s.readsWhole())
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, fault.ErrClosed
	case len(s.queue) >= s.c.Queue:
		return nil, fault.ErrBusy
	}
	s.queue = append(s.queue, j)
	if s.working == nil {
		s.working = make(chan struct{})
		go s.loop.run()
	}
	return j, nil
}

// adapter returns the number of the model's adapter with a name, 0 without a name.
func (s *Scheduler) adapter(name string) (int, error) {
	if name == "" {
		return 0, nil
	}
	if m, ok := s.c.Model.(models.AdapterHolder); ok {
		if n, ok := m.Adapter(name); ok {
			return n, nil
		}
	}
	return 0, check.Option("Adapter", name, "the model has none of this name beside its weights")
}

// checkMemory returns an error if a request for the model cannot have this memory, or lacks one
// that it needs.
func (s *Scheduler) checkMemory(m *models.Memory) error {
	d, ok := s.c.Model.(models.MemoryReader)
	switch {
	case ok && d.AttendsToMemory() != (m != nil):
		return check.Errorf(fault.ErrShape, "a request needs a Memory exactly if the model attends to one")
	case m == nil:
		return nil
	case m.Batch.Len() != 1 || m.Batch.Rows() == 0 || m.Mask != nil || len(m.X)%m.Batch.Rows() != 0:
		return check.Errorf(fault.ErrShape, "a Memory of %d sequences, %d rows and %d elements, want one sequence without a mask", m.Batch.Len(), m.Batch.Rows(), len(m.X))
	}
	return nil
}

// readsWhole reports whether soft tokens of one Soft pass in one step.
func (s *Scheduler) readsWhole() bool {
	m, ok := s.c.Model.(models.WholeReader)
	return ok && m.ReadsWhole()
}

// checkSoft returns the keys of a request's soft tokens, or an error if the model cannot take them.
func (s *Scheduler) checkSoft(r *Request) ([]softKey, error) {
	if len(r.Soft) == 0 {
		return nil, nil
	}
	if _, ok := s.c.Model.(models.SoftReader); !ok || r.Memory != nil {
		return nil, check.Errorf(fault.ErrConfig, "the model takes no soft tokens")
	}
	dim, end := s.c.Model.Dim(), 0
	keys := make([]softKey, len(r.Soft))
	for i, soft := range r.Soft {
		rows := len(soft.X) / dim
		if rows == 0 || len(soft.X)%dim != 0 || soft.At < end || rows > len(r.Prompt) || soft.At > len(r.Prompt)-rows {
			return nil, check.Errorf(fault.ErrShape, "%d elements of soft tokens at token %d of %d, want rows of %d, one group after the other", len(soft.X), soft.At, len(r.Prompt), dim)
		}
		if soft.Across < 0 || soft.Before != 0 || soft.Across > 0 && rows%soft.Across != 0 {
			return nil, check.Errorf(fault.ErrShape, "%d soft tokens in %d columns, after %d, want whole images", rows, soft.Across, soft.Before)
		}
		keys[i], end = key(soft, dim), soft.At+rows
	}
	return keys, nil
}

// Stats returns the counts of the scheduler.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Waiting, st.PageBytes, st.PageLimit = len(s.queue), s.pages.Used()+s.loop.guess.used()+s.loop.mtp.used(), s.c.Memory
	return st
}

// Close accepts no more requests, finishes those in progress, and gives back the memory. If ctx is
// cancelled before that, they end with fault.ErrClosed within one step. Close may be called again.
func (s *Scheduler) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	working := s.working
	s.mu.Unlock()
	var err error
	if working != nil {
		select {
		case <-working:
		case <-ctx.Done():
			s.loop.abort.Store(true)
			<-working
			err = context.Cause(ctx)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.loop.prefixes.dropOldest() {
	}
	return err
}

func rewrites(m models.LanguageModel) bool {
	r, ok := m.(models.HistoryRewriter)
	return ok && r.RewritesHistory()
}

// checkDraft returns an error if the draft model cannot propose for the model.
func (c *SchedulerConfig) checkDraft() error {
	d := c.DraftModel
	if d == nil {
		return nil
	}
	attends, _ := d.(models.MemoryReader)
	switch {
	case d.Vocab() != c.Model.Vocab():
		return check.Errorf(fault.ErrConfig, "scheduler: a draft model with a vocabulary of %d for a model of %d", d.Vocab(), c.Model.Vocab())
	case c.Draft < 0:
		return check.Errorf(fault.ErrConfig, "scheduler: a draft model without proposals")
	case rewrites(d) || attends != nil && attends.AttendsToMemory():
		return check.Errorf(fault.ErrConfig, "scheduler: a draft model whose past tokens change, or that attends to an encoder")
	}
	return nil
}
