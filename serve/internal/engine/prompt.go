// This file chooses the prompt before texts.

package engine

import (
	"slices"
	"strings"

	"github.com/avoformer/avoformer/text"
)

// Asked has the fields with which a request selects a prompt: its name, or a word of other servers'
// protocols for the role of the texts.
type Asked struct {
	Prompt    string `json:"prompt_name"`
	InputType string `json:"input_type"` // Cohere's, Voyage's and NVIDIA's
	Task      string `json:"task"`       // Jina's
}

// queryWords and documentWords are words for the two sides of a search. The first of each is the
// prompt's name in package text. otherWords are words for other uses.
var (
	queryWords    = []string{"query", "search_query", "retrieval.query", "retrieval_query"}
	documentWords = []string{"document", "search_document", "passage", "retrieval.passage", "retrieval.document", "retrieval_passage", "retrieval_document"}
	otherWords    = []string{"classification", "clustering", "text-matching", "separation", "semantic_similarity", "sts"}
)

// prompt returns the name of the prompt that a request selects, or "" for the model's default. If
// the model has prompts and the request selects none, it adds a warning.
func (a Asked) prompt(p *text.Embedder, r *Record) (string, error) {
	field, word := "input_type", a.InputType
	if word == "" {
		field, word = "task", a.Task
	}
	switch {
	case a.InputType != "" && a.Task != "" && a.InputType != a.Task, word != "" && a.Prompt != "":
		return "", Errorf(Invalid, "prompt_name, input_type and task: want one of them").At("prompt_name")
	case a.Prompt != "":
		return a.Prompt, nil
	case word != "":
		return ofWord(p, field, word)
	}
	if names := given(p); len(names) > 0 && ofName(p, "") == "" {
		r.Warn("the model has prompts for texts (%s), and the request selects none: use prompt_name or input_type", strings.Join(names, ", "))
	}
	return "", nil
}

// ofWord returns the name of the model's prompt for a word. A model without prompts accepts every
// known word.
func ofWord(p *text.Embedder, field, word string) (string, error) {
	names, lower := p.Prompts(), strings.ToLower(word)
	for _, name := range names {
		if strings.ToLower(name) == lower {
			return name, nil
		}
	}
	for _, words := range [][]string{queryWords, documentWords} {
		if !slices.Contains(words, lower) {
			continue
		}
		for _, w := range words {
			if slices.Contains(names, w) {
				return w, nil
			}
		}
		return words[0], nil // no prompt, but the length limit of that side
	}
	if !slices.Contains(otherWords, lower) {
		return "", Errorf(Invalid, "%s %.50q, want the name of a prompt of the model, which has %q, or one of %q", field, word, names, slices.Concat(queryWords, documentWords, otherWords)).At(field)
	}
	if some := given(p); len(some) > 0 {
		return "", Errorf(Invalid, "%s %.50q: the model has prompts for %s", field, word, strings.Join(some, ", ")).At(field)
	}
	return "", nil
}

// given returns the names of prompts that are not empty.
func given(p *text.Embedder) []string {
	return slices.DeleteFunc(p.Prompts(), func(name string) bool { return ofName(p, name) == "" })
}

// ofName returns the text of a prompt, "" if there is no such prompt.
func ofName(p *text.Embedder, name string) string {
	prompt, err := p.Prompt(name)
	if err != nil {
		return "" // there is no prompt of that name
	}
	return prompt
}
