package models

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models/internal/lora"
)

// Adapters, and those of a folder that are chosen by the name of a task.

// openAdapters opens the adapters of the options for the weights of b.
func (c *Checkpoint) openAdapters(b lora.Base) (*lora.Adapters, error) {
	var wanted []lora.Wanted
	for _, a := range c.options.Adapters {
		w := lora.Wanted{Path: a.Path, Scale: a.Scale, Name: a.Name}
		if a.Task != "" {
			var err error
			if w.Path, w.FS, err = c.task(a); err != nil {
				return nil, err
			}
		}
		wanted = append(wanted, w)
	}
	return lora.Open(wanted, b)
}

// task returns the folder, within that of the model, of the adapter of a task.
func (c *Checkpoint) task(a Adapter) (dir string, fsys fs.FS, err error) {
	names, err := c.taskNames()
	switch {
	case err != nil:
		return "", nil, err
	case a.Path != "":
		return "", nil, check.Option("Task", a.Task, "not together with the path of an adapter")
	case c.folder == nil || len(names) == 0:
		return "", nil, check.Option("Task", a.Task, "the model has no adapters by task")
	case !slices.Contains(names, a.Task):
		return "", nil, check.Option("Task", a.Task, "want one of %s", strings.Join(names, ", "))
	}
	dir = path.Join("adapters", a.Task)
	if fsys, err = fs.Sub(c.folder, dir); err != nil {
		return "", nil, check.InFile("config.json", fault.ErrConfig, fmt.Errorf("task_names: %w", err))
	}
	return dir, fsys, nil
}

// taskNames returns the tasks that config.json lists.
func (c *Checkpoint) taskNames() (names []string, err error) {
	config := struct {
		Names []string `json:"task_names"`
	}{}
	err = c.doc.Decode(&config)
	return config.Names, err
}
