// What every command gets, and how it reports errors.

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text"
)

// errUsage is a wrong call.
var errUsage = errors.New("usage")

func usagef(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errUsage}, args...)...)
}

// app is what a command gets: the streams, and a context that ends with an
// interrupt.
type app struct {
	ctx    context.Context
	in     io.Reader
	out    *bufio.Writer
	err    io.Writer
	shown  bool   // out is a terminal
	silent bool   // no progress
	left   string // after an error: what of the work is done
	// describe gets a command's flags in the place of its running.
	describe func(f *flags)
	warned   map[string]bool
	opened   []text.Pipeline // by openModel
	// memoryLimit is what -memory-limit says, in bytes; 0: no limit.
	memoryLimit int64
	// asWritten is what -tokenizer-as-written says.
	asWritten bool
}

// command is one of avoformer's.
type command struct {
	name, args, about string
	run               func(a *app, args []string) error
}

var commands []command

// oneLine returns an error for a person: in a line, without the kinds that programs ask for
// and that say no more than the rest.
func oneLine(err error) string {
	s := strings.Join(strings.Fields(err.Error()), " ")
	for _, kind := range []error{fault.ErrInput, fault.ErrOption, fault.ErrOtherResults, fault.ErrFolder, fault.ErrConfig} {
		s = strings.ReplaceAll(s, kind.Error()+": ", "")
	}
	return s
}

// printJSON writes a value as a line of JSON.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// interruptible is what do returns, or the context's error once an interrupt comes. Then do goes on
// until the process ends, and must touch nothing that is used meanwhile.
func interruptible[T any](a *app, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-a.ctx.Done():
		var none T
		return none, a.ctx.Err()
	}
}

// warn prints a warning.
func (a *app) warn(w string) { fmt.Fprintln(a.err, "avoformer: warning:", oneLine(errors.New(w))) }

// isTerminal takes any device but the one that is always empty for a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
