package clients

import (
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

// TestResponses: OpenAI's client reads responses, whole and streamed, and continues from a response
// that the server keeps.
func TestResponses(t *testing.T) {
	c := client(t)
	in := responses.ResponseNewParams{Model: "generate", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Hi")}, MaxOutputTokens: openai.Int(8)}
	whole, err := c.Responses.New(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if whole.OutputText() == "" || whole.Status != "incomplete" || whole.Usage.OutputTokens != 8 {
		t.Errorf("%s", whole.RawJSON())
	}
	s, said := c.Responses.NewStreaming(t.Context(), in), ""
	for s.Next() {
		if e := s.Current(); e.Type == "response.output_text.delta" {
			said += e.Delta
		}
	}
	if err := s.Err(); err != nil || said != whole.OutputText() {
		t.Errorf("streamed %q, %v, want %q", said, err, whole.OutputText())
	}
	in.PreviousResponseID = openai.String(whole.ID)
	next, err := c.Responses.New(t.Context(), in)
	if err != nil || next.Usage.InputTokens <= whole.Usage.InputTokens {
		t.Errorf("%v, %d tokens after %d", err, next.Usage.InputTokens, whole.Usage.InputTokens)
	}
	if err := c.Responses.Delete(t.Context(), whole.ID); err != nil {
		t.Error(err)
	}
	var e *openai.Error
	if _, err := c.Responses.New(t.Context(), in); !errors.As(err, &e) || e.Param != "previous_response_id" {
		t.Error(err)
	}
}

// TestMessages: Anthropic's client reads messages, whole and streamed, and counts tokens.
func TestMessages(t *testing.T) {
	c := anthropic.NewClient(anthropicoption.WithBaseURL(address(t)), anthropicoption.WithAPIKey("key"), anthropicoption.WithMaxRetries(0))
	in := anthropic.MessageNewParams{Model: "generate", MaxTokens: 8, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hi"))}}
	whole, err := c.Messages.New(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(whole.Content) != 1 || whole.Content[0].Text == "" || whole.StopReason != anthropic.StopReasonMaxTokens || whole.Usage.OutputTokens != 8 {
		t.Fatalf("%s", whole.RawJSON())
	}
	s, all := c.Messages.NewStreaming(t.Context(), in), anthropic.Message{}
	for s.Next() {
		if err := all.Accumulate(s.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Err(); err != nil || len(all.Content) != 1 || all.Content[0].Text != whole.Content[0].Text || all.StopReason != whole.StopReason {
		t.Errorf("streamed %+v, %v, want %s", all, err, whole.RawJSON())
	}
	n, err := c.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: "generate", Messages: in.Messages})
	if err != nil || n.InputTokens != whole.Usage.InputTokens+whole.Usage.CacheReadInputTokens {
		t.Errorf("%v, %v tokens, want %+v", err, n, whole.Usage)
	}
	in.Model = "none"
	var e *anthropic.Error
	if _, err := c.Messages.New(t.Context(), in); !errors.As(err, &e) || e.StatusCode != 404 || !strings.Contains(e.RawJSON(), "not_found_error") {
		t.Error(err)
	}
}
