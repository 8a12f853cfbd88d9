package gguf

import (
	"errors"
	"fmt"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/hub"
)

// This file puts together a file that was split: its first part has the metadata, each part has
// tensors. Source: gguf-split of llama.cpp.

// split returns a part's number, from 0 on, and how many parts there are: 1 of a file that was not
// split.
func (f *File) split() (number, count int64, err error) {
	if count, err = f.Int("split.count"); errors.Is(err, fault.ErrAbsent) {
		return 0, 1, nil
	} else if err == nil {
		number, err = f.Int("split.no")
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", fault.ErrFormat, err)
	}
	return number, count, nil
}

// join adds the tensors of the other parts of the file at path.
func (f *File) join(path string) error {
	number, count, err := f.split()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if count <= 1 {
		return nil
	}
	paths := hub.Parts(path)
	if int64(len(paths)) != count || number < 0 || number >= count || paths[number] != path {
		return fmt.Errorf("%w: %s: part %d of %d of a file that was split has a name such as x-00001-of-00003.gguf", fault.ErrFormat, path, number+1, count)
	}
	if number != 0 {
		return fmt.Errorf("%w: %s is part %d of %d: the first, %s, is the one to open", fault.ErrFormat, path, number+1, count, paths[0])
	}
	for i, path := range paths[1:] {
		if err := f.add(path, int64(i+1), count); err != nil {
			return fmt.Errorf("part %d of %d: %w", i+2, count, err)
		}
	}
	n, err := f.Int("split.tensors.count")
	if errors.Is(err, fault.ErrAbsent) {
		return nil
	} else if err != nil || n != int64(len(f.entries)) {
		return errors.Join(fmt.Errorf("%w: %s: the parts have %d tensors, want %d", fault.ErrFormat, path, len(f.entries), n), err)
	}
	return nil
}

// add adds the tensors of a part.
func (f *File) add(path string, number, count int64) error {
	part, err := openOne(path)
	if err != nil {
		return err
	}
	f.files = append(f.files, part.files...)
	if n, c, err := part.split(); err != nil || n != number || c != count {
		return errors.Join(fmt.Errorf("%w: %s: it is part %d of %d", fault.ErrFormat, path, n+1, c), err)
	}
	for name, e := range part.entries {
		if f.entries[name] != nil {
			return fmt.Errorf("%w: %s: tensor %q is in another part too", fault.ErrFormat, path, name)
		}
		f.entries[name] = e
	}
	return nil
}

// Open opens the file at path. Tensors are read when asked for, so a file may be larger than
// memory. For a file that was split, path is the first part, x-00001-of-00003.gguf; Open also opens
// the other parts next to it.
func Open(path string) (*File, error) {
	f, err := openOne(path)
	if err != nil {
		return nil, err
	}
	if err := f.join(path); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
