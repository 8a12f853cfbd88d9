package modelfiles

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// Digest returns the SHA-256 of the output of `LC_ALL=C sha256sum` for files sorted by their names:
// a line for each, with its SHA-256, two spaces and its name. Digest reads every byte, and several
// files at a time. A file whose size or time has changed since it was listed is an error.
func Digest(ctx context.Context, files []File) (string, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	sums, errs := make([]string, len(files)), make([]error, len(files))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var group sync.WaitGroup
	for i, f := range files {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			sums[i], errs[i] = f.sum(ctx)
		})
	}
	group.Wait()
	var lines strings.Builder
	for i, f := range files {
		if errs[i] != nil {
			return "", errs[i]
		}
		fmt.Fprintf(&lines, "%s  %s\n", sums[i], f.Name)
	}
	sum := sha256.Sum256([]byte(lines.String()))
	return hex.EncodeToString(sum[:]), nil
}

// sum returns the SHA-256 of a file. It is an error if the file has changed since it was listed.
func (f File) sum(ctx context.Context) (string, error) {
	file, err := f.fsys.Open(f.path)
	if err != nil {
		return "", check.InFile(f.Name, fault.ErrFolder, err)
	}
	defer file.Close()
	sum := sha256.New()
	n, err := io.CopyBuffer(sum, reader{ctx, file}, make([]byte, 1<<20))
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", check.InFile(f.Name, fault.ErrFolder, err)
	}
	now, err := file.Stat()
	if err != nil {
		return "", check.InFile(f.Name, fault.ErrFolder, err)
	}
	if n != f.Info.Size() || !now.ModTime().Equal(f.Info.ModTime()) {
		return "", check.InFile(f.Name, fault.ErrFolder, errors.New("it has changed since the model was opened"))
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// reader returns the context's error once the context has ended.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
