package main

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/hub"
)

// This file brings models from the Hugging Face hub.

// pull prints the folder in the cache to which it brings a model.
func pull(a *app, args []string) error {
	f := a.flags("pull")
	files := f.String("files", "", "instead of what a model needs, the files that match a `pattern`, such as '*.gguf' or 'onnx/*'")
	asJSON := f.json("a line: name, folder")
	args, err := f.parse(args, 1, 1)
	if err != nil {
		return err
	}
	o := a.hub()
	if *files != "" {
		if _, err := path.Match(*files, ""); err != nil {
			return usagef("-files %q: %v", *files, err)
		}
		o.Files = func(all []string) (chosen []string) {
			for _, f := range all {
				if ok, _ := path.Match(*files, f); ok {
					chosen = append(chosen, f)
				}
			}
			return chosen
		}
	}
	dir, err := o.Pull(a.ctx, args[0])
	if errors.Is(err, fault.ErrName) {
		return usagef("%v", err)
	} else if err != nil {
		return err
	}
	if *asJSON {
		return a.printJSON(map[string]any{"name": strings.TrimPrefix(args[0], hub.Scheme), "folder": dir})
	}
	_, err = fmt.Fprintln(a.out, dir)
	return err
}

// pulled is the folder that an argument names: itself or, with hf:// before it, a model of the hub.
func (a *app) pulled(name string) (string, error) {
	if strings.HasPrefix(name, hub.Scheme) {
		return a.hub().Pull(a.ctx, name)
	}
	return name, nil
}

// hub is how models come: with progress where the standard error is looked at.
func (a *app) hub() hub.Options {
	if a.silent || !isTerminal(a.err) {
		return hub.Options{}
	}
	var shown time.Time
	return hub.Options{Progress: func(p hub.Progress) {
		if p.Done == p.Total {
			fmt.Fprint(a.err, "\r\033[K")
			return
		}
		if now := time.Now(); now.Sub(shown) >= 200*time.Millisecond {
			shown = now
			const mega = 1 << 20
			fmt.Fprintf(a.err, "\r\033[K%d of %d MiB, %s", p.Done/mega, p.Total/mega, path.Base(p.File))
		}
	}}
}
