// Decoders at work, those of a Generator as those after an encoder.

package text

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/lanes"
	"github.com/avoformer/avoformer/text/internal/settings"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// decoder is a folder with a model that generates tokens.
type decoder struct {
	*base
	settings *settings.Settings
	lanes    lanes.Lanes // one for each replica
	// vocabulary is made for the first grammar.
	vocabulary func() (*grammar.Vocabulary, error)
}

// newDecoder readies a folder for a pipeline that generates.
func newDecoder(f *base) (*decoder, error) {
	if err := f.setLimit(0); err != nil {
		return nil, err
	}
	s, err := settings.Read(f.fsys, f.model.LM.Vocab(), f.warning)
	if err != nil {
		return nil, err
	}
	draft, drafting, err := f.openDraft()
	if err != nil {
		return nil, err
	}
	d := &decoder{base: f, settings: s, vocabulary: sync.OnceValues(f.newVocabulary)}
	return d, d.openLanes(draft, drafting)
}

// Stats says what the pipeline has done and does, if it generates.
func (d *decoder) Stats() generation.Stats {
	return d.lanes.Stats()
}

// source has what a text is generated from in addition to the tokens of its prompt.
type source struct {
	memory *models.Memory // of an encoder; nil: none
	soft   []models.Soft  // in place of tokens
}

// decode yields the tokens after a prompt, with what an encoder made for it: those that are chosen
// one by one, in steps with other calls, or at once those of a search.
func (d *decoder) decode(ctx context.Context, from source, prompt []int, rules *generation.Rules, o GenerateOptions) iter.Seq2[generation.Next, error] {
	return func(yield func(generation.Next, error) bool) {
		n, err := d.room(len(prompt), o.MaxTokens)
		if err != nil {
			yield(generation.Next{}, err)
			return
		}
		if o.Beams > 1 {
			d.search(ctx, from.memory, prompt, n, rules, o)(yield)
			return
		}
		c := o.sampler(rules)
		c.Vocab, c.Prompt, c.MaxTokens = d.model.LM.Vocab(), prompt, n
		if c.Constraint, err = d.constraint(&o); err != nil {
			yield(generation.Next{}, err)
			return
		}
		r := generation.Request{Prompt: prompt, Memory: from.memory, Soft: from.soft, Adapter: o.Adapter, Limits: generation.Limits{MaxTokens: n, Stop: d.ends(&o)}}
		if r.Sampler, err = generation.NewSampler(c); err != nil {
			yield(generation.Next{}, err)
			return
		}
		d.lanes.For(prompt).Scheduler.Generate(ctx, r)(yield)
	}
}

// search yields the most likely tokens after a prompt, n at most.
func (d *decoder) search(ctx context.Context, memory *models.Memory, prompt []int, n int, rules *generation.Rules, o GenerateOptions) iter.Seq2[generation.Next, error] {
	return func(yield func(generation.Next, error) bool) {
		ws := d.workspace()
		defer d.pool.Put(ws)
		found, err := generation.Beam(ctx, generation.StartLM(ws, d.model.LM, memory, o.Beams), prompt, generation.BeamConfig{
			Width: o.Beams, MaxTokens: n, Stop: d.ends(&o), LengthPenalty: settings.Or(d.settings.Penalty, 1), EarlyStopping: d.settings.Stopping, Rules: rules,
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
		finish := generation.FinishStop
		if !found[0].Stopped {
			finish = generation.FinishLength
		}
		yield(generation.Next{Choice: generation.Choice{Token: -1}, Finish: finish}, nil)
	}
}

// rules returns the folder's for a text, with the options' in their place; source is as for
// [settings.Settings.Rules].
func (d *decoder) rules(o *GenerateOptions, source []int) (*generation.Rules, error) {
	r := d.settings.Rules(d.ends(o), source)
	o.apply(r)
	for _, id := range o.StopTokens {
		if id < 0 || id >= d.model.LM.Vocab() {
			return nil, check.Option("StopTokens", id, "the model has %d tokens", d.model.LM.Vocab())
		}
	}
	for _, word := range o.BadWords {
		words, err := d.badWord(word)
		if err != nil {
			return nil, check.Option("BadWords", word, "%w", err)
		}
		r.BadWords = append(slices.Clip(r.BadWords), words...)
	}
	return r, nil
}

// ends returns the tokens that end a text.
func (d *decoder) ends(o *GenerateOptions) []int {
	if o.IgnoreEOS {
		return o.StopTokens
	}
	return slices.Concat(d.model.Config.EOSTokens, o.StopTokens)
}

// badWord returns the tokens of a word, and those of the word within a text if they are as many and
// begin with another one, as vLLM does.
func (d *decoder) badWord(word string) ([][]int, error) {
	var out [][]int
	for _, s := range []string{strings.TrimLeft(word, " "), " " + strings.TrimLeft(word, " ")} {
		e, err := d.tokenizer.Encode(s, plainTokens)
		if err != nil {
			return nil, err
		}
		if len(e.IDs) > 0 && (out == nil || len(e.IDs) == len(out[0]) && e.IDs[0] != out[0][0]) {
			out = append(out, e.IDs)
		}
	}
	if out == nil {
		return nil, fmt.Errorf("%w: it has no tokens", fault.ErrInput)
	}
	return out, nil
}

// room returns how many tokens may follow a prompt: the wanted number, or else the number of the
// settings, and at most as many as fit into the context.
func (f *decoder) room(prompt, wanted int) (int, error) {
	s := f.settings
	switch {
	case wanted > 0:
	case s.MaxNew != nil && *s.MaxNew > 0:
		wanted = *s.MaxNew
	case s.MaxLength != nil && *s.MaxLength > 0:
		if wanted = *s.MaxLength - prompt; wanted < 1 {
			return 0, fmt.Errorf("%w: a prompt of %d, and %s: max_length = %d counts it", fault.ErrTooLong, prompt, s.File, *s.MaxLength)
		}
	default:
		wanted = defaultNewTokens
	}
	if f.limit == 0 {
		return wanted, nil
	}
	if prompt >= f.limit {
		return 0, fmt.Errorf("%w: a prompt of %d in a context of %d", fault.ErrTooLong, prompt, f.limit)
	}
	return min(wanted, f.limit-prompt), nil
}

// newVocabulary returns the tokens of a folder for grammars.
func (f *base) newVocabulary() (*grammar.Vocabulary, error) {
	tokens, err := f.tokenizer.TokenBytes()
	if err != nil {
		return nil, check.Option("Grammar", "", "%w", err)
	}
	ends := f.model.Config.EOSTokens
	if len(ends) == 0 {
		return nil, check.Option("Grammar", "", "the model has no token that ends texts")
	}
	if n := f.model.LM.Vocab(); len(tokens) > n { // which the model never chooses
		tokens = tokens[:n]
	}
	return grammar.NewVocabulary(tokens, ends)
}

// constraint returns the constraint of the options' grammar, nil without one.
func (d *decoder) constraint(o *GenerateOptions) (generation.Constraint, error) {
	if o.Grammar == nil {
		return nil, nil
	}
	v, err := d.vocabulary()
	if err != nil {
		return nil, err
	}
	return o.Grammar.Matcher(v), nil
}

// Replicas describes the replicas of the decoder.
func (d *decoder) Replicas() []ReplicaInfo {
	all := d.base.Replicas()
	for i, l := range d.lanes {
		s := l.Scheduler.Stats()
		all[i].Busy, all[i].Batches, all[i].Tokens = s.Running, s.Steps, s.PromptTokens+s.Tokens
	}
	return all
}

// openLanes makes the replicas of a decoder, with a draft model, which may be nil, whose weights
// take some bytes.
func (d *decoder) openLanes(draft models.LanguageModel, drafting int64) error {
	of, err := d.copies()
	if err != nil {
		return err
	}
	n := int64(len(of))
	most, kept := d.cacheMemory(drafting)
	for i, s := range d.shares {
		scheduler, err := generation.NewScheduler(generation.SchedulerConfig{
			Model: of[i], DraftModel: draft, Threads: kernels.Threads(s.Threads), CPUs: s.CPUs, Memory: (most + n - 1) / n, Kept: (kept + n - 1) / n,
		})
		if err != nil {
			return err
		}
		d.lanes = append(d.lanes, &lanes.Lane{Scheduler: scheduler})
	}
	return nil
}

// cacheMemory returns the most bytes of keys and values, and how many of them texts that have ended
// may fill, where the weights of a draft model take some.
func (d *decoder) cacheMemory(drafting int64) (most, kept int64) {
	o := &d.options
	if o.CacheMemory > 0 {
		return o.CacheMemory, cmp.Or(o.CacheKept, o.CacheMemory)
	}
	f := d.Footprint()
	most, kept = replica.Cache(o.memory(), f.Weights+f.Working+drafting, 1)
	return most, cmp.Or(o.CacheKept, kept)
}

// openDraft opens the draft model that the options name, and returns the bytes of its weights. It
// returns nil if they do not name one.
func (f *base) openDraft() (draft models.LanguageModel, weights int64, err error) {
	if f.options.Draft == "" {
		return nil, 0, nil
	}
	refused := func(format string, args ...any) (models.LanguageModel, int64, error) {
		return nil, 0, check.Option("Draft", f.options.Draft, format, args...)
	}
	fsys, err := folder.FS(f.options.Draft)
	if err != nil {
		return refused("%w", err)
	}
	t, err := folder.Tokenizer(fsys, tokenizer.Opening{AsWritten: f.options.TokenizerAsWritten, Ready: f.options.Model.Ready, ReadyCopy: f.options.Model.ReadyCopy})
	if err != nil {
		return refused("%w", err)
	}
	for id := range max(t.Size(), f.tokenizer.Size()) {
		want, known := f.tokenizer.Token(id)
		if has, ok := t.Token(id); has != want || ok != known {
			return refused("its token %d is %q, the model's %q", id, has, want)
		}
	}
	how := f.options.Model
	m, err := folder.Model(fsys, models.Options{WeightFormat: how.WeightFormat, Float32: how.Float32, CacheFormat: how.CacheFormat, MemoryLimit: how.MemoryLimit, HeadersOnly: how.HeadersOnly, Warn: how.Warn})
	if err != nil {
		return refused("%w", err)
	}
	if m.LM == nil || m.LM.Vocab() != f.model.LM.Vocab() {
		return refused("want a language model with logits for %d tokens", f.model.LM.Vocab())
	}
	return m.LM, m.Footprint.Weights, nil
}
