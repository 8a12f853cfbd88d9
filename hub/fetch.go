package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// This file downloads one file, continues where an earlier download ended, and checks the result.

// fetch downloads the missing part of a file of a commit, and renames the complete file to blob.
func (p *puller) fetch(ctx context.Context, commit string, f file, blob string, total *counter) (err error) {
	part, err := os.OpenFile(blob+".incomplete", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer part.Close()
	before := int64(0) // reported bytes, which are subtracted again if the attempt fails
	defer func() {
		if err != nil {
			total.add(f.Path, -before)
		}
	}()
	count := func(n int64) { before += n; total.add(f.Path, n) }
	sum, have, err := f.resume(part)
	if err != nil {
		return err
	}
	count(have)
	if have < f.Size {
		resp, err := p.get(ctx, p.Endpoint+"/"+p.name.Repository+"/resolve/"+commit+"/"+escape(f.Path), have)
		if errors.Is(err, errRange) { // the local data cannot be the beginning of the file
			return errors.Join(err, part.Truncate(0))
		} else if err != nil {
			return err
		}
		defer resp.Body.Close()
		if size := sizeOf(resp); size >= 0 && size != f.Size {
			return check.Errorf(fault.ErrServer, "the hub lists %d bytes, but its file has %d", f.Size, size)
		}
		if have > 0 && !continues(resp, have) { // the server sends the whole file
			count(-have)
			if have, sum, err = 0, f.newHash(), errors.Join(part.Truncate(0), rewind(part)); err != nil {
				return err
			}
		}
		// The extra byte shows whether the file is too long.
		body := io.LimitReader(resp.Body, f.Size-have+1)
		n, err := io.Copy(io.MultiWriter(part, sum, countWriter(count)), body)
		have += n
		switch {
		case err != nil && isDisk(err):
			return err
		case err != nil:
			return passing(ctx, err)
		case have < f.Size:
			return fmt.Errorf("%w: received %d of %d bytes", errTransient, have, f.Size)
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); have > f.Size || got != f.hash() {
		os.Remove(part.Name())
		return check.Errorf(fault.ErrCorrupt, "received %d bytes with the hash %s, want %d with %s", have, got, f.Size, f.hash())
	}
	if err := part.Sync(); err != nil {
		return err
	}
	if err := part.Close(); err != nil {
		return err
	}
	return os.Rename(part.Name(), blob)
}

// resume hashes the data of an earlier download, and returns the hash and the number of bytes. It
// discards data that is longer than the file.
func (f *file) resume(part *os.File) (sum hash.Hash, have int64, err error) {
	info, err := part.Stat()
	if err != nil {
		return nil, 0, err
	}
	sum = f.newHash()
	if info.Size() > f.Size {
		return sum, 0, part.Truncate(0)
	}
	have, err = io.Copy(sum, part)
	return sum, have, err
}

// newHash returns a hash of the kind that the hub states for the file.
func (f *file) newHash() hash.Hash {
	if f.LFS != nil {
		return sha256.New()
	}
	h := sha1.New() // as Git computes it for a blob
	fmt.Fprintf(h, "blob %d\x00", f.Size)
	return h
}

// continues reports whether a response has the rest of a file, from byte have on.
func continues(resp *http.Response, have int64) bool {
	return resp.StatusCode == http.StatusPartialContent && strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have))
}

// sizeOf returns the size of the whole file that a response belongs to, or -1 if the response does
// not state it.
func sizeOf(resp *http.Response) int64 {
	if resp.StatusCode != http.StatusPartialContent {
		return resp.ContentLength
	}
	_, total, _ := strings.Cut(resp.Header.Get("Content-Range"), "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if err != nil || size < 0 {
		return -1 // such as *
	}
	return size
}

func rewind(f *os.File) error {
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// isDisk reports whether an error comes from writing to the disk: another attempt would not fix it.
func isDisk(err error) bool {
	var disk *os.PathError
	return errors.As(err, &disk)
}

// escape returns a path with its parts escaped for a URL.
func escape(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// A countWriter counts the bytes that are written.
type countWriter func(n int64)

func (w countWriter) Write(b []byte) (int, error) {
	w(int64(len(b)))
	return len(b), nil
}

// A counter adds up the bytes that the cache has of a pull's files, and reports the sum.
type counter struct {
	mu     sync.Mutex
	p      Progress
	report func(Progress)
}

func (c *counter) add(file string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.p.File = file
	c.p.Done += n
	if c.report != nil {
		c.report(c.p)
	}
}
