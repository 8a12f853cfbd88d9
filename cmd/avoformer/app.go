// This file has the environment of commands, and prints errors.

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text"
)

// errUsage is the error of a wrong call.
var errUsage = errors.New("usage")

func usagef(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errUsage}, args...)...)
}

// app is the environment of a command: its streams, and a context that an interrupt ends.
type app struct {
	ctx     context.Context
	in      io.Reader
	out     *bufio.Writer
	err     io.Writer
	shown   bool   // out is a terminal
	talks   bool   // in is a terminal
	silent  bool   // no progress
	offline bool   // use only the hub's cache, not the network
	ready   string // the folder for packed weights; "": none
	left    string // after an error: describes the part of the work that is done
	// describe, if not nil, is called with a command's flags instead of running the command.
	describe func(f *flags)
	warned   map[string]bool
	opened   []text.Pipeline // the pipelines that openModel opened
	// memoryLimit is the value of -memory-limit in bytes. 0 means the memory that the process may
	// use.
	memoryLimit int64
	// given are the flags of the command, once they are parsed.
	given *flags
	// log, if not nil, receives the lines that would be printed on the standard error.
	log *slog.Logger
	// asWritten is the value of -tokenizer-as-written.
	asWritten bool
}

// command is a command of avoformer.
type command struct {
	name, args, about string
	run               func(a *app, args []string) error
}

var commands []command

// oneLine returns the text of an error in one line, without the kinds, which are for programs and
// do not help a reader.
func oneLine(err error) string {
	s := strings.Join(strings.Fields(err.Error()), " ")
	for _, kind := range []error{fault.ErrInput, fault.ErrOption, fault.ErrOtherResults, fault.ErrFolder, fault.ErrConfig} {
		s = strings.ReplaceAll(s, kind.Error()+": ", "")
	}
	return s
}

// flagNames holds the flags of options whose names in Go differ from the flag by more than hyphens.
var flagNames = map[string]string{"WeightFormat": "weights", "WeightFormats": "weights", "Format": "weights", "Pattern": "weights", "CacheFormat": "cache", "PromptFormat": "prompts",
	"Adapters": "adapter", "Adapter.Name": "named-adapter", "CacheMemory": "cache-memory", "CacheKept": "cache-kept", "Language": "to"}

// withFlag returns the text of an error in one line. The flag as the user typed it replaces the
// option's name in Go.
func (a *app) withFlag(err error) string {
	s := oneLine(err)
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.File != "" || e.Field == "" || a.given == nil {
		return s
	}
	name := flagNames[e.Field]
	if name == "" {
		name = strings.ToLower(upperInside().ReplaceAllString(e.Field, "$1-$2"))
	}
	if a.given.Lookup(name) == nil {
		return s
	}
	if e.Value != "" {
		value := e.Value
		if name == "memory-limit" {
			value = fmt.Sprint(a.memoryLimit >> 20) // the user gives it in MiB
		}
		return strings.Replace(s, e.Field+" = "+e.Value, "-"+name+" "+value, 1)
	}
	return strings.Replace(s, e.Field+": ", "-"+name+": ", 1)
}

// upperInside matches a border between the words of a name in Go.
var upperInside = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-z])([A-Z])`) })

// printJSON writes a value as a line of JSON.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// interruptible returns the result of do, or the context's error after an interrupt. In that case
// do continues until the process ends, so it must not touch anything that is used in the meantime.
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
		return none, context.Cause(a.ctx)
	}
}

// warn prints a warning.
func (a *app) warn(w string) {
	if w = oneLine(errors.New(w)); a.log != nil {
		a.log.Warn(w)
		return
	}
	fmt.Fprintln(a.err, "avoformer: warning:", w)
}

// tell prints a line on the standard error.
func (a *app) tell(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); a.log != nil {
		a.log.Info(line)
	} else {
		fmt.Fprintln(a.err, "avoformer:", line)
	}
}

// fail prints the error with which the command ends.
func (a *app) fail(line string) {
	if a.log != nil {
		a.log.Error(line)
		return
	}
	fmt.Fprintln(a.err, "avoformer:", line)
}

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
