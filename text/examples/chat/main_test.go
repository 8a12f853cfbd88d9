package main

import (
	"context"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text"
)

func TestChat(t *testing.T) {
	g, err := text.OpenGenerator("../models/chat", text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = chat(context.Background(), g, strings.NewReader("What is the capital of France?\nWhat is the opposite of hot?\n"), &out)
	if want := "The capital of France is Paris.\nThe opposite of hot is cold.\n"; err != nil || out.String() != want {
		t.Errorf("%q, %v, want %q", out.String(), err, want)
	}
}
