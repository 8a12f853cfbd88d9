// Opening and reading what may take long or block: an interrupt does not wait for it.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/avoformer/avoformer/text"
)

// openModel opens a folder with one of package text's functions and prints the model's warnings as they come,
// each once.
func openModel[P text.Pipeline](a *app, open func(dir string, o text.Options) (P, error), dir string, o text.Options) (P, error) {
	var mu sync.Mutex
	over := false // nothing is printed any more: the work may continue after an interrupt
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
	o.Model.MemoryLimit, o.TokenizerAsWritten = a.memoryLimit, a.asWritten
	m, err := interruptible(a, func() (P, error) { return open(dir, o) })
	if err == nil {
		a.opened = append(a.opened, m)
	}
	return m, err
}

// tellCut says how many texts were too long for the models, and where they were cut.
func (a *app) tellCut() {
	for _, p := range a.opened {
		n := p.Totals()
		if w := fmt.Sprintf("%d of %d texts were cut at %d tokens", n.Cut, n.Inputs, p.MaxTokens()); n.Cut > 0 && !a.warned[w] {
			a.warned[w] = true
			a.warn(w)
		}
	}
}

// input is what is read; info describes its file, and is nil where there is no
// file.
type input struct {
	io.ReadCloser
	info os.FileInfo
}

// open returns a file, or the standard input for "-" and no name.
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

// size is that of a file that is neither a device nor a pipe, else 0.
func (i input) size() int64 {
	if i.info != nil && i.info.Mode().IsRegular() {
		return i.info.Size()
	}
	return 0
}

// reading returns a stream whose reading an interrupt ends.
func (a *app) reading(from io.Reader) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, from)
		w.CloseWithError(err)
	}()
	context.AfterFunc(a.ctx, func() { w.CloseWithError(a.ctx.Err()) })
	return r
}
