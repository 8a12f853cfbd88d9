// This file has the commands list and rm, for the models in the hub's cache.

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/hub"
	"github.com/avoformer/avoformer/internal/ready"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// list prints the models in the cache, under the names that DIR accepts, with their sizes and
// folders.
func list(a *app, args []string) error {
	f := a.flags("list")
	asJSON := f.json("a line for each model: name, revisions, folder, files, bytes; and with -ready for each file of packed weights: ready, bytes, model")
	if _, err := f.parse(args, 0, 0); err != nil {
		return err
	}
	cached, err := hub.List(a.hub())
	if err != nil {
		return err
	}
	if err := a.listReady(*asJSON); err != nil {
		return err
	}
	if len(cached) == 0 && !*asJSON {
		fmt.Fprintln(a.err, "avoformer: the cache has no models; avoformer pull org/name downloads one")
	}
	for _, m := range cached {
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

// listReady prints the files with packed weights.
func (a *app) listReady(asJSON bool) error {
	if a.ready == "" {
		return nil
	}
	files, err := models.ReadyFiles(a.ready)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, file := range files {
		if asJSON {
			err = a.printJSON(map[string]any{"ready": file.Path, "bytes": file.Bytes, "model": file.Model})
		} else {
			has := "packed weights"
			if strings.HasPrefix(file.About, "tokenizer\n") {
				has = "tokenizer"
			}
			_, err = fmt.Fprintf(a.out, "%s\t%.1f MB\t%s of %s\n", file.Path, float64(file.Bytes)/1e6, has, file.Model)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeReady removes a file with packed weights.
func removeReady(name string) (int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	if _, err := transformer.ReadyNote(name); err != nil {
		return 0, err
	}
	return info.Size(), ready.Remove(name)
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
		var bytes int64
		var err error
		if strings.Contains(filepath.Base(name), transformer.ReadyExt) {
			bytes, err = removeReady(name)
		} else {
			bytes, err = hub.Remove(name, a.hub())
		}
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
