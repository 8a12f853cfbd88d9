package text

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text/answer"
)

// TestAnswerTokens takes tokens apart, special ones among them that are markers.
func TestAnswerTokens(t *testing.T) {
	g, err := OpenGenerator("testdata/generate")
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
	tokens := func(fails bool) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for _, id := range e.IDs {
				if !yield(id, nil) {
					return
				}
			}
			if fails {
				yield(0, failure)
			}
		}
	}
	want := Message{Role: "assistant", Content: "So.", Reasoning: "Hm.", ToolCalls: []ToolCall{{ID: "x", Name: "weather", Arguments: `{"city": "Zürich"}`}}}
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
		g.takeApart(tokens(x.fails), p, f, x.stop, func(e answer.Event, err error) bool {
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
		g.takeApart(tokens(true), p, f, nil, func(answer.Event, error) bool { n++; return n < most })
		if n != most {
			t.Errorf("%d events after number %d was the last", n, most)
		}
	}
}

// TestAnswer generates what Chat does where there are no calls.
func TestAnswer(t *testing.T) {
	g, err := OpenGenerator("testdata/generate")
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
	var got strings.Builder
	for e, err := range g.Answer(context.Background(), messages, PromptOptions{}, GenerateOptions{MaxTokens: 8}) {
		if err != nil || e.Kind != answer.Text {
			t.Fatal(e, err)
		}
		got.WriteString(e.Text)
	}
	if got.String() != want || want == "" {
		t.Errorf("%q, want %q", got.String(), want)
	}
	for _, x := range []struct {
		messages any
		popts    PromptOptions
		opts     GenerateOptions
		want     error
	}{
		{nil, PromptOptions{}, GenerateOptions{}, ErrInput},
		{messages, PromptOptions{Tools: 1}, GenerateOptions{}, ErrOption},
		{messages, PromptOptions{Format: &answer.Format{Calls: "other"}}, GenerateOptions{}, answer.ErrFormat},
		{messages, PromptOptions{}, GenerateOptions{TopP: 2}, ErrOption},
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
