// Decoders at work, those of a Generator as those after an encoder.

package text

import (
	"cmp"
	"context"
	"iter"
	"sync"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/models"
)

// decoder is a folder with a model that generates tokens.
type decoder struct {
	*folder
	scheduler *generation.Scheduler
	// vocabulary is made for the first grammar.
	vocabulary func() (*grammar.Vocabulary, error)
}

// newDecoder readies a folder for a pipeline that generates.
func newDecoder(f *folder) (*decoder, error) {
	if err := f.setLimit(0); err != nil {
		return nil, err
	}
	if err := f.readSettings(); err != nil {
		return nil, err
	}
	draft, err := f.openDraft()
	if err != nil {
		return nil, err
	}
	s, err := generation.NewScheduler(generation.SchedulerConfig{Model: f.model.LM, DraftModel: draft, Threads: f.threads, Memory: f.memory})
	return &decoder{f, s, sync.OnceValues(f.newVocabulary)}, err
}

// Stats tells what the pipeline has done and does, if it generates.
func (d *decoder) Stats() generation.Stats {
	if d.scheduler == nil {
		return generation.Stats{}
	}
	return d.scheduler.Stats()
}

// decode yields the tokens after a prompt, with what an encoder made for it: those that are chosen one by one, in steps
// with other calls, or at once those of a search.
func (d *decoder) decode(ctx context.Context, memory *models.Memory, prompt []int, rules *generation.Rules, o GenerateOptions) iter.Seq2[generation.Next, error] {
	return func(yield func(generation.Next, error) bool) {
		n, err := d.room(len(prompt), o.MaxTokens)
		if err != nil {
			yield(generation.Next{}, err)
			return
		}
		if o.Beams > 1 {
			d.search(ctx, memory, prompt, n, rules, o)(yield)
			return
		}
		c := o.sampler(rules)
		c.Vocab, c.Prompt, c.MaxTokens = d.model.LM.Vocab(), prompt, n
		if c.Constraint, err = d.constraint(&o); err != nil {
			yield(generation.Next{}, err)
			return
		}
		r := generation.Request{Prompt: prompt, Memory: memory, Adapter: o.Adapter, Limits: generation.Limits{MaxTokens: n, Stop: d.model.Config.EOSTokens}}
		if r.Sampler, err = generation.NewSampler(c); err != nil {
			yield(generation.Next{}, err)
			return
		}
		d.scheduler.Generate(ctx, r)(yield)
	}
}

// search yields the most likely tokens after a prompt, n at most.
func (d *decoder) search(ctx context.Context, memory *models.Memory, prompt []int, n int, rules *generation.Rules, o GenerateOptions) iter.Seq2[generation.Next, error] {
	return func(yield func(generation.Next, error) bool) {
		ws := d.workspace(d.threads)
		defer d.pool.Put(ws)
		found, err := generation.Beam(ctx, generation.StartLM(ws, d.model.LM, memory, o.Beams), prompt, generation.BeamConfig{
			Width: o.Beams, MaxTokens: n, Stop: d.model.Config.EOSTokens, LengthPenalty: number(d.settings.Penalty, 1), EarlyStopping: d.settings.early, Rules: rules,
		})
		if err != nil {
			yield(generation.Next{}, err)
			return
		}
		for _, token := range found[0].Tokens {
			if !yield(generation.Next{Choice: generation.Choice{Token: token}}, nil) {
				return
			}
		}
		yield(generation.Next{Choice: generation.Choice{Token: -1}, Finish: generation.FinishStop}, nil)
	}
}

// tokensOnly yields the tokens of what decode yields.
func tokensOnly(all iter.Seq2[generation.Next, error]) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for next, err := range all {
			err = cmp.Or(err, next.Err)
			if err == nil && next.Finish != generation.FinishNone || !yield(next.Token, err) || err != nil {
				return
			}
		}
	}
}
