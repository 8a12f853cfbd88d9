// Load sends requests to servers of models in turn, round by round. It prints the answers per
// second, the times of answers, and the memory of the servers' processes.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// target is a server that is measured.
type target struct {
	name, url, model, key string
	pid                   int // 0: unknown
	rounds                []round
	gaps                  []gapRound // results of -kind gaps
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var targets []*target
	flag.Func("server", "`NAME=URL[,pid=N][,model=NAME][,key=KEY]` of a route; may be given several times", func(v string) error {
		t, err := parseTarget(v)
		targets = append(targets, t)
		return err
	})
	p := plan{}
	flag.StringVar(&p.kind, "kind", "embeddings", "what is sent: embeddings (OpenAI's), embed (text-embeddings-inference's) chat (OpenAI's, streamed), or gaps (chats too)")
	flag.IntVar(&p.connections, "connections", 8, "clients at a time; with -rate the most requests at a time")
	flag.Float64Var(&p.rate, "rate", 0, "requests a second of an open loop; 0: a closed loop")
	flag.DurationVar(&p.block, "block", 3*time.Second, "time per server and round")
	flag.DurationVar(&p.warm, "warm", 500*time.Millisecond, "time before that which is not counted")
	flag.IntVar(&p.shortest, "shortest", 8, "fewest words of a text")
	flag.IntVar(&p.longest, "longest", 256, "most words of a text; lengths are log-uniform")
	flag.IntVar(&p.texts, "texts", 1, "texts of a request")
	flag.IntVar(&p.tokens, "tokens", 64, "tokens to generate, of -kind chat")
	rounds := flag.Int("rounds", 10, "rounds")
	flag.Parse()
	if err := p.check(); err != nil {
		return err
	}
	if len(targets) == 0 || *rounds < 1 || flag.NArg() > 0 {
		return fmt.Errorf("want -server NAME=URL, and at least one round")
	}
	for n := range *rounds {
		for _, i := range rand.Perm(len(targets)) {
			if p.kind == "gaps" {
				r, err := p.measureGaps(ctx, targets[i], uint64(n))
				if err != nil {
					return err
				}
				targets[i].gaps = append(targets[i].gaps, r)
				continue
			}
			r, err := p.measure(ctx, targets[i], uint64(n))
			if err != nil {
				return err
			}
			targets[i].rounds = append(targets[i].rounds, r)
		}
	}
	if p.kind == "gaps" {
		return printGaps(targets)
	}
	return print(targets, p.kind == "chat")
}

func parseTarget(v string) (*target, error) {
	name, rest, ok := strings.Cut(v, "=")
	parts := strings.Split(rest, ",")
	t := &target{name: name, url: parts[0], model: "model"}
	if !ok || name == "" || !strings.HasPrefix(t.url, "http") {
		return t, fmt.Errorf("%q, want NAME=URL", v)
	}
	for _, part := range parts[1:] {
		field, value, _ := strings.Cut(part, "=")
		var err error
		switch field {
		case "pid":
			t.pid, err = strconv.Atoi(value)
		case "model":
			t.model = value
		case "key":
			t.key = value
		default:
			err = fmt.Errorf("%q, want pid, model or key", field)
		}
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

// print writes the medians of the rounds, and the medians of their quotients by the first server's.
func print(targets []*target, chat bool) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	what := "texts/s"
	if chat {
		what = "tokens/s\tfirst p50 ms\tfirst p99 ms"
	}
	fmt.Fprintf(w, "server\trequests/s\t%s\tp50 ms\tp95 ms\tp99 ms\tfailed\t429 p99 ms\tresident MiB\tpeak MiB\trate ratio\tp99 ratio\n", what)
	for _, t := range targets {
		of := func(f func(r round) float64) float64 { return medianOf(t.rounds, f) }
		firsts := ""
		if chat {
			firsts = fmt.Sprintf("\t%.1f\t%.1f", of(func(r round) float64 { return r.first(0.5) }), of(func(r round) float64 { return r.first(0.99) }))
		}
		failed, refusals := 0, []float64(nil)
		for _, r := range t.rounds {
			failed, refusals = failed+r.failed, append(refusals, r.refusals...)
		}
		fmt.Fprintf(w, "%s\t%.1f\t%.1f%s\t%.2f\t%.2f\t%.2f\t%d\t%.2f\t%.0f\t%.0f\t%.2f\t%.2f\n", t.name,
			of(func(r round) float64 { return float64(r.answered) / r.seconds }), of(round.rate), firsts,
			of(func(r round) float64 { return r.time(0.5) }), of(func(r round) float64 { return r.time(0.95) }), of(func(r round) float64 { return r.time(0.99) }), failed, quantile(refusals, 0.99),
			memory(t.pid, "VmRSS"), memory(t.pid, "VmHWM"), ratio(targets[0], t, round.rate), ratio(targets[0], t, func(r round) float64 { return r.time(0.99) }))
	}
	return w.Flush()
}

// ratio returns the median over the rounds of the first server's figure divided by the other
// server's.
func ratio(first, other *target, f func(r round) float64) float64 {
	var all []float64
	for i := range other.rounds {
		all = append(all, f(first.rounds[i])/f(other.rounds[i]))
	}
	return quantile(all, 0.5)
}

func medianOf(rounds []round, f func(r round) float64) float64 {
	var all []float64
	for _, r := range rounds {
		all = append(all, f(r))
	}
	return quantile(all, 0.5)
}

// memory returns a figure of a process in MiB, 0 if it is not known.
func memory(pid int, field string) float64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(data), "\n"+field+":")
	number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	kib, _ := strconv.ParseFloat(cmp.Or(number, "0"), 64)
	return kib / 1024
}
