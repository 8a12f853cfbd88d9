// Package chat has the parts that protocols which generate text share: it builds prompts from
// messages, reads constraints and sampling options of requests, and generates several texts at a
// time, divided into content, reasoning and calls.
package chat

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/answer"
)

// Job is one text to generate.
type Job struct {
	engine.Prompt
	Options text.GenerateOptions
	Parser  *answer.Parser // nil: the whole text is content
	OneCall bool           // the text after the first call is ignored
	Forced  bool           // the text can only be calls: a call that the limit cuts is not content
	Opening string         // the end of the prompt, which is the beginning of the answer
	called  bool
	format  *Format
	answer  answer.Answer // the answer so far, if there is a format
}

// Follow makes the text follow a format; nil is any text.
func (j *Job) Follow(f *Format) {
	if j.format = f; f != nil {
		j.Options.Grammar = f.Grammar
	}
}

// Event is the next part of one of the texts.
type Event struct {
	Job    int // index of the job
	Parts  []answer.Event
	Tokens []generation.Choice
	Finish generation.Finish // FinishNone, except in the last event of the text
	Stop   string            // the stop string that ended the text
	Usage  answer.Usage      // in the last event
}

// Run yields the events of jobs as they occur, until all jobs have ended or one has failed.
func Run(ctx context.Context, g *engine.Generator, jobs []Job) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if len(jobs) == 1 {
			jobs[0].run(ctx, g, 0, yield)
			return
		}
		runAll(ctx, g, jobs, yield)
	}
}

// runAll runs each job on its own goroutine. All of them have ended when it returns.
func runAll(parent context.Context, g *engine.Generator, jobs []Job, yield func(Event, error) bool) {
	type result struct {
		event Event
		err   error
	}
	ctx, cancel := context.WithCancel(parent)
	results := make(chan result)
	records := make([]engine.Record, len(jobs)) // only one goroutine may use the request's own record
	var running sync.WaitGroup
	for i := range jobs {
		running.Go(func() {
			send := func(e Event, err error) bool {
				select {
				case results <- result{e, err}:
					return err == nil
				case <-ctx.Done():
					return false
				}
			}
			defer func() { // the server recovers only panics of its own goroutines
				if v := recover(); v != nil {
					send(Event{}, engine.Panicked(v))
				}
			}()
			jobs[i].run(engine.WithRecord(ctx, &records[i]), g, i, send)
		})
	}
	go func() {
		running.Wait()
		close(results)
	}()
	defer func() {
		cancel()
		for range results { // until all jobs have ended
		}
		total := engine.RecordOf(parent)
		for i := range records {
			r := &records[i]
			total.Texts, total.Tokens, total.Shared, total.Generated = total.Texts+r.Texts, total.Tokens+r.Tokens, total.Shared+r.Shared, total.Generated+r.Generated
			total.Compute = max(total.Compute, r.Compute)
			total.Warnings = append(total.Warnings, r.Warnings...)
			if total.First == 0 || r.First > 0 && r.First < total.First {
				total.First = r.First
			}
		}
	}()
	ended := 0
	for r := range results {
		if !yield(r.event, r.err) || r.err != nil {
			return
		}
		if r.event.Finish != generation.FinishNone {
			ended++
		}
	}
	if ended < len(jobs) {
		yield(Event{}, engine.AsError(context.Cause(parent)))
	}
}

// run yields the events of job n.
func (j *Job) run(ctx context.Context, g *engine.Generator, n int, yield func(Event, error) bool) {
	before := j.parse(j.Opening)
	record := engine.RecordOf(ctx)
	if j.format != nil && n == 0 {
		record.Warnings = append(record.Warnings, j.format.warnings...)
	}
	for piece, err := range g.Pieces(ctx, j.Prompt, j.Options) {
		if err != nil {
			yield(Event{}, err)
			return
		}
		e := Event{Job: n, Parts: append(before, j.parse(piece.Text)...), Tokens: piece.Tokens, Finish: piece.Finish, Stop: piece.Stop, Usage: piece.Usage}
		before = nil
		if piece.Finish != generation.FinishNone && j.Parser != nil {
			e.Parts = append(e.Parts, j.Parser.End()...)
		}
		if j.Forced {
			e.Parts = slices.DeleteFunc(e.Parts, func(part answer.Event) bool { return part.Kind == answer.Text })
		}
		if j.OneCall {
			e.Parts = j.untilCall(e.Parts)
		}
		if j.format != nil {
			for _, part := range e.Parts {
				j.answer.Add(part)
			}
			if e.Finish != generation.FinishNone {
				record.Warnings = append(record.Warnings, j.format.verify(&j.answer)...)
			}
		}
		if !yield(e, nil) {
			return
		}
	}
}

// parse returns the events of a piece of the text.
func (j *Job) parse(piece string) []answer.Event {
	switch {
	case piece == "":
		return nil
	case j.Parser == nil:
		return []answer.Event{{Kind: answer.Text, Text: piece}}
	}
	return slices.Clone(j.Parser.Add(piece))
}

// untilCall returns the events up to the end of the first call.
func (j *Job) untilCall(all []answer.Event) []answer.Event {
	if j.called {
		return nil
	}
	if at := slices.IndexFunc(all, func(e answer.Event) bool { return e.Kind == answer.CallEnd }); at >= 0 {
		j.called = true
		return all[:at+1]
	}
	return all
}
