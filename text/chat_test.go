package text

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/internal/stream"
)

var weather = json.RawMessage(`[{"type": "function", "function": {"name": "weather", "description": "The weather", "parameters": {"type": "object", "properties": {
	"city": {"type": "string", "description": "A city"}, "days": {"type": "integer", "description": "How many"}, "exact": {"type": "boolean", "description": "Or not"}}, "required": ["city"]}}}]`)

// TestAnswerTokens takes tokens apart, special ones among them that are markers.
func TestAnswerTokens(t *testing.T) {
	g, err := OpenGenerator("testdata/generate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := answer.Format{Calls: answer.Hermes, Think: "<|im_start|>", Unthink: "<|endoftext|>"}
	const generated = "<|im_start|>\nHm.<|endoftext|>\n\nSo. <|im_end|><tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Zürich\"}}</tool_call> STOP and more <"
	e, err := g.tokenizer.Encode(generated, plainTokens)
	if err != nil {
		t.Fatal(err)
	}
	failure := errors.New("failure")
	pieces := func(fails bool, stop ...string) iter.Seq2[Piece, error] {
		return func(yield func(Piece, error) bool) {
			m := pieceMaker{stream: stream.New(g.tokenizer, stream.Stops{Strings: stop}, f.Markers())}
			for _, id := range e.IDs {
				if piece, some := m.add(generation.Next{Choice: generation.Choice{Token: id}}); some && (!yield(piece, nil) || piece.Finish != generation.FinishNone) {
					return
				}
			}
			if fails {
				yield(Piece{}, failure)
			} else if piece, some := m.add(generation.Next{Finish: generation.FinishLength}); some {
				yield(piece, nil)
			}
		}
	}
	want := Message{Role: "assistant", Content: "So.", Reasoning: "Hm.", ToolCalls: []answer.Call{{ID: "x", Name: "weather", Arguments: `{"city": "Zürich"}`}}}
	for _, x := range []struct {
		stop    []string
		fails   bool
		content string
	}{{[]string{"STOP"}, true, "So."}, {nil, false, "So. STOP and more <"}, {nil, true, "So. STOP and more"}} {
		p, err := g.Parser("", PromptOptions{Format: &f, Tools: weather}, answer.Options{NewID: func() string { return "x" }})
		if err != nil {
			t.Fatal(err)
		}
		var a answer.Answer
		var failed error
		takeApart(pieces(x.fails, x.stop...), p, func(e answer.Event, err error) bool {
			if failed != nil {
				t.Errorf("%+v after an error", e)
			}
			a.Add(e)
			failed = err
			return true
		})
		want.Content = x.content
		if got := Reply(a); !reflect.DeepEqual(got, want) || (failed != nil) != (x.fails && x.stop == nil) {
			t.Errorf("%+v, %v, want %+v", got, failed, want)
		}
	}
	for most := 1; most < 12; most++ {
		p, err := g.Parser("", PromptOptions{Format: &f, Tools: weather}, answer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		takeApart(pieces(true), p, func(answer.Event, error) bool { n++; return n < most })
		if n != most {
			t.Errorf("%d events after number %d was the last", n, most)
		}
	}
}

// TestAnswer verifies that Answer generates the same text as Chat if there are no calls.
func TestAnswer(t *testing.T) {
	g, err := OpenGenerator("testdata/generate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f := g.AnswerFormat(PromptOptions{}); f != (answer.Format{Calls: answer.Hermes}) {
		t.Errorf("format %+v", f)
	}
	if f := g.AnswerFormat(PromptOptions{Template: "[TOOL_CALLS] [/THINK]"}); f != (answer.Format{Calls: answer.Mistral, Think: "[THINK]", Unthink: "[/THINK]"}) {
		t.Errorf("format of another template %+v", f)
	}
	messages := []Message{{Role: "user", Content: "Hello!"}}
	want, err := Collect(g.Chat(context.Background(), messages, GenerateOptions{MaxTokens: 8}))
	if err != nil {
		t.Fatal(err)
	}
	var got answer.Answer
	last := answer.Text
	for e, err := range g.Answer(context.Background(), messages, PromptOptions{}, GenerateOptions{MaxTokens: 8}) {
		if err != nil || last == answer.End {
			t.Fatal(e, err)
		}
		got.Add(e)
		last = e.Kind
	}
	if got.Content != want.Text || want.Text == "" {
		t.Errorf("%q, want %q", got.Content, want.Text)
	}
	if got.Finish != want.Finish || got.Finish != generation.FinishLength || last != answer.End {
		t.Errorf("%v ended with %v, want %v and length", last, got.Finish, want.Finish)
	}
	for _, u := range []answer.Usage{got.Usage, want.Usage} {
		if u.Tokens != 8 || u.Prompt < 4 || u.First <= 0 || u.Rest <= 0 || u.Rate() <= 0 {
			t.Errorf("counted %+v, %g tokens a second", u, u.Rate())
		}
	}
	for _, x := range []struct {
		messages any
		popts    PromptOptions
		opts     GenerateOptions
		want     error
	}{
		{nil, PromptOptions{}, GenerateOptions{}, fault.ErrInput},
		{messages, PromptOptions{Tools: 1}, GenerateOptions{}, fault.ErrOption},
		{messages, PromptOptions{Format: &answer.Format{Calls: "other"}}, GenerateOptions{}, fault.ErrOption},
		{messages, PromptOptions{}, GenerateOptions{Sampling: generation.Sampling{TopP: 2}}, fault.ErrOption},
	} {
		n := 0
		for _, err := range g.Answer(context.Background(), x.messages, x.popts, x.opts) {
			if n++; !errors.Is(err, x.want) {
				t.Errorf("error %v, want %v", err, x.want)
			}
		}
		if n != 1 {
			t.Errorf("%v: %d events", x.want, n)
		}
	}
}

// TestCutAnswer: text that a grammar asks for is an error where MaxTokens cuts it, and only there.
func TestCutAnswer(t *testing.T) {
	t.Parallel()
	g, err := OpenGenerator("testdata/generate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := grammar.JSONSchema([]byte(`{"enum": [{"city": "Paris"}, {"city": "Rome"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, messages := context.Background(), []Message{{Role: "user", Content: "Where?"}}
	whole := 0
	for most := 1; most < 30; most++ {
		o := GenerateOptions{MaxTokens: most, Grammar: schema}
		chat, chatErr := Collect(g.Chat(ctx, messages, o))
		generated, generateErr := textOf(g.Generate(ctx, "Where?", o))
		var a answer.Answer
		var answerErr error
		for e, err := range g.Answer(ctx, messages, PromptOptions{}, o) {
			a.Add(e)
			answerErr = err
		}
		for name, x := range map[string]struct {
			text string
			err  error
		}{"Chat": {chat.Text, chatErr}, "Generate": {generated, generateErr}, "Answer": {a.Content, answerErr}} {
			var v any
			valid := json.Unmarshal([]byte(x.text), &v) == nil
			if valid {
				whole++
			}
			if valid && x.err != nil || !valid && !errors.Is(x.err, fault.ErrCut) {
				t.Errorf("%s of %d tokens: %q, %v", name, most, x.text, x.err)
			}
		}
		if chat.Usage.Tokens > most || a.Usage.Tokens > most || a.Finish == generation.FinishNone || chat.Finish == generation.FinishNone {
			t.Errorf("%d tokens: %+v, %+v", most, chat, a)
		}
	}
	if whole == 0 || whole == 3*29 {
		t.Errorf("%d answers were whole", whole)
	}
}
