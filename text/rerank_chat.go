// Language models as rerankers by sentence-transformers' files: each pair is a chat of the folder's
// template.

package text

import (
	"context"
	"fmt"
	"maps"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/chat"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// chatScores asks a language model with chats.
type chatScores struct {
	base      *base
	score     *models.LogitScore
	templates *chat.Templates
}

// openChatScores returns the scorer of a folder. A template that drops a text of a pair is an
// error.
func openChatScores(f *base, score *models.LogitScore) (scorer, error) {
	c := &chatScores{f, score, chat.New(f.tokenizer.Config())}
	var first string
	for i, pair := range [][2]string{{"alpha", "bravo"}, {"charlie", "bravo"}, {"alpha", "foxtrot"}} {
		text, err := c.render("", pair[0], pair[1])
		if err == nil && i > 0 && text == first {
			err = folder.Errorf("it drops the texts of the role %s", []string{"", "query", "document"}[i])
		}
		if err != nil {
			return nil, check.InFile("modules.json", fault.ErrFolder, folder.Errorf("the chat template of a CrossEncoder: %w", err))
		}
		if i == 0 {
			first = text
		}
	}
	return c.scores, nil
}

// render returns the text that the template makes of a pair. The instruction, unless empty, is a
// message of the system.
func (c *chatScores) render(instruction, query, document string) (string, error) {
	var messages []map[string]any
	for _, m := range [][2]string{{"system", instruction}, {"query", query}, {"document", document}} {
		var content any = m[1]
		if c.score.Parts {
			content = []any{map[string]any{"type": "text", "text": m[1]}}
		}
		if m[0] != "system" || m[1] != "" {
			messages = append(messages, map[string]any{"role": m[0], "content": content})
		}
	}
	o := chat.Options{Variables: maps.Clone(c.score.Variables), NoGenerationPrompt: true}
	if generates, ok := o.Variables["add_generation_prompt"]; ok {
		yes, ok := generates.(bool)
		if !ok {
			return "", folder.Errorf("add_generation_prompt: want true or false")
		}
		o.NoGenerationPrompt = !yes
		delete(o.Variables, "add_generation_prompt")
	}
	return c.templates.Prompt(messages, o, func(string) bool { return false })
}

// scores is a scorer.
func (c *chatScores) scores(ctx context.Context, instruction string, inputs []Input, o InputOptions, use func(i int, logits []float32)) (Counts, error) {
	f := c.base
	pairs := make([]Input, len(inputs))
	for i, in := range inputs {
		text, err := c.render(instruction, in.Text, in.Second)
		if err != nil {
			return Counts{}, &InputError{i, err}
		}
		pairs[i].Text = text
	}
	end, err := c.end(instruction)
	if err != nil {
		return Counts{}, err
	}
	call := scores(lastLogits(f, c.score.True, c.score.False), use)
	call.Between = func(e *tokenizer.Encoding) *tokenizer.Encoding {
		if n := len(e.IDs); n > 0 && n >= f.limit && f.limit > 0 {
			copy(e.IDs[max(n-len(end), 0):], end[max(len(end)-n, 0):])
		}
		return e
	}
	return f.serveInputs(ctx, call, pairs, "", f.limit, plainTokens, o)
}

// end returns the tokens with which the template ends each pair: those that two chats of different
// texts have in common. Prompts that are cut end with them too, since the model answers after them.
func (c *chatScores) end(instruction string) ([]int, error) {
	if !c.score.Cut || c.base.limit == 0 {
		return nil, nil
	}
	var ids [2][]int
	for i, filler := range []string{"0", "1 2 3 4"} {
		text, err := c.render(instruction, filler, filler)
		if err != nil {
			return nil, err
		}
		e, err := c.base.tokenizer.Encode(text, plainTokens)
		if err != nil {
			return nil, fmt.Errorf("the end of the chat template: %w", err)
		}
		ids[i] = e.IDs
	}
	n, most := 0, min(len(ids[0]), len(ids[1]))
	for n < most && ids[0][len(ids[0])-1-n] == ids[1][len(ids[1])-1-n] {
		n++
	}
	if n == most {
		return nil, nil
	}
	return ids[0][len(ids[0])-n:], nil
}
