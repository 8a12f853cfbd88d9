// This file writes archives, which have the same bytes for the same files.

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"time"
)

// packed is a file of an archive.
type packed struct {
	name string
	data []byte
	mode fs.FileMode
}

func tarGzip(folder string, files []packed, when time.Time) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out) // its header has no name and no time
	t := tar.NewWriter(z)
	for _, f := range files {
		h := tar.Header{Name: folder + "/" + f.name, Size: int64(len(f.data)), Mode: int64(f.mode), ModTime: when, Format: tar.FormatPAX}
		if err := t.WriteHeader(&h); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func zipped(folder string, files []packed, when time.Time) ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range files {
		h := zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: when}
		h.SetMode(f.mode)
		w, err := z.CreateHeader(&h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
