// Search finds the lines of a file that are closest to a question in meaning:
//
//	$ go run ./text/examples/search "I cannot log in, what can I do?"
//	0.65 After five wrong tries your account is locked.
//
// The model is a tiny one that knows some hundred everyday words; any sentence encoder of the hub takes its
// place: -model all-MiniLM-L6-v2, after `avoformer pull sentence-transformers/all-MiniLM-L6-v2`.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/text"
)

func main() {
	model := flag.String("model", "text/examples/models/embed", "the model's `folder`")
	file := flag.String("file", "text/examples/models/sentences.txt", "the `file` whose lines are searched")
	flag.Parse()
	log.SetFlags(0)

	lines, err := os.ReadFile(*file)
	if err != nil {
		log.Fatal(err)
	}
	e, err := text.OpenEmbedder(*model)
	if err != nil {
		log.Fatal(err)
	}
	hits, err := search(context.Background(), e, strings.Split(strings.TrimSpace(string(lines)), "\n"), strings.Join(flag.Args(), " "))
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range hits[:min(3, len(hits))] {
		fmt.Printf("%.2f %s\n", h.score, h.line)
	}
}

type hit struct {
	line  string
	score float32
}

// search sorts lines by the cosine of their vectors to that of the question; vectors have length 1.
func search(ctx context.Context, e *text.Embedder, lines []string, question string) ([]hit, error) {
	vectors, err := e.Embed(ctx, append(lines, question))
	if err != nil {
		return nil, err
	}
	q := vectors[len(lines)]
	hits := make([]hit, len(lines))
	for i, line := range lines {
		hits[i].line = line
		for j, x := range vectors[i] {
			hits[i].score += x * q[j]
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	return hits, nil
}
