// avoformer list and rm: the models in the cache of the hub.

package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/hub"
)

// list prints the models in the cache, under the names that DIR accepts, with their sizes and folders.
func list(a *app, args []string) error {
	f := a.flags("list")
	asJSON := f.json("a line for each model: name, revisions, folder, files, bytes")
	if _, err := f.parse(args, 0, 0); err != nil {
		return err
	}
	models, err := hub.List(a.hub())
	if err != nil {
		return err
	}
	if len(models) == 0 && !*asJSON {
		fmt.Fprintln(a.err, "avoformer: the cache has no models; avoformer pull org/name downloads one")
	}
	for _, m := range models {
		if *asJSON {
			err = a.printJSON(map[string]any{"name": m.Name, "revisions": m.Revisions, "folder": m.Folder, "files": m.Files, "bytes": m.Bytes})
		} else {
			err = a.printCached(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printCached prints a line for a model's folder, and one for each GGUF file in it.
func (a *app) printCached(m hub.Cached) error {
	var names []string
	if slices.Contains(m.Files, "config.json") {
		names = append(names, m.Name)
	}
	for _, file := range m.Files {
		if path.Ext(file) == ".gguf" {
			names = append(names, m.Name+"/"+file)
		}
	}
	folder := m.Folder
	switch {
	case folder == "":
		folder = "(incomplete: avoformer pull " + m.Name + " continues)"
		fallthrough
	case len(names) == 0:
		names = []string{m.Name}
	}
	for _, name := range names {
		if _, err := fmt.Fprintf(a.out, "%s%s\t%.1f MB\t%s\n", hub.Scheme, name, float64(m.Bytes)/1e6, folder); err != nil {
			return err
		}
	}
	return nil
}

// remove removes models from the cache.
func remove(a *app, args []string) error {
	f := a.flags("rm")
	asJSON := f.json("a line for each model: name, bytes")
	names, err := f.parse(args, 1, -1)
	if err != nil {
		return err
	}
	for _, name := range names {
		bytes, err := hub.Remove(name, a.hub())
		if errors.Is(err, fault.ErrName) {
			return usagef("%v", err)
		} else if err != nil {
			return fmt.Errorf("%w; avoformer list says what is there", err)
		}
		if *asJSON {
			err = a.printJSON(map[string]any{"name": strings.TrimPrefix(name, hub.Scheme), "bytes": bytes})
		} else {
			_, err = fmt.Fprintf(a.out, "%s: %.1f MB\n", name, float64(bytes)/1e6)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
