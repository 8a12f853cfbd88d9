// This file has a round: requests to one server, in a closed or an open loop.

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// plan describes the requests, and how they are sent.
type plan struct {
	kind              string
	connections       int
	rate              float64
	block, warm       time.Duration
	shortest, longest int
	texts, tokens     int
}

func (p *plan) check() error {
	switch {
	case p.kind != "embeddings" && p.kind != "embed" && p.kind != "chat" && p.kind != "gaps":
		return fmt.Errorf("-kind %q, want embeddings, embed, chat or gaps", p.kind)
	case p.connections < 1 || p.texts < 1 || p.tokens < 1 || p.block <= 0 || p.warm < 0 || !(p.rate >= 0) || math.IsInf(p.rate, 0):
		return errors.New("want -connections, -texts and -tokens of at least 1, -block above 0, and -warm and -rate of at least 0")
	case p.shortest < 1 || p.longest < p.shortest:
		return fmt.Errorf("-shortest %d and -longest %d: want at least 1 word, and -longest not below -shortest", p.shortest, p.longest)
	}
	return nil
}

// round holds a server's results in one block.
type round struct {
	times, firsts []float64 // ms until the end and until the first piece of requests that were answered
	refusals      []float64 // ms of requests that were answered with 429
	answered      int       // requests that were answered within the block
	units         int       // their texts, or the tokens generated for them
	failed        int       // requests that were not answered with 200, or could not begin
	seconds       float64
}

func (r round) rate() float64           { return float64(r.units) / r.seconds }
func (r round) time(q float64) float64  { return quantile(r.times, q) }
func (r round) first(q float64) float64 { return quantile(r.firsts, q) }

// quantile returns the smallest element of x that a share q of x does not exceed, or NaN if x is
// empty.
func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	return s[max(int(math.Ceil(q*float64(len(s))))-1, 0)]
}

// caller sends the requests of a round.
type caller struct {
	*plan
	target *target
	client *http.Client
	from   time.Time // requests that end earlier are not counted
	end    time.Time // in a closed loop, requests that end later are not counted

	mu    sync.Mutex
	round round
}

// measure sends requests to a server for a block of time. Rounds with the same number send the same
// requests in the same order.
func (p *plan) measure(ctx context.Context, t *target, number uint64) (round, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: p.connections, DisableCompression: true}
	defer transport.CloseIdleConnections()
	from := time.Now().Add(p.warm)
	c := &caller{plan: p, target: t, client: &http.Client{Transport: transport}, from: from, end: from.Add(p.block)}
	bodies := p.bodies(t.model, number)
	var err error
	if p.rate > 0 {
		err = c.open(ctx, bodies, rand.New(rand.NewPCG(number, 2)))
	} else {
		err = c.closed(ctx, bodies)
	}
	if err == nil && len(c.round.times) == 0 {
		err = fmt.Errorf("%s answered nothing, %d requests failed", t.name, c.round.failed)
	}
	c.round.seconds = p.block.Seconds()
	return c.round, err
}

// closed sends the next request on each connection when the previous one has been answered. At the
// end it waits for the remaining answers, which do not count, so that this server is idle while
// other servers are measured.
func (c *caller) closed(ctx context.Context, bodies [][]byte) error {
	var group sync.WaitGroup
	next := make(chan []byte)
	for range c.connections {
		group.Go(func() {
			for body := range next {
				c.ask(ctx, body, time.Now())
			}
		})
	}
	over := time.After(time.Until(c.end))
	for i, going := 0, true; going; i++ {
		select {
		case next <- bodies[i%len(bodies)]:
		case <-over:
			going = false
		case <-ctx.Done():
			going = false
		}
	}
	close(next)
	group.Wait()
	return ctx.Err()
}

// open begins requests at the times of a Poisson process, and waits for the answers to the requests
// of the block.
func (c *caller) open(ctx context.Context, bodies [][]byte, r *rand.Rand) error {
	var group sync.WaitGroup
	room := make(chan struct{}, c.connections)
	at := time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		if at = at.Add(time.Duration(r.ExpFloat64() / c.rate * float64(time.Second))); at.After(c.end) {
			break
		}
		time.Sleep(time.Until(at))
		select {
		case room <- struct{}{}:
		default: // too many requests have not been answered
			c.add(result{began: at, failed: true})
			continue
		}
		began := at
		group.Go(func() {
			c.ask(ctx, bodies[i%len(bodies)], began)
			<-room
		})
	}
	group.Wait()
	return ctx.Err()
}

// result holds the times of one request.
type result struct {
	began, first, ended time.Time
	units               int
	failed, refused     bool
}

// add counts a request. It counts for the rate if it ended within the block. It counts for the
// times by its end in a closed loop, too, but by its beginning in an open loop, so that requests
// that a server did not answer in time count.
func (c *caller) add(r result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	within := !r.ended.Before(c.from) && !r.ended.After(c.end)
	counts := within
	if c.rate > 0 {
		counts = !r.began.Before(c.from)
	}
	took := r.ended.Sub(r.began).Seconds() * 1e3
	if within && !r.failed {
		c.round.answered++
		c.round.units += r.units
	}
	switch {
	case !counts:
	case r.failed:
		c.round.failed++
		if r.refused {
			c.round.refusals = append(c.round.refusals, took)
		}
	default:
		c.round.times = append(c.round.times, took)
		if !r.first.IsZero() {
			c.round.firsts = append(c.round.firsts, r.first.Sub(r.began).Seconds()*1e3)
		}
	}
}

// ask sends a request and reads its answer.
func (c *caller) ask(ctx context.Context, body []byte, began time.Time) {
	r := result{began: began, units: c.texts}
	resp, err := c.target.post(ctx, c.client, body)
	if err == nil {
		r.failed, r.refused = resp.StatusCode != http.StatusOK, resp.StatusCode == http.StatusTooManyRequests
		if c.kind == "chat" {
			r.units, r.first, err = pieces(resp.Body)
		} else {
			_, err = io.Copy(io.Discard, resp.Body)
		}
		resp.Body.Close()
	}
	if err != nil && ctx.Err() != nil {
		return
	}
	r.failed = r.failed || err != nil
	r.ended = time.Now()
	c.add(r)
}

// pieces counts the tokens of a streamed answer: by its usage if it has one, otherwise by its
// pieces.
func pieces(body io.Reader) (tokens int, first time.Time, err error) {
	told, counted, err := eachPiece(body, func() {
		if first.IsZero() {
			first = time.Now()
		}
	})
	return max(told, counted), first, err
}

// eachPiece calls piece for each piece of a streamed answer that has text. It returns the number of
// tokens that the answer states, and the number of pieces.
func eachPiece(body io.Reader, piece func()) (told, pieces int, err error) {
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string `json:"content"`
					Reasoning string `json:"reasoning_content"`
				} `json:"delta"`
			} `json:"choices"`
			Usage *struct {
				Completion int `json:"completion_tokens"`
			} `json:"usage"`
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return told, pieces, err
		}
		if chunk.Usage != nil {
			told = chunk.Usage.Completion
		}
		for _, choice := range chunk.Choices {
			if choice.Delta.Content+choice.Delta.Reasoning != "" {
				pieces++
				piece()
			}
		}
	}
	return told, pieces, lines.Err()
}

// words are words that are single tokens in most vocabularies.
var words = strings.Fields("the of and to in is for that on with as was by it be at from are this or an have not which one all their has time more when can out other new some could into than them only its also two now like may after first any my over such our even most me made back through way years well down should because each people just those too world own state work long day never get same another know life between under last might while us great year off come since against go came right used take three")

// bodies returns the requests of a round. They are the same for each server except for the model's
// name.
func (p *plan) bodies(model string, number uint64) [][]byte {
	r := rand.New(rand.NewPCG(number, 1))
	out := make([][]byte, 256)
	for i := range out {
		texts := make([]string, p.texts)
		for j := range texts {
			n := int(math.Round(float64(p.shortest) * math.Pow(float64(p.longest)/float64(p.shortest), r.Float64())))
			text := make([]string, n)
			for k := range text {
				text[k] = words[r.IntN(len(words))]
			}
			texts[j] = strings.Join(text, " ")
		}
		var v any
		switch p.kind {
		case "embeddings":
			v = map[string]any{"model": model, "input": texts}
		case "embed":
			v = map[string]any{"inputs": texts}
		default:
			v = map[string]any{"model": model, "messages": []map[string]string{{"role": "user", "content": strings.Join(texts, "\n")}},
				"stream": true, "stream_options": map[string]bool{"include_usage": true}, "max_tokens": p.tokens, "temperature": 0}
		}
		var err error
		if out[i], err = json.Marshal(v); err != nil {
			panic(err) // strings and numbers always become JSON
		}
	}
	return out
}
