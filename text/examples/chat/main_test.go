package main

import (
	"context"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text"
)

func TestChat(t *testing.T) {
	g, err := text.OpenGenerator("../models/chat")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = chat(context.Background(), g, strings.NewReader("My name is Ada.\nWhat is the capital of France?\nWhat is my name?\n"), &out)
	if want := "Nice to meet you, Ada.\nThe capital of France is Paris.\nYour name is Ada.\n"; err != nil || out.String() != want {
		t.Errorf("%q, %v, want %q", out.String(), err, want)
	}
}
