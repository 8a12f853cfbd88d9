// This file has the part of bench that measures models that generate text, in this process.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text"
)

// benchDecoders measures a model that generates text, with each number of threads.
func (a *app) benchDecoders(dir string, d decoderFlags, threads numbers, seconds float64, asJSON bool) error {
	for _, n := range threads {
		*d.threads = n
		o, err := d.options()
		if err != nil {
			return err
		}
		if err := a.benchDecoder(dir, o, n, seconds, asJSON); err != nil {
			return err
		}
	}
	return nil
}

// benchDecoder measures a decoder, or an encoder with a decoder. If the folder has neither, the
// error matches fault.ErrFolder.
func (a *app) benchDecoder(dir string, o text.Options, threads int, seconds float64, asJSON bool) error {
	begin := time.Now()
	g, err := openModel(a, text.OpenGenerator, dir, o)
	if err == nil {
		return a.benchGenerator(g, begin, threads, seconds, asJSON)
	} else if !errors.Is(err, fault.ErrFolder) {
		return err
	}
	resetPeak()
	begin = time.Now()
	t, failed := openModel(a, text.OpenTranslator, dir, o)
	if errors.Is(failed, fault.ErrFolder) {
		return err
	} else if failed != nil {
		return failed
	}
	return a.benchTranslator(t, begin, threads, seconds, asJSON)
}

// benchTranslator measures an encoder with a decoder. Opening it began at begin.
func (a *app) benchTranslator(t *text.Translator, begin time.Time, threads int, seconds float64, asJSON bool) error {
	o := text.TranslateOptions{GenerateOptions: text.GenerateOptions{MaxTokens: 64}}
	translate := func(i int) error {
		_, err := text.Collect(t.Stream(a.ctx, benchText(16, i), o))
		return err
	}
	if err := translate(0); err != nil {
		return err
	}
	start := time.Now()
	texts := 0
	for ; texts == 0 || time.Since(start).Seconds() < seconds; texts++ {
		if err := translate(texts + 1); err != nil {
			return err
		}
	}
	first, rate := start.Sub(begin).Seconds(), float64(texts)/time.Since(start).Seconds()
	if asJSON {
		return a.printJSON(map[string]any{"threads": threads, "first": first, "texts_per_second": rate, "peak_mb": peakMemory()})
	}
	_, err := fmt.Fprintf(a.out, "%d threads: first text after %.1f ms, then %.1f texts a second, of 16 words, into at most %d tokens; peak %.0f MB\n", threads, first*1e3, rate, o.MaxTokens, peakMemory())
	return err
}

// benchGenerator measures a decoder. Opening it began at begin.
func (a *app) benchGenerator(g *text.Generator, begin time.Time, threads int, seconds float64, asJSON bool) error {
	o := text.GenerateOptions{MaxTokens: 1 << 20}
	first, tokens, before := 0.0, 0, 0
	ctx, cancel := context.WithTimeout(a.ctx, time.Duration((seconds+time.Since(begin).Seconds())*float64(time.Second)))
	defer cancel()
	start := time.Now()
	for piece, err := range g.Generate(ctx, benchText(16, 0), o) {
		if errors.Is(err, context.DeadlineExceeded) {
			break
		} else if err != nil {
			return err
		}
		if tokens += len(piece.Tokens); first == 0 && tokens > 0 {
			first, start, before = time.Since(begin).Seconds(), time.Now(), tokens
		}
	}
	rate := float64(tokens-before) / time.Since(start).Seconds()
	if asJSON {
		return a.printJSON(map[string]any{"threads": threads, "first": first, "tokens_per_second": rate, "peak_mb": peakMemory()})
	}
	_, err := fmt.Fprintf(a.out, "%d threads: first token after %.1f ms, then %.1f tokens a second; peak %.0f MB\n", threads, first*1e3, rate, peakMemory())
	return err
}

// resetPeak returns unused memory to the system, and resets peakMemory.
func resetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// peakMemory returns the largest resident size of the process in MB, 0 if unknown.
func peakMemory() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(status), "VmHWM:")
	var kb float64
	if !ok {
		return 0
	}
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		return 0
	}
	return kb / 1e3
}

// benchText returns a text with a number of words. Texts with different i differ.
func benchText(words, i int) string {
	const all = "the cat reads a long letter and nobody forgets three numbers in French because it has to while a small dog computes the matrix product of its own weights again"
	list := strings.Fields(all)
	var b strings.Builder
	for j := range words {
		b.WriteString(list[(i*7+j*3)%len(list)] + " ")
	}
	return b.String()
}
