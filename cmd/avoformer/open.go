// This file has operations that may take long or block: opening and reading. They do not delay an
// interrupt.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"sync"

	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text"
)

// openModel opens a folder with a function of package text. It prints each of the model's warnings
// once, when it occurs.
func openModel[P text.Pipeline](a *app, open func(dir string, o text.Options) (P, error), dir string, o text.Options) (P, error) {
	var mu sync.Mutex
	over := false // print nothing more: the work may continue after an interrupt
	defer func() {
		mu.Lock()
		over = true
		mu.Unlock()
	}()
	o.Model.Warn = func(w string) {
		mu.Lock()
		defer mu.Unlock()
		if !over && !a.warned[w] {
			a.warned[w] = true
			a.warn(w)
		}
	}
	allowed, _ := replica.Memory()
	o.Model.MemoryLimit, o.Model.Ready, o.TokenizerAsWritten = cmp.Or(a.memoryLimit, allowed), a.ready, a.asWritten
	m, err := interruptible(a, func() (P, error) {
		defer collectLess(&o.Model)()
		return open(dir, o)
	})
	if err == nil {
		a.opened = append(a.opened, m)
	}
	return m, err
}

// collectLess lets the heap grow to five times the memory in use before the collector runs, until
// restore is called: most of the memory that opening allocates stays in use. The heap's limit still
// applies. Conversion of weights leaves as much garbage as there are weights. Fresh pages for it
// would cost more than collecting, so collectLess then does nothing.
func collectLess(o *models.Options) (restore func()) {
	_, set := os.LookupEnv("GOGC")
	if set || o.WeightFormat != kernels.FormatF32 || o.PromptFormat != kernels.FormatF32 || len(o.WeightFormats) > 0 {
		return func() {}
	}
	before := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(before) }
}

// tellCut prints the number of texts that were too long for the models, and the length to which
// they were cut.
func (a *app) tellCut() {
	for _, p := range a.opened {
		n := p.Totals()
		if w := fmt.Sprintf("%d of %d texts were cut at %d tokens", n.Cut, n.Inputs, p.MaxTokens()); n.Cut > 0 && !a.warned[w] {
			a.warned[w] = true
			a.warn(w)
		}
	}
}

// input is an open input. info describes its file, or is nil if the input is not a file.
type input struct {
	io.ReadCloser
	info os.FileInfo
}

// open opens a file, or the standard input if the name is "-" or empty.
func (a *app) open(name string) (input, error) {
	if name == "" || name == "-" {
		return input{a.reading(a.in), infoOf(a.in)}, nil
	}
	f, err := interruptible(a, func() (*os.File, error) { return os.Open(name) })
	if errors.Is(err, fs.ErrNotExist) {
		return input{}, fmt.Errorf("%s: no such file", name)
	} else if err != nil {
		return input{}, err
	}
	info := infoOf(f)
	if info != nil && info.Mode().IsRegular() {
		return input{f, info}, nil
	}
	return input{a.reading(f), info}, nil
}

func infoOf(r io.Reader) os.FileInfo {
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil {
			return info
		}
	}
	return nil
}

// size returns the size of a regular file, and 0 for other inputs.
func (i input) size() int64 {
	if i.info != nil && i.info.Mode().IsRegular() {
		return i.info.Size()
	}
	return 0
}

// reading returns a stream of the input from. An interrupt closes the stream.
func (a *app) reading(from io.Reader) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, from)
		w.CloseWithError(err)
	}()
	context.AfterFunc(a.ctx, func() { w.CloseWithError(context.Cause(a.ctx)) })
	return r
}
