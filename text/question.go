// This file answers questions by parts of a text.

package text

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// QuestionAnswerer finds the part of a text that answers a question (extractive question
// answering).
type QuestionAnswerer struct{ *base }

// Span is a part of a text that answers a question.
type Span struct {
	Answer string  `json:"answer"`
	Score  float32 `json:"score"`
	// Start and End are the part's bytes, text[Start:End]; StartChar and EndChar its characters
	// (code points).
	Start     int `json:"-"`
	End       int `json:"-"`
	StartChar int `json:"start"`
	EndChar   int `json:"end"`
}

// Question is a question about a text.
type Question struct{ Question, Text string }

// AnswerOptions says which answers are looked for. The zero value is as transformers' pipeline (of
// its versions before 5) does.
type AnswerOptions struct {
	InputOptions
	Best      int // answers of a question; 0 is 1
	MaxTokens int // of an answer; 0 is 15
}

// KindQuestionAnswerer is the kind of a [QuestionAnswerer].
const KindQuestionAnswerer Kind = "question-answerer"

func questionAnswerer() record {
	return record{
		KindInfo: KindInfo{Type: "QuestionAnswerer", Task: "question-answering", Options: []string{"BatchTokens", "OnBatch", "MaxLength", "LongRefuse", "LongSplit"}},
		kind:     KindQuestionAnswerer, use: models.UseAnswers, open: opening(openQuestionAnswerer),
		lacks: "has no head for answers",
	}
}

// OpenQuestionAnswerer opens the model in a folder. Texts of more tokens than the model takes, or
// than 384, are split into windows, which share 128 tokens, or a half if that is less; options say
// otherwise.
func OpenQuestionAnswerer(dir string, o Options) (*QuestionAnswerer, error) {
	return openIn(dir, o, openQuestionAnswerer)
}

func openQuestionAnswerer(fsys fs.FS, o Options) (*QuestionAnswerer, error) {
	f, err := openFitting(fsys, questionAnswerer(), o)
	if err != nil {
		return nil, err
	}
	most := 384
	if f.options.MaxLength > 0 {
		most = 0
	}
	if err := f.setLimit(most); err != nil {
		return nil, err
	}
	if f.options.Long == LongDefault {
		f.options.Long, f.options.Stride = LongSplit, min(f.limit/2, 128)
	}
	return &QuestionAnswerer{f}, nil
}

// Answer returns the best answers to each question, the best first. The score of a run of tokens is
// the probability of its first times that of its last, among the tokens of the text in a window. Of
// the 2*Best+10 best runs of each window those that are the same words, except for upper and lower
// case, are one answer with the sum of their scores. A text without tokens has none.
func (a *QuestionAnswerer) Answer(ctx context.Context, questions []Question, o AnswerOptions) (Results[[]Span], error) {
	if o.Best < 0 || o.MaxTokens < 0 {
		return Results[[]Span]{}, fmt.Errorf("%w: Best %d, MaxTokens %d, want at least 0", fault.ErrInput, o.Best, o.MaxTokens)
	}
	best, most := cmp.Or(o.Best, 1), cmp.Or(o.MaxTokens, 15)
	inputs := make([]Input, len(questions))
	for i, q := range questions {
		inputs[i] = Input{Text: q.Question, Second: q.Text, Pair: true}
	}
	out := make([][]Span, len(inputs))
	c := &queue.Call{
		Compute: a.headOf(a.model.Heads[models.HeadAnswer], true),
		Finish: func(in *queue.Input, results [][]float32) {
			var found []Span
			for i, w := range in.Windows {
				if logits := results[i]; logits != nil { // [tokens, 2]
					found = a.spans(found, in.Second, w, logits, 2*best+10, most)
				}
			}
			slices.SortStableFunc(found, func(x, y Span) int { return cmp.Compare(y.Score, x.Score) })
			out[in.Number] = found[:min(best, len(found))]
		},
	}
	o.strategy = tokenizer.OnlySecond
	counts, err := a.serveInputs(ctx, c, inputs, "", a.limit, tokenizer.Options{Offsets: tokenizer.Bytes}, o.InputOptions)
	if err != nil {
		return Results[[]Span]{}, err
	}
	for i, spans := range out {
		text := questions[i].Text
		for j := range spans {
			s := &spans[j]
			s.StartChar = len([]rune(text[:s.Start]))
			s.EndChar = s.StartChar + len([]rune(text[s.Start:s.End]))
		}
	}
	return Results[[]Span]{out, counts}, nil
}

// spans adds what the best runs of a window's tokens are to the answers found.
func (a *QuestionAnswerer) spans(found []Span, text string, e *tokenizer.Encoding, logits []float32, best, most int) []Span {
	n := len(e.IDs)
	inside := make([]bool, n)
	for i := range inside {
		inside[i] = e.Sequence(i) == 1
	}
	starts, ends := a.probabilities(e, logits, 0, inside), a.probabilities(e, logits, 1, inside)
	type pair struct {
		start, end int
		score      float32
	}
	var all []pair // the best of all, in order
	for s := range n {
		for t := s; t < min(n, s+most); t++ {
			p := pair{s, t, starts[s] * ends[t]}
			i, _ := slices.BinarySearchFunc(all, p, func(x, y pair) int {
				if x.score >= y.score {
					return -1
				}
				return 1
			})
			if i < best {
				all = slices.Insert(all, i, p)
				all = all[:min(best, len(all))]
			}
		}
	}
	for _, p := range all {
		if !inside[p.start] || !inside[p.end] {
			continue
		}
		span := wholeWords(e, p.start, p.end)
		span.Answer, span.Score = text[span.Start:span.End], p.score
		same := slices.IndexFunc(found, func(s Span) bool { return strings.EqualFold(s.Answer, span.Answer) })
		if same >= 0 {
			found[same].Score += span.Score
		} else {
			found = append(found, span)
		}
	}
	return found
}

// probabilities returns the probabilities of an answer's start, or with which = 1 of its end, at
// the tokens of the text. The classifying token takes its share, but is not a token of the text.
func (a *QuestionAnswerer) probabilities(e *tokenizer.Encoding, logits []float32, which int, inside []bool) []float32 {
	class, ok := a.tokenizer.TokenID(a.tokenizer.Config().Special["cls_token"])
	p := make([]float32, len(inside))
	for i := range p {
		p[i] = float32(math.Inf(-1))
		if inside[i] || ok && e.IDs[i] == class {
			p[i] = logits[2*i+which]
		}
	}
	if slices.Max(p) == float32(math.Inf(-1)) {
		clear(p)
		return p
	}
	softmax(p)
	p[0] = 0
	return p
}

// wholeWords returns the part of the text from the word of a token to that of another.
func wholeWords(e *tokenizer.Encoding, start, end int) Span {
	for start > 0 && e.Sequence(start-1) == 1 && e.Words[start-1] == e.Words[start] {
		start--
	}
	for end+1 < len(e.IDs) && e.Sequence(end+1) == 1 && e.Words[end+1] == e.Words[end] {
		end++
	}
	return Span{Start: e.Offsets[start].Start, End: e.Offsets[end].End}
}

// Warm computes a question.
func (p *QuestionAnswerer) Warm(ctx context.Context) error {
	_, err := p.Answer(ctx, []Question{{hello, hello}}, AnswerOptions{})
	return warmed(err)
}
