package main

import (
	"bufio"
	"context"
	"errors"
	"strings"
	"testing"
)

// interrupter interrupts the first answer when its first text is printed.
type interrupter struct {
	strings.Builder
	t    *testing.T
	done bool
}

func (w *interrupter) Write(p []byte) (int, error) {
	if !w.done && len(p) > 0 {
		w.done = true
		f := onInterrupt.Swap(nil)
		if f == nil {
			w.t.Error("an interrupt would end the command")
		} else {
			(*f)()
		}
	}
	return w.Builder.Write(p)
}

// TestInterruptedAnswer: on a terminal, an interrupt ends an answer, and the next answer follows
// the text that was printed until then. At the prompt, and for a single answer, an interrupt ends
// the command.
func TestInterruptedAnswer(t *testing.T) {
	chat := func(talks bool, args ...string) (string, error) {
		out := &interrupter{t: t, done: !talks}
		var stderr strings.Builder
		a := &app{ctx: t.Context(), in: strings.NewReader("Hello\nAnd then?\n"), out: bufio.NewWriter(out), err: &stderr, talks: talks, warned: map[string]bool{}}
		err := generate(a, append([]string{"-max-tokens=12", "-temperature=0"}, args...))
		if onInterrupt.Load() != nil {
			t.Error("after the chat an interrupt would not end the command")
		}
		if err := a.out.Flush(); err != nil {
			t.Fatal(err)
		}
		return out.String(), err
	}
	whole, err := chat(false, "-chat", testdata+"generate")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(whole, "\n")
	got, err := chat(true, "-chat", testdata+"generate")
	if err != nil || strings.HasPrefix(got, first) || !strings.HasSuffix(got, "\n") || len(got) < 10 {
		t.Errorf("%q, %v; without an interrupt %q", got, err, whole)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	a := &app{ctx: ctx}
	answering, done := a.untilInterrupt()
	cancel(errors.New("SIGTERM"))
	if done(); context.Cause(answering) == errAnswerEnded || answering.Err() == nil {
		t.Errorf("the end of the command ends the answer by %v", context.Cause(answering))
	}
}
