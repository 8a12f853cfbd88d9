// This file writes files of results, and computes their sizes and digests.

package bulk

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"
)

// writer writes rows. Each row has a value for each column.
type writer interface {
	write(rows [][]any) error
	// close ends the file, but does not close the underlying writer.
	close() error
}

// output is a file that is being written under a temporary name.
type output struct {
	path     string // final name
	part     string // temporary name
	file     *os.File
	buffer   *bufio.Writer
	sum      hash.Hash
	bytes    int64
	rewrites bool // the beginning was rewritten at the end, so the digest must be computed again
}

// create creates a file that will be renamed to path. token makes its temporary name unique.
func create(path, token string) (*output, error) {
	o := &output{path: path, part: path + "." + token + partEnd, sum: sha256.New()}
	f, err := os.OpenFile(o.part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	o.file = f
	o.buffer = bufio.NewWriterSize(f, 1<<18)
	return o, nil
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.buffer.Write(p)
	o.sum.Write(p[:n])
	o.bytes += int64(n)
	return n, err
}

// rewrite replaces the file's beginning.
func (o *output) rewrite(p []byte) error {
	if err := o.buffer.Flush(); err != nil {
		return err
	}
	o.rewrites = true
	_, err := o.file.WriteAt(p, 0)
	return err
}

// finish writes the file to the disk and closes it.
func (o *output) finish() error {
	if err := o.buffer.Flush(); err != nil {
		return err
	}
	if o.rewrites {
		o.sum.Reset()
		if _, err := io.Copy(o.sum, io.NewSectionReader(o.file, 0, o.bytes)); err != nil {
			return err
		}
	}
	if err := o.file.Sync(); err != nil {
		return err
	}
	return o.file.Close()
}

// place renames the file to its final name.
func (o *output) place() error { return os.Rename(o.part, o.path) }

// drop closes the file, and removes it unless it has its final name.
func (o *output) drop() {
	o.file.Close()
	_ = os.Remove(o.part) // exists only after a failure
}

// digest returns the digest of the file. Call it after finish.
func (o *output) digest() string { return fmt.Sprintf("%x", o.sum.Sum(nil)) }

// Endings of the names of a shard's files, except its results.
const (
	deadEnd     = ".dead.jsonl"
	manifestEnd = ".json"
	failedEnd   = ".failed.json"
	partEnd     = ".part" // of a file that is being written
)
