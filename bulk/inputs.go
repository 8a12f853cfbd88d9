// This file finds the inputs of a run.

package bulk

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// shards returns this run's inputs in the order of their names, and creates the folders of their
// results.
func (o *Options) shards() ([]*shard, error) {
	var all []*shard
	for _, path := range o.Inputs {
		found, err := inputs(path)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, check.Errorf(fault.ErrOption, "there are no input files")
	}
	slices.SortFunc(all, func(a, b *shard) int { return strings.Compare(a.name, b.name) })
	out, err := filepath.Abs(o.Out)
	if err != nil {
		return nil, err
	}
	var own []*shard
	for i, s := range all {
		if i > 0 && all[i-1].name == s.name {
			return nil, check.Errorf(fault.ErrOption, "%s and %s would have results of the same name; use a folder of both as the input", all[i-1].input, s.input)
		}
		path, err := filepath.Abs(s.input)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(path, out+string(filepath.Separator)) {
			return nil, check.Errorf(fault.ErrOption, "%s is in the folder of results", s.input)
		}
		if _, _, err := inputKind(s.input, o.Input); err != nil {
			return nil, err
		}
		if i%o.Shards != o.Shard-1 {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(o.Out, filepath.FromSlash(s.name))), 0o777); err != nil {
			return nil, err
		}
		own = append(own, s)
	}
	return own, nil
}

// inputs returns a file, or the files of a folder. In a folder it skips names that begin with a dot
// or an underscore, which other programs use for files that are not data.
func inputs(path string) ([]*shard, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []*shard{{name: filepath.Base(path), input: path}}, err
	}
	var all []*shard
	err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		switch hidden := file != path && strings.ContainsAny(d.Name()[:1], "._"); {
		case err != nil:
			return err
		case hidden && d.IsDir():
			return fs.SkipDir
		case hidden || d.IsDir():
			return nil
		}
		name, err := filepath.Rel(path, file)
		all = append(all, &shard{name: filepath.ToSlash(name), input: file})
		return err
	})
	return all, err
}
