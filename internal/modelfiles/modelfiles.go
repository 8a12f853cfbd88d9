// Package modelfiles says which files a model is read from and what they hold, so that an interrupted
// run goes on with the same model alone.
package modelfiles

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/hub"
	cache "github.com/avoformer/avoformer/internal/hub"
)

// A File is one that opening a model or an adapter reads.
type File struct {
	Name string // in its folder
	Info os.FileInfo
	Path string
}

// List lists the files that opening dir, a folder or a GGUF file, as a model reads, and those of adapters.
func List(dir string, adapters ...string) ([]File, error) {
	files, err := filesOf(dir)
	for i, adapter := range adapters {
		more, adapterErr := adapterFiles(adapter)
		if err = cmp.Or(err, adapterErr); err != nil {
			return nil, err
		}
		for _, f := range more {
			f.Name = fmt.Sprintf("adapter %d's %s", i+1, f.Name)
			files = append(files, f)
		}
	}
	return files, err
}

// filesOf lists the files that opening dir as a model reads.
func filesOf(dir string) ([]File, error) {
	dir = cache.Folder(dir)
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return partFiles(dir)
	}
	var names []string
	for _, pattern := range []string{"*", "*/*"} {
		found, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	var files []File
	for _, name := range hub.Needed(names) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			files = append(files, File{name, info, path})
		}
	}
	return files, nil
}

// partFiles lists the GGUF file at path, or its parts.
func partFiles(path string) ([]File, error) {
	var files []File
	for _, part := range cache.Parts(path) {
		info, err := os.Stat(part)
		if err != nil {
			return nil, err
		}
		files = append(files, File{filepath.Base(part), info, part})
	}
	return files, nil
}

// adapterFiles lists the files that opening dir, a folder or a GGUF file, as an adapter reads.
func adapterFiles(dir string) ([]File, error) {
	dir = cache.Folder(dir)
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []File{{filepath.Base(dir), info, dir}}, nil
	}
	names, err := fs.Glob(os.DirFS(dir), "adapter_*")
	var files []File
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, statErr := os.Stat(path)
		if err = cmp.Or(err, statErr); err == nil && info.Mode().IsRegular() {
			files = append(files, File{name, info, path})
		}
	}
	return files, err
}

// Digests are the files' digests by name.
func Digests(ctx context.Context, files []File) (map[string]string, error) {
	sums := map[string]string{}
	for _, f := range files {
		sum, err := digest(ctx, f.Path)
		if err != nil {
			return nil, err
		}
		sums[f.Name] = sum
	}
	return sums, nil
}

// digest is the SHA-256 of a file's length and of the CRC-32C of each MiB. It goes through every byte
// as fast as memory gives them, and so notices whatever a file was overwritten with by accident,
// but not what was made to have the same sums.
func digest(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	block, sums, length := make([]byte, 1<<20), []byte(nil), 0
	for err == nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		var n int
		n, err = io.ReadFull(f, block)
		sums = binary.LittleEndian.AppendUint32(sums, crc32.Checksum(block[:n], castagnoli))
		length += n
	}
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(binary.LittleEndian.AppendUint64(sums, uint64(length)))), nil
}

// Different names the files of which two results of Digests have not the same.
func Different(a, b map[string]string) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if b[name] != a[name] {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
