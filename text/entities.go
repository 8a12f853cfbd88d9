// Labels of the words of a text.

package text

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Entity is a part of a text with a label.
type Entity struct {
	Label string  `json:"label"`
	Score float32 `json:"score"`
	// Start and End are the part's bytes, text[Start:End]; StartChar and EndChar its characters
	// (code points), as Python counts.
	Start     int `json:"-"`
	End       int `json:"-"`
	StartChar int `json:"start"`
	EndChar   int `json:"end"`
}

// Aggregation chooses how the labels of tokens become entities. The names are those of
// transformers.
type Aggregation int

// With AggregateFirst, AggregateAverage and AggregateMax all tokens of a word get one label: that
// of its first token, of the mean of their scores, or of the surest of them.
const (
	AggregateSimple Aggregation = iota // neighbours with the same label, tags B- and I- heeded
	AggregateNone                      // each token on its own ("none")
	AggregateFirst
	AggregateAverage
	AggregateMax
)

// TokenClassifier labels the words of texts: names, places, parts of speech.
type TokenClassifier struct{ *base }

// KindTokenClassifier is the kind of a [TokenClassifier].
const KindTokenClassifier Kind = "token-classifier"

func tokenClassifier() record {
	return record{
		KindInfo: KindInfo{Type: "TokenClassifier", Task: "token-classification", Command: "classify", Options: forTexts},
		kind:     KindTokenClassifier, use: models.UseTokenLabels, open: opening(openTokenClassifier),
		lacks: "has no classifier of tokens",
	}
}

// OpenTokenClassifier opens the model in a folder.
func OpenTokenClassifier(dir string, o Options) (*TokenClassifier, error) {
	return openIn(dir, o, openTokenClassifier)
}

func openTokenClassifier(fsys fs.FS, o Options) (*TokenClassifier, error) {
	f, err := openFitting(fsys, tokenClassifier(), o)
	if err != nil {
		return nil, err
	}
	if err := f.setLimit(0); err != nil {
		return nil, err
	}
	return &TokenClassifier{f}, nil
}

// scored is a token, or a word, with the scores of the labels.
type scored struct {
	scores     []float32
	start, end int  // bytes
	inside     bool // continues with the word of the token before
}

// EntityOptions says how one call finds entities.
type EntityOptions struct {
	InputOptions
	Aggregation Aggregation
}

// Entities returns the entities of each text, except for those labelled "O".
func (c *TokenClassifier) Entities(ctx context.Context, texts []string, o EntityOptions) (Results[[]Entity], error) {
	how := o.Aggregation
	if how < AggregateSimple || how > AggregateMax {
		return Results[[]Entity]{}, check.Option("Aggregation", int(how), "there is no such choice")
	}
	out := make([][]Entity, len(texts))
	counts, err := c.logits(ctx, texts, o.InputOptions, func(in *queue.Input, logits []float32, n int) {
		out[in.Number] = c.entities(in.First, in.Windows[0], logits, n, how)
	})
	return results(out, counts, err)
}

// TokenLogits has the logits of the labels of a token.
type TokenLogits struct {
	Start, End int       // its bytes in the text; 0, 0 of a special token
	Special    bool      // it is not of the text
	Logits     []float32 // of the labels in the order of [TokenClassifier.Labels]
}

// Labels returns the model's labels in their order.
func (c *TokenClassifier) Labels() []string { return slices.Clone(c.model.Config.Labels) }

// Logits returns the logits of the labels for each token of each text, special tokens included.
func (c *TokenClassifier) Logits(ctx context.Context, texts []string, o InputOptions) (Results[[]TokenLogits], error) {
	out := make([][]TokenLogits, len(texts))
	counts, err := c.logits(ctx, texts, o, func(in *queue.Input, logits []float32, n int) { // [tokens, labels]
		e := in.Windows[0]
		tokens := make([]TokenLogits, len(e.IDs))
		for i := range tokens {
			tokens[i] = TokenLogits{Special: e.Special[i], Logits: slices.Clone(logits[i*n : (i+1)*n])}
			if !e.Special[i] {
				tokens[i].Start, tokens[i].End = e.Offsets[i].Start, e.Offsets[i].End
			}
		}
		out[in.Number] = tokens
	})
	return results(out, counts, err)
}

// logits hands the logits of each text's tokens, [tokens, n labels], to use, on several goroutines.
func (c *TokenClassifier) logits(ctx context.Context, texts []string, o InputOptions, use func(in *queue.Input, logits []float32, n int)) (Counts, error) {
	n := c.model.Heads[models.HeadTokenClassifier].Out()
	call := &queue.Call{
		Compute: c.headOf(c.model.Heads[models.HeadTokenClassifier], true),
		Finish: func(in *queue.Input, results [][]float32) {
			if results[0] != nil {
				use(in, results[0], n)
			}
		},
	}
	return c.serveInputs(ctx, call, Texts(texts...), "", c.limit, tokenizer.Options{Offsets: tokenizer.Bytes, Tokens: true}, o)
}

func (c *TokenClassifier) entities(text string, e *tokenizer.Encoding, logits []float32, n int, how Aggregation) []Entity {
	var tokens []scored
	for i, special := range e.Special {
		if special {
			continue
		}
		o := e.Offsets[i]
		scores := slices.Clone(logits[i*n : (i+1)*n])
		softmax(scores)
		s := scored{scores: scores, start: o.Start, end: o.End}
		// transformers decides in the same way: by the mark of a token that continues a word.
		s.inside = utf8.RuneCountInString(e.Tokens[i]) != utf8.RuneCountInString(text[o.Start:o.End])
		if c.unknown(e.IDs[i]) {
			s.inside = false
		}
		tokens = append(tokens, s)
	}
	if how >= AggregateFirst {
		tokens = words(tokens, how)
	}
	list := make([]Entity, 0, len(tokens))
	for _, s := range tokens {
		best := argmax(s.scores)
		list = append(list, Entity{Label: c.model.Config.Labels[best], Score: s.scores[best], Start: s.start, End: s.end})
	}
	if how != AggregateNone {
		list = grouped(list)
	}
	list = slices.DeleteFunc(list, func(e Entity) bool { return e.Label == "O" })
	countCharacters(text, list)
	return list
}

func (c *TokenClassifier) unknown(id int) bool {
	unk, ok := c.tokenizer.TokenID(c.tokenizer.Config().Special["unk_token"])
	return ok && id == unk
}

func argmax(x []float32) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

// words joins the tokens of each word.
func words(tokens []scored, how Aggregation) []scored {
	var out []scored
	for i := 0; i < len(tokens); {
		j := i + 1
		for j < len(tokens) && tokens[j].inside {
			j++
		}
		word := scored{scores: tokens[i].scores, start: tokens[i].start, end: tokens[j-1].end}
		switch how {
		case AggregateMax:
			for _, t := range tokens[i:j] {
				if slices.Max(t.scores) > slices.Max(word.scores) {
					word.scores = t.scores
				}
			}
		case AggregateAverage:
			word.scores = make([]float32, len(word.scores))
			for _, t := range tokens[i:j] {
				for k, s := range t.scores {
					word.scores[k] += s / float32(j-i)
				}
			}
		}
		out = append(out, word)
		i = j
	}
	return out
}

// tag splits a label into its mark, B or else I, and its class.
func tag(label string) (mark byte, class string) {
	if rest, ok := strings.CutPrefix(label, "B-"); ok {
		return 'B', rest
	}
	return 'I', strings.TrimPrefix(label, "I-")
}

// grouped joins neighbours of one class unless one begins a new entity; the score is their mean.
func grouped(list []Entity) []Entity {
	var out []Entity
	for i := 0; i < len(list); {
		_, class := tag(list[i].Label)
		sum, j := list[i].Score, i+1
		for ; j < len(list); j++ {
			if mark, c := tag(list[j].Label); c != class || mark == 'B' {
				break
			}
			sum += list[j].Score
		}
		name := list[i].Label
		if _, rest, ok := strings.Cut(name, "-"); ok {
			name = rest
		}
		out = append(out, Entity{Label: name, Score: sum / float32(j-i), Start: list[i].Start, End: list[j-1].End})
		i = j
	}
	return out
}

// countCharacters sets the places in characters of a list in the text's order.
func countCharacters(text string, list []Entity) {
	at, chars := 0, 0
	count := func(to int) int {
		if to < at {
			at, chars = 0, 0
		}
		chars += utf8.RuneCountInString(text[at:to])
		at = to
		return chars
	}
	for i := range list {
		list[i].StartChar, list[i].EndChar = count(list[i].Start), count(list[i].End)
	}
}

// Warm computes a text.
func (p *TokenClassifier) Warm(ctx context.Context) error {
	_, err := p.Entities(ctx, []string{hello}, EntityOptions{})
	return warmed(err)
}
