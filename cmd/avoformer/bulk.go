// Output that survives an interruption.
//
// While a run goes on, its output is OUT.part, and OUT.part.json says how many
// lines of the input are in it. Both are written out chunk by chunk; a run that
// finds them goes on behind the last chunk that is complete, and at the end
// OUT.part becomes OUT. So what an interrupted run leaves, once completed, is
// the bytes of one that was not interrupted: chunks begin at the same lines.

package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"

	"github.com/avoformer/avoformer/internal/pyjson"
)

// chunkLines is how many lines go through a pipeline at once, and are lost by
// an interruption at worst.
const chunkLines = 512

// state is OUT.part.json.
type state struct {
	Job   string `json:"job"`   // what is done: model and flags
	Lines int    `json:"lines"` // of the input that are in the output
	Bytes int64  `json:"bytes"` // of the output
	Input string `json:"input"` // digest of these lines
}

// bulk is an output file that is being written.
type bulk struct {
	path string
	file *os.File
	state
	digest hash.Hash // of the lines done
}

func (b *bulk) part() string      { return b.path + ".part" }
func (b *bulk) stateFile() string { return b.path + ".part.json" }

// openBulk begins the output, or goes on with one of the same job. With
// overwrite, an output that is complete or of another job is replaced.
func openBulk(path, job string, overwrite bool) (*bulk, error) {
	b := &bulk{path: path, state: state{Job: job}, digest: sha256.New()}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	} else if err == nil && !overwrite {
		return nil, fmt.Errorf("%s exists; -f replaces it", path)
	}
	data, err := os.ReadFile(b.stateFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	resume := err == nil
	if resume {
		var s state
		if err := pyjson.Unmarshal(data, &s); err != nil || s.Lines < 0 || s.Bytes < 0 {
			return nil, fmt.Errorf("%s: not what this program wrote", b.stateFile())
		}
		if s.Job != job {
			if !overwrite {
				return nil, fmt.Errorf("%s is of another model or other flags; -f starts over", b.part())
			}
			resume = false
		} else {
			b.state = s
		}
	}
	if b.file, err = os.OpenFile(b.part(), os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return nil, err
	}
	if info, err := b.file.Stat(); err != nil {
		return nil, err
	} else if resume && info.Size() < b.Bytes {
		return nil, fmt.Errorf("%s is shorter than %s says; -f starts over", b.part(), b.stateFile())
	}
	// What stands behind the last complete chunk is written again.
	if err := b.file.Truncate(b.Bytes); err != nil {
		return nil, err
	}
	_, err = b.file.Seek(b.Bytes, io.SeekStart)
	return b, err
}

// seen takes a line of the input into account.
func (b *bulk) seen(line []byte) {
	b.digest.Write(line)
	b.digest.Write([]byte{'\n'})
}

func (b *bulk) sum() string { return fmt.Sprintf("%x", b.digest.Sum(nil)) }

// skip passes over the lines that are done, and checks that they are the same.
func (b *bulk) skip(in *lines) error {
	for in.n < b.Lines {
		line, err := in.raw()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("the input has %d lines, of which %d are done; -f starts over", in.n, b.Lines)
		} else if err != nil {
			return err
		}
		b.seen(line)
	}
	if b.Lines > 0 && b.sum() != b.Input {
		return fmt.Errorf("the first %d lines of the input are others than before; -f starts over", b.Lines)
	}
	return nil
}

// write appends a chunk of some lines. The state follows the data to the disk,
// so it never says more than there is.
func (b *bulk) write(data []byte, lines int) error {
	if _, err := b.file.Write(data); err != nil {
		return err
	}
	if err := b.file.Sync(); err != nil {
		return err
	}
	b.Bytes += int64(len(data))
	b.Lines += lines
	b.Input = b.sum()
	text, err := json.Marshal(b.state)
	if err != nil {
		return err
	}
	temp := b.stateFile() + ".new"
	if err := os.WriteFile(temp, text, 0o666); err != nil {
		return err
	}
	return os.Rename(temp, b.stateFile())
}

// finish completes the output, whose beginning becomes header.
func (b *bulk) finish(header []byte) error {
	if _, err := b.file.WriteAt(header, 0); err != nil {
		return err
	}
	if err := errors.Join(b.file.Sync(), b.file.Close()); err != nil {
		return err
	}
	if err := os.Rename(b.part(), b.path); err != nil {
		return err
	}
	if err := os.Remove(b.stateFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
