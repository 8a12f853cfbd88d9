package lora

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/models/internal/weightfile"
	"github.com/avoformer/avoformer/transformer"
)

// Opening the adapters of a model, and adding their changes to its weights.

// Adapters is weights with adapters.
type Adapters struct {
	all   []*adapter
	from  map[string]*adapter // by the names of tensors that are replaced
	Names []string            // of adapters that stay beside the weights, by their numbers from 1 on
}

// Wanted is an adapter to open.
type Wanted struct {
	Path  string
	FS    fs.FS   // of the folder, whose Path is for messages; nil: that of the operating system
	Scale float32 // 0: 1
	Name  string  // of one that stays beside the weights; else ""
}

// Open opens the adapters of a model.
func Open(wanted []Wanted, b Base) (*Adapters, error) {
	a := &Adapters{from: map[string]*adapter{}}
	for _, of := range wanted {
		opened, err := of.open(b)
		if opened != nil {
			a.all = append(a.all, opened)
		}
		if err == nil {
			err = a.name(opened, of.Name)
		}
		if err == nil {
			err = a.replace(opened, b)
		}
		if err != nil {
			a.Close()
			return nil, inAdapter(of.Path, err)
		}
	}
	return a, nil
}

// inAdapter returns an error about an adapter or a file of it.
func inAdapter(path string, err error) error {
	var e *fault.Error
	if errors.As(err, &e) && e.File != "" || errors.Is(err, fault.ErrOption) {
		return fmt.Errorf("adapter %s: %w", path, err)
	}
	return check.InFile(path, fault.ErrFormat, err)
}

// open reads all but the elements of an adapter's tensors.
func (a Wanted) open(b Base) (*adapter, error) {
	scale := a.Scale
	if scale == 0 {
		scale = 1
	}
	if s := float64(scale); math.IsNaN(s) || math.IsInf(s, 0) {
		return nil, check.Option("Scale", scale, "want a number")
	}
	var opened *adapter
	path, isDir := hub.Folder(a.Path), a.FS != nil
	if !isDir {
		info, err := os.Stat(path)
		if err != nil {
			return nil, check.Errorf(fault.ErrFolder, "%w", err)
		}
		isDir = info.IsDir()
	}
	var err error
	switch {
	case a.FS != nil:
		opened, err = openPEFT(a.FS, b)
	case isDir && b.Architecture != "":
		return nil, check.Errorf(fault.ErrOption, "the model is a GGUF file, and the adapter a folder: not supported; llama.cpp's convert_lora_to_gguf.py converts the adapter to a GGUF file")
	case isDir:
		opened, err = openPEFT(os.DirFS(path), b)
	case b.Architecture == "":
		return nil, check.Errorf(fault.ErrOption, "the model is a folder, and the adapter a file: not supported; want the adapter's folder")
	default:
		opened, err = openGGUFAdapter(path, b)
	}
	if opened == nil || err != nil {
		return opened, err
	}
	opened.path = a.Path
	for i := range opened.factors {
		opened.factors[i].scale *= float64(scale)
	}
	if whole := opened.whole(); whole != "" && scale != 1 {
		return opened, check.Option("Scale", scale, "not supported for an adapter that does more than add to weights, such as to %s", whole)
	}
	return opened, nil
}

// whole returns a tensor of the model that the adapter replaces or changes other than by addition;
// "" if there is no such tensor.
func (a *adapter) whole() string {
	if len(a.replaced) > 0 {
		return least(a.replaced)
	}
	for _, f := range a.factors {
		if f.magnitude != "" {
			return f.weight
		}
	}
	if len(a.rows) > 0 {
		return a.rows[0].weight
	}
	return ""
}

// least returns the first key in alphabetical order.
func least[V any](m map[string]V) string {
	first := ""
	for k := range m {
		if first == "" || k < first {
			first = k
		}
	}
	return first
}

// name keeps an adapter with a name beside the weights.
func (a *Adapters) name(of *adapter, name string) error {
	if name == "" {
		return nil
	}
	if slices.Contains(a.Names, name) {
		return check.Option("Name", name, "want another one for each adapter")
	}
	if whole := of.whole(); whole != "" {
		return check.Option("Name", name, "not supported for an adapter that does more than add to weights, such as to %s", whole)
	}
	for _, f := range of.factors {
		if !weightfile.Repeats(f.weight) || !strings.HasSuffix(f.weight, "weight") {
			return check.Option("Name", name, "not supported for an adapter that adds to %s, which is not a weight of a layer that repeats", f.weight)
		}
	}
	a.Names = append(a.Names, name)
	of.name, of.number = name, len(a.Names)
	return nil
}

// replace notes the tensors that an adapter replaces.
func (a *Adapters) replace(by *adapter, b Base) error {
	_, ofFiles := b.Weights.(transformer.Reader)
	for name := range by.replaced {
		if !ofFiles {
			return check.Errorf(fault.ErrOption, "it replaces %s, which is supported for weights of files only", name)
		}
		if a.from[name] != nil {
			return check.Errorf(fault.ErrOption, "it replaces %s, as %s does", name, a.from[name].path)
		}
		a.from[name] = by
	}
	return nil
}

// Warnings are those of all adapters.
func (a *Adapters) Warnings() (all []string) {
	for _, one := range a.all {
		for _, w := range one.warnings {
			all = append(all, one.path+": "+w)
		}
	}
	return all
}

// Close closes the adapters' files.
func (a *Adapters) Close() {
	for _, one := range a.all {
		one.close()
	}
}

// AddTo has l replace, and add to weights, what the adapters do.
func (a *Adapters) AddTo(l *transformer.Loader) error {
	for _, one := range a.all {
		for name, by := range one.replaced {
			l.Replace(name, transformer.Replacement{From: one.tensors, Name: by.name, Apart: by.apart})
		}
		for _, r := range one.rows {
			if err := one.setRows(l, r); err != nil {
				return inAdapter(one.path, err)
			}
		}
		for _, f := range one.factors {
			if by := a.from[f.weight]; by != nil && by != one {
				return check.Errorf(fault.ErrOption, "adapter %s: it adds to %s, which %s replaces", one.path, f.weight, by.path)
			}
			d, err := one.read(f)
			if err == nil {
				err = l.Add(f.weight, d)
			}
			if err != nil {
				return inAdapter(one.path, err)
			}
		}
	}
	return nil
}
