package main

import (
	"context"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text"
)

func TestAsk(t *testing.T) {
	g, err := text.OpenGenerator("../models/tools", text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string]string{
		"What is the weather in Paris?":  "get_weather {\"city\": \"Paris\"}\nIt is 21 degrees and sunny in Paris.\n",
		"What is the capital of France?": "The capital of France is Paris.\n",
		"What time is it in Tokyo?":      "For that I need a tool.\n",
	} {
		var out strings.Builder
		if err := ask(context.Background(), g, question, &out); err != nil || out.String() != want {
			t.Errorf("%s %q, %v, want %q", question, out.String(), err, want)
		}
	}
}
