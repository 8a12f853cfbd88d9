// This file has the command prepare, which writes packed weights for other processes.

package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"

	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// prepare opens a model and its tokenizer. Opening writes packed weights and tables unless the
// files exist.
func prepare(a *app, args []string) error {
	f := a.flags("prepare")
	d := f.decoderOn(new(int))
	images := f.Bool("images", false, "with the encoder of images of a language model that reads them, as generate -image and serve open it")
	projector := f.projector()
	asJSON := f.json("a line: file, bytes, found (whether it was there)")
	rest, err := f.parse(args, 1, 1)
	if err != nil {
		return err
	}
	if a.ready == "" {
		return usagef("no folder for packed weights: give -ready or set AVOFORMER_READY")
	}
	o, err := d.options()
	if err != nil {
		return err
	}
	allowed, _ := replica.Memory()
	o.Model.Ready, o.Model.Warn, o.Model.MemoryLimit = a.ready, a.warn, cmp.Or(a.memoryLimit, allowed)
	o.Model.Images, o.Model.Projector = *images || *projector != "", *projector
	m, err := interruptible(a, func() (*models.Model, error) { return models.Open(hub.Folder(rest[0]), o.Model) })
	switch {
	case err != nil:
		return err
	case m.Ready == nil:
		return fmt.Errorf("%s: its files have no times, which are needed to find packed weights again", rest[0])
	}
	if m.Ready.Err != nil {
		return m.Ready.Err
	}
	prepareTokenizer(a, hub.Folder(rest[0]), tokenizer.Opening{AsWritten: a.asWritten, Ready: a.ready})
	info, err := os.Stat(m.Ready.Path)
	if err != nil {
		return err
	}
	if *asJSON {
		return a.printJSON(map[string]any{"file": m.Ready.Path, "bytes": info.Size(), "found": m.Ready.Hit})
	}
	_, err = fmt.Fprintf(a.out, "%s\t%.1f MB\n", m.Ready.Path, float64(info.Size())/1e6)
	return err
}

// prepareTokenizer opens the tokenizer of a model, which writes its tables unless the file exists.
// A model may have no tokenizer.
func prepareTokenizer(a *app, dir string, o tokenizer.Opening) {
	t, err := tokenizerOf(dir, o)
	if err != nil {
		return
	}
	for _, w := range t.Warnings() {
		a.warn(w)
	}
}

func tokenizerOf(dir string, o tokenizer.Opening) (*tokenizer.Tokenizer, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return o.Open(dir)
	}
	fsys := os.DirFS(dir)
	below, err := models.TokenizerFolder(fsys)
	if err != nil {
		return nil, err
	}
	if fsys, err = fs.Sub(fsys, below); err != nil {
		return nil, err
	}
	return o.OpenFS(fsys)
}
