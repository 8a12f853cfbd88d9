// This file measures the gaps between the tokens of running streams while a long prompt is read,
// and the time until its first token.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/avoformer/avoformer/internal/gaps"
)

// gapRound holds a server's results in one round of -kind gaps, in seconds.
type gapRound struct {
	calm, beside  []float64 // gaps before the long prompt is sent, and while it is read
	alone, loaded float64   // time until the first token of a long prompt, without streams and with them
}

// measureGaps sends a long prompt to an idle server, and then another one while streams run. The
// number of a round is the seed of its prompts.
func (p *plan) measureGaps(ctx context.Context, t *target, number uint64) (r gapRound, err error) {
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true} // a server may close connections that were idle since the round before
	s := &streams{target: t, client: &http.Client{Transport: transport}, watch: gaps.New(p.connections)}
	draw := rand.New(rand.NewPCG(number, 3))
	if r.alone, err = s.first(ctx, t.model, p.long(draw)); err != nil {
		return r, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer s.running.Wait()
	defer cancel()
	begun := make(chan error, p.connections)
	for i := range p.connections {
		s.running.Go(func() { s.follow(ctx, i, t.model, fmt.Sprintf("Count from %d on, and never stop.", 100*i+1), begun) })
	}
	for range p.connections {
		if err := <-begun; err != nil {
			return r, err
		}
	}
	s.watch.During(func() { time.Sleep(p.warm) })
	r.calm = s.watch.During(func() { time.Sleep(p.block) })
	r.beside = s.watch.During(func() { r.loaded, err = s.first(ctx, t.model, p.long(draw)) })
	return r, errors.Join(err, s.watch.Err())
}

// long returns a prompt of -longest words.
func (p *plan) long(draw *rand.Rand) string {
	text := make([]string, p.longest)
	for i := range text {
		text[i] = words[draw.IntN(len(words))]
	}
	return strings.Join(text, " ")
}

// streams are answers that a server is generating.
type streams struct {
	target  *target
	client  *http.Client
	running sync.WaitGroup
	watch   *gaps.Watch
}

// follow reads the answer to the message of stream i until ctx is cancelled. It sends nil when the
// first token arrives, or the error if there is one before.
func (s *streams) follow(ctx context.Context, i int, model, message string, begun chan<- error) {
	begins := false
	err := s.read(ctx, model, message, 1<<14, func() {
		if s.watch.Token(i) {
			begins = true
			begun <- nil
		}
	})
	if ctx.Err() == nil && err == nil {
		err = errors.New("a stream ended by itself: does the server support ignore_eos, and is its context long enough for the text?")
	}
	if !begins {
		begun <- err
	} else if ctx.Err() == nil {
		s.watch.End(err)
	}
}

// first returns the seconds until the first token after a message.
func (s *streams) first(ctx context.Context, model, message string) (seconds float64, err error) {
	begin := time.Now()
	err = s.read(ctx, model, message, 1, func() { seconds = time.Since(begin).Seconds() })
	if err == nil && seconds == 0 {
		err = fmt.Errorf("%s: no token after a long prompt", s.target.name)
	}
	return seconds, err
}

// read sends a message, and calls token for each piece of text in the answer.
func (s *streams) read(ctx context.Context, model, message string, most int, token func()) error {
	body, err := json.Marshal(map[string]any{"model": model, "messages": []map[string]string{{"role": "user", "content": message}},
		"stream": true, "max_tokens": most, "temperature": 0, "ignore_eos": true})
	if err != nil {
		return err
	}
	resp, err := s.target.post(ctx, s.client, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return fmt.Errorf("%s: %s: %s", s.target.name, resp.Status, said)
	}
	_, _, err = eachPiece(resp.Body, token)
	return err
}

// post sends a request to the server.
func (t *target) post(ctx context.Context, client *http.Client, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", t.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if t.key != "" {
		req.Header.Set("Authorization", "Bearer "+t.key)
	}
	return client.Do(req)
}

// printGaps writes the medians of the rounds.
func printGaps(targets []*target) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "server\tgap p50 ms\tbeside p50\tp95\tp99\tmost\tp99 by p50\tmost by p50\tfirst alone ms\tbeside\tbeside by alone")
	for _, t := range targets {
		of := func(f func(r gapRound) float64) float64 {
			var all []float64
			for _, r := range t.gaps {
				all = append(all, f(r))
			}
			return quantile(all, 0.5)
		}
		took := func(q float64) float64 { return of(func(r gapRound) float64 { return 1e3 * quantile(r.beside, q) }) }
		times := func(q float64) float64 {
			return of(func(r gapRound) float64 { return quantile(r.beside, q) / quantile(r.calm, 0.5) })
		}
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\t%.0f\t%.0f\t%.2f\n", t.name, of(func(r gapRound) float64 { return 1e3 * quantile(r.calm, 0.5) }),
			took(0.5), took(0.95), took(0.99), took(1), times(0.99), times(1), of(func(r gapRound) float64 { return 1e3 * r.alone }), of(func(r gapRound) float64 { return 1e3 * r.loaded }),
			of(func(r gapRound) float64 { return r.loaded / r.alone }))
	}
	return w.Flush()
}
