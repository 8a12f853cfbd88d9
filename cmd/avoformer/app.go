// The environment of commands, and the printing of errors.

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

// errUsage is the error of a call that is wrong.
var errUsage = errors.New("usage")

func usagef(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errUsage}, args...)...)
}

// app is the environment of a command: the streams, and a context that an interrupt ends.
type app struct {
	ctx    context.Context
	in     io.Reader
	out    *bufio.Writer
	err    io.Writer
	shown  bool   // out is a terminal
	silent bool   // no progress
	left   string // after an error: the part of the work that is done
	// describe, if not nil, gets a command's flags instead of running the command.
	describe func(f *flags)
	warned   map[string]bool
	opened   []text.Pipeline // by openModel
	// memoryLimit is the value of -memory-limit in bytes; 0: no limit.
	memoryLimit int64
	// asWritten is the value of -tokenizer-as-written.
	asWritten bool
}

// command is a command of avoformer.
type command struct {
	name, args, about string
	run               func(a *app, args []string) error
}

var commands []command

// oneLine returns the text of an error in one line, without the kinds that are meant for programs and add nothing for a
// reader.
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

// interruptible returns the result of do, or the context's error after an interrupt. In that case do continues until
// the process ends, so it must not touch anything that is used in the meantime.
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

// isTerminal reports whether stream is a character device other than the null device.
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
