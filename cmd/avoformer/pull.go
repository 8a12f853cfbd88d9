package main

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/hub"
)

// This file has the command pull, which downloads models from the Hugging Face hub.

// pull downloads a model to the cache, and prints its folder.
func pull(a *app, args []string) error {
	f := a.flags("pull")
	files := f.String("files", "", "download only the files that match a `pattern`, such as '*.gguf' or 'onnx/*'")
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
	dir, err := hub.Pull(a.ctx, args[0], o)
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
