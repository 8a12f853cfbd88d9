// Streams generates many texts at a time with a language model. llama.cpp's llama-batched-bench
// does the same with the same file, in turn, round by round. It prints the tokens per second of
// both.
//
//	python bench/random_gguf.py llama-0.35b llama.gguf
//	go run -C bench ./cmd/streams -llama PATH/llama-batched-bench -rounds 10 $PWD/llama.gguf
//
// Each text has -depth tokens before the ones that are timed. The generated text is ignored.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/avoformer/avoformer/kernels"
)

// settings are the settings of both sides.
type settings struct {
	llama                 string // the path of llama-batched-bench
	threads               int
	depth, tokens, rounds int
	streams               []int
	cache                 kernels.Format
}

// round holds the result of one side in a round: tokens per second by the number of texts.
type round struct {
	File, By string
	Speed    map[int]float64
	// Limit holds the tokens per second that the machine allows, as [model.limit] defines them.
	// Only this library's side has it.
	Limit map[int]float64 `json:",omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "streams:", err)
		os.Exit(1)
	}
}

func run() error {
	var s settings
	flag.StringVar(&s.llama, "llama", "", "`path` of llama-batched-bench; none: ours alone")
	flag.IntVar(&s.threads, "threads", 2, "threads on both sides")
	flag.IntVar(&s.depth, "depth", 512, "tokens of each text before those that are measured")
	flag.IntVar(&s.tokens, "tokens", 16, "tokens of each text that are measured")
	flag.IntVar(&s.rounds, "rounds", 10, "rounds")
	streams := flag.String("streams", "1,2,4,8,16,32", "texts at a time")
	cache := flag.String("cache", "f16", "the `format` of keys and values: f32, bf16 or f16")
	out := flag.String("o", "", "a `file` that rounds are added to; those that it has are printed too")
	flag.Parse()
	for n := range strings.SplitSeq(*streams, ",") {
		i, err := strconv.Atoi(n)
		if err != nil || i < 1 {
			return fmt.Errorf("-streams %q: want numbers from 1 on", *streams)
		}
		s.streams = append(s.streams, i)
	}
	var err error
	if s.cache, err = kernels.ParseFormat(*cache); err != nil || s.cache > kernels.FormatF16 {
		return errors.Join(fmt.Errorf("-cache %q: want f32, bf16 or f16", *cache), err)
	}
	if s.threads < 1 || s.depth < 1 || s.tokens < 1 || s.rounds < 0 {
		return errors.New("-threads, -depth and -tokens: want at least 1")
	}
	rounds, err := readRounds(*out)
	if err != nil {
		return err
	}
	for range s.rounds {
		for _, file := range flag.Args() {
			now, err := s.round(file)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			rounds = append(rounds, now...)
			if err := writeRounds(*out, now); err != nil {
				return err
			}
		}
	}
	return print(rounds)
}

// round runs both sides once.
func (s *settings) round(file string) (both []round, err error) {
	ours, err := s.ours(file)
	if err != nil {
		return nil, err
	}
	if both = append(both, ours); s.llama == "" {
		return both, nil
	}
	theirs, err := s.theirs(file)
	return append(both, theirs), err
}

// readRounds reads the file that writeRounds has written.
func readRounds(path string) (rounds []round, err error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		var r round
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		rounds = append(rounds, r)
	}
	return rounds, err
}

func writeRounds(path string, rounds []round) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	for _, r := range rounds {
		line, err := json.Marshal(r)
		if err == nil {
			_, err = f.Write(append(line, '\n'))
		}
		if err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

// print writes a line for each file and number of texts.
func print(rounds []round) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "file\ttexts\trounds\tours\tof the limit\tllama.cpp\tquotient\tof its best file\t")
	for _, l := range summary(rounds) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.0f\t%.0f%%\t%.0f\t%.2f\t%.2f\t\n", l.file, l.streams, l.rounds, l.ours, 100*l.share, l.theirs, l.quotient, l.best)
	}
	return w.Flush()
}
