// Command real computes with a language model what scripts/real.py compares with transformers.
//
//	real MODEL < request.json
//
// The request is one JSON object, {"text": …, "formats": true, "chats": […], "tokens": N, "files":
// […]}. The answer has the ids of the text, its perplexity with the model's weights in each format,
// if asked for, and with those of other files as they are stored, and for each chat the ids of its
// prompt and of at most N greedy tokens in float32.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer"
)

type request struct {
	Text    string   `json:"text"`
	Formats bool     `json:"formats"`
	Chats   []string `json:"chats"`
	Tokens  int      `json:"tokens"`
	Files   []string `json:"files"`
}

type answer struct {
	IDs        []int              `json:"ids"`
	Perplexity map[string]float64 `json:"perplexity"`
	Files      map[string]float64 `json:"files"`
	Chats      []chat             `json:"chats"`
}

type chat struct {
	Prompt []int `json:"prompt"`
	Greedy []int `json:"greedy"`
}

// formats are those that perplexities are told of, by what -weights of the command calls them.
var formats = []struct {
	name string
	o    models.Options
}{
	{"*=f32", models.Options{WeightFormats: all(kernels.FormatF32)}},
	{"as stored", models.Options{}},
	{"*=f32, -cache int8", models.Options{WeightFormats: all(kernels.FormatF32), CacheFormat: kernels.FormatInt8}},
	{"*=bf16", models.Options{WeightFormats: all(kernels.FormatBF16)}},
	{"*=bf16, -prompts int8", models.Options{WeightFormats: all(kernels.FormatBF16), PromptFormat: kernels.FormatInt8}},
	{"as stored, -prompts int8", models.Options{PromptFormat: kernels.FormatInt8}},
	{"int8", models.Options{WeightFormat: kernels.FormatInt8}},
	{"*=q8_0", models.Options{WeightFormats: all(kernels.FormatQ8_0)}},
}

func all(f kernels.Format) []models.NamedFormat {
	return []models.NamedFormat{{Pattern: "*", Format: f}}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "real:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: real MODEL")
	}
	path := os.Args[1]
	var in request
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		return err
	}
	tok, err := tokenizer.Open(path)
	if err != nil {
		return err
	}
	g, err := text.OpenGenerator(path, text.Options{Model: models.Options{HeadersOnly: true}})
	if err != nil {
		return err
	}
	out := answer{Perplexity: map[string]float64{}, Files: map[string]float64{}}
	if out.IDs, err = idsOf(tok, in.Text); err != nil {
		return err
	}
	if len(in.Chats) > 0 {
		if err := chats(&out, in, g, tok, path); err != nil {
			return err
		}
	}
	for _, f := range formats {
		if !in.Formats {
			break
		}
		if out.Perplexity[f.name], err = opened(path, f.o, out.IDs); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	for _, file := range in.Files {
		if out.Files[file], err = opened(file, models.Options{}, out.IDs); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// chats computes those of the request in float32.
func chats(out *answer, in request, g *text.Generator, tok *tokenizer.Tokenizer, path string) error {
	m, err := models.Open(path, models.Options{WeightFormats: all(kernels.FormatF32)})
	if err != nil {
		return err
	}
	for _, user := range in.Chats {
		prompt, err := g.Prompt([]text.Message{{Role: "user", Content: user}}, text.PromptOptions{})
		if err != nil {
			return err
		}
		var c chat
		if c.Prompt, err = idsOf(tok, prompt); err != nil {
			return err
		}
		if c.Greedy, err = greedy(m, c.Prompt, in.Tokens); err != nil {
			return err
		}
		out.Chats = append(out.Chats, c)
	}
	return nil
}

func idsOf(t *tokenizer.Tokenizer, s string) ([]int, error) {
	e, err := t.Encode(s, tokenizer.Options{})
	if err != nil {
		return nil, err
	}
	return e.IDs, nil
}

// opened returns the perplexity of a text with a model that is opened for it.
func opened(path string, o models.Options, ids []int) (float64, error) {
	m, err := models.Open(path, o)
	if err != nil {
		return 0, err
	}
	return perplexity(m, ids)
}

// piece is how many tokens of a text are computed together for its perplexity; those of its second
// half count.
const piece = 512

// perplexity is that of the whole pieces of a text, as of one that is read as a prompt.
func perplexity(m *models.Model, ids []int) (float64, error) {
	ws := &models.Workspace{Threads: kernels.Threads(runtime.GOMAXPROCS(0))}
	dim, pages := m.LM.Dim(), m.LM.NewPages(0)
	const rows = 64 // of which logits are computed together
	x, logits, vocab := make([]float32, piece*dim), make([]float32, rows*m.LM.Vocab()), m.LM.Vocab()
	loss, n := 0.0, 0
	for ; len(ids) >= piece; ids = ids[piece:] {
		if err := m.LM.Hidden(ws, x, ids[:piece], transformer.Uniform(1, piece), nil, pages.Cache(1)); err != nil { // [piece, dim]
			return 0, err
		}
		for i := piece / 2; i < piece-1; i += rows {
			k := min(rows, piece-1-i)
			if err := m.LM.Logits(ws, logits[:k*vocab], x[i*dim:(i+k)*dim]); err != nil { // [k, vocab]
				return 0, err
			}
			for j := range k {
				loss, n = loss-logProbability(logits[j*vocab:(j+1)*vocab], ids[i+j+1]), n+1
			}
		}
	}
	return math.Exp(loss / float64(n)), nil
}

func logProbability(logits []float32, token int) float64 {
	most, sum := float64(slices.Max(logits)), 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - most)
	}
	return float64(logits[token]) - most - math.Log(sum)
}

// greedy are the likeliest tokens after a prompt, until one that ends a text, which is the last.
func greedy(m *models.Model, prompt []int, most int) ([]int, error) {
	ws := &models.Workspace{Threads: kernels.Threads(runtime.GOMAXPROCS(0))}
	dim, cache := m.LM.Dim(), m.LM.NewPages(0).Cache(1)
	logits := make([]float32, m.LM.Vocab())
	var out []int
	for next := prompt; len(out) < most; next = out[len(out)-1:] {
		x := make([]float32, len(next)*dim)
		if err := m.LM.Hidden(ws, x, next, transformer.Uniform(1, len(next)), nil, cache); err != nil { // [rows, dim]
			return nil, err
		}
		if err := m.LM.Logits(ws, logits, x[len(x)-dim:]); err != nil { // [vocab]
			return nil, err
		}
		token := slices.Index(logits, slices.Max(logits))
		out = append(out, token)
		if slices.Contains(m.Config.EOSTokens, token) {
			break
		}
	}
	return out, nil
}
