// This file writes output that survives an interruption.
//
// During a run, the output is OUT.part, which the run locks. OUT.part.json holds the number of
// input lines whose results are in OUT.part, and identifies the model. Both are synced to disk
// chunk by chunk. A run that finds them continues after the last complete chunk, and at the end
// OUT.part becomes OUT. Chunks begin at the same lines in every run, so an interrupted run that is
// completed writes the same bytes as a run without an interruption. With -f a run starts over.

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
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/avoformer/avoformer/internal/filelock"
	"github.com/avoformer/avoformer/internal/fingerprint"
	"github.com/avoformer/avoformer/internal/pyjson"
)

// job identifies the work of a run: a run continues only output that a run with the same job began.
type job struct {
	Work        string `json:"job"`         // the model's folder and the flags
	Fingerprint string `json:"fingerprint"` // the model's fingerprint
}

// state is the contents of OUT.part.json.
type state struct {
	job
	Replace bool   `json:"replace,omitempty"` // OUT existed, and the run will replace it
	Lines   int    `json:"lines"`             // the number of input lines whose results are in the output
	Bytes   int64  `json:"bytes"`             // the length of the output
	Input   string `json:"input"`             // digest of these lines
}

// resumable is an output file during a run.
type resumable struct {
	path string
	file *os.File
	state
	digest hash.Hash // digest of the lines that are done
}

func (b *resumable) part() string      { return b.path + ".part" }
func (b *resumable) stateFile() string { return b.path + ".part.json" }

// openResumable begins the output, or continues output that a run with the same job began. With
// overwrite it starts over, and later replaces a complete output. It never writes to a file in
// read, which lists the files that the run reads.
func openResumable(path string, job job, read map[string]os.FileInfo, overwrite bool) (*resumable, error) {
	b := &resumable{path: path, state: state{job: job, Replace: overwrite}, digest: sha256.New()}
	if err := b.apart(read); err != nil {
		return nil, err
	}
	if err := b.lock(); err != nil {
		return nil, err
	}
	if err := b.begin(overwrite); err != nil {
		if info, statErr := b.file.Stat(); statErr == nil && info.Size() == 0 {
			b.drop()
		}
		b.file.Close()
		return nil, err
	}
	return b, nil
}

// apart returns an error if the run would write to a file that it also reads, even under another
// name.
func (b *resumable) apart(read map[string]os.FileInfo) error {
	for _, path := range []string{b.path, b.part(), b.stateFile(), b.newState()} {
		info, err := os.Stat(path)
		if err != nil {
			continue // it does not exist
		}
		if path == b.path && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", path)
		}
		for name, other := range read {
			if os.SameFile(info, other) {
				return fmt.Errorf("the output would overwrite an input: %s is %s", path, name)
			}
		}
	}
	return nil
}

// lock opens OUT.part and locks it against other processes.
func (b *resumable) lock() error {
	for {
		f, err := os.OpenFile(b.part(), os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		held, err := filelock.TryLock(f)
		if err == nil && !held {
			err = fmt.Errorf("another process is writing %s", b.part())
		}
		if err != nil && !errors.Is(err, errors.ErrUnsupported) { // some network file systems do not support locks
			f.Close()
			return err
		}
		// The process that held the lock before may have renamed or removed the file.
		mine, err := f.Stat()
		if err == nil {
			var there os.FileInfo
			if there, err = os.Stat(b.part()); err == nil && os.SameFile(mine, there) {
				b.file = f
				return nil
			}
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// begin sets OUT.part to the position where the run begins.
func (b *resumable) begin(overwrite bool) error {
	_, err := os.Stat(b.path)
	exists := err == nil
	data, err := os.ReadFile(b.stateFile())
	switch {
	case overwrite:
		// OUT.part is not valid without its state, so the state is removed first.
		if err = os.Remove(b.stateFile()); err == nil {
			err = b.syncFolder()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	case err == nil:
		if err := b.resume(data, exists); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case exists:
		return fmt.Errorf("%s exists; -f replaces it", b.path)
	}
	// Bytes after the last complete chunk are written again.
	if err := b.file.Truncate(b.Bytes); err != nil {
		return err
	}
	_, err = b.file.Seek(b.Bytes, io.SeekStart)
	return err
}

// resume continues from the state in data, the contents of the file.
func (b *resumable) resume(data []byte, exists bool) error {
	var s state
	if err := pyjson.Unmarshal(data, &s); err != nil || s.Lines < 0 || s.Bytes < 0 {
		return fmt.Errorf("%s: not a file of this program; -f starts over", b.stateFile())
	}
	if exists && !s.Replace {
		return fmt.Errorf("%s exists; -f replaces it", b.path)
	}
	if s.Work != b.Work {
		return fmt.Errorf("%s was made with another model or other flags; -f starts over", b.part())
	}
	if differs := fingerprint.Difference(s.Fingerprint, b.Fingerprint); differs != "" {
		return fmt.Errorf("%s: %s; -f starts over", b.part(), differs)
	}
	info, err := b.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < s.Bytes {
		return fmt.Errorf("%s is shorter than %s says; -f starts over", b.part(), b.stateFile())
	}
	b.state = s
	return nil
}

// seen adds a line of the input to the digest.
func (b *resumable) seen(line []byte) {
	b.digest.Write(line)
	b.digest.Write([]byte{'\n'})
}

func (b *resumable) sum() string { return fmt.Sprintf("%x", b.digest.Sum(nil)) }

// skip skips the lines that are done, and checks that they have not changed.
func (b *resumable) skip(in *lines) error {
	for in.N < b.Lines {
		line, err := in.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("the input has %d lines, of which %d are done; -f starts over", in.N, b.Lines)
		} else if err != nil {
			return err
		}
		b.seen(line)
	}
	if b.Lines > 0 && b.sum() != b.Input {
		return fmt.Errorf("the first %d lines of the input have changed; -f starts over", b.Lines)
	}
	return nil
}

// write appends a chunk with the results of some lines. The state is synced after the data, so it
// never counts lines that are missing.
func (b *resumable) write(data []byte, lines int) error {
	if _, err := b.file.Write(data); err != nil {
		return err
	}
	if err := syncFile(b.file); err != nil {
		return err
	}
	b.Bytes += int64(len(data))
	b.Lines += lines
	b.Input = b.sum()
	text, err := json.Marshal(b.state)
	if err != nil {
		return err
	}
	if err := writeSynced(b.newState(), text); err != nil {
		return err
	}
	if err := os.Rename(b.newState(), b.stateFile()); err != nil {
		return err
	}
	return b.syncFolder()
}

func (b *resumable) newState() string { return b.stateFile() + ".new" }

// finish completes the output, and overwrites the beginning of the file with header.
func (b *resumable) finish(header []byte) error {
	if _, err := b.file.WriteAt(header, 0); err != nil {
		return err
	}
	if err := syncFile(b.file); err != nil {
		return err
	}
	b.letGo()
	if err := os.Rename(b.part(), b.path); err != nil {
		return err
	}
	if err := b.syncFolder(); err != nil {
		return err
	}
	if err := os.Remove(b.stateFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(b.syncFolder(), b.close())
}

// drop removes OUT.part, which has no complete chunk yet.
func (b *resumable) drop() {
	b.letGo()
	_ = os.Remove(b.part())
}

// close releases the lock. It may be called several times.
func (b *resumable) close() error {
	if err := b.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// letGo closes OUT.part on systems that cannot rename or remove an open file. On all other systems
// the process keeps the lock until the file has its final name.
func (b *resumable) letGo() {
	if runtime.GOOS == "windows" {
		b.file.Close()
	}
}

// syncFile syncs a file, or a folder's entries, to disk. It is a variable for tests.
var syncFile = (*os.File).Sync

// writeSynced writes a file and syncs it to disk.
func writeSynced(path string, data []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = syncFile(f)
	}
	return errors.Join(err, f.Close())
}

// syncFolder syncs the names in the folder to disk after files were created or removed, if the
// system and the file system support this.
func (b *resumable) syncFolder() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(filepath.Dir(b.path))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syncFile(f); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
