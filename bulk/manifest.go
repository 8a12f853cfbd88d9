// This file has manifests, and the other small files next to results.

package bulk

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
)

// A Manifest is the content of OUT/NAME.json, which describes a complete shard.
type Manifest struct {
	Input       Input    `json:"input"`
	Work        string   `json:"work"`                  // the task and the options
	Fingerprint string   `json:"fingerprint,omitempty"` // of the task
	Counts      Counts   `json:"counts"`
	Outputs     []Output `json:"outputs"`
	Seconds     float64  `json:"seconds"`
}

// Input is a file that was read.
type Input struct {
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
	SHA256   string    `json:"sha256"`
}

// Output is a file that was written, in the manifest's folder.
type Output struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Counts are numbers of rows. Each row that was read was either written or is dead.
type Counts struct {
	Rows    uint64 `json:"rows"`
	Written uint64 `json:"written"`
	Dead    uint64 `json:"dead"`
	Cut     uint64 `json:"cut"`    // texts among Written that were cut, as text.Counts.Cut defines
	Split   uint64 `json:"split"`  // texts among Written that were computed in several windows
	Tokens  uint64 `json:"tokens"` // of the rows in Written
}

func (c *Counts) add(d Counts) {
	c.Rows += d.Rows
	c.Written += d.Written
	c.Dead += d.Dead
	c.Cut += d.Cut
	c.Split += d.Split
	c.Tokens += d.Tokens
}

// ReadManifest reads a manifest. If there is no manifest, the error matches fs.ErrNotExist.
func ReadManifest(path string) (*Manifest, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var m Manifest
	if err := pyjson.Unmarshal(data, &m); err != nil {
		return nil, check.Errorf(fault.ErrOtherResults, "%s is not a manifest: %w", path, err)
	}
	return &m, nil
}

// writeWhole writes a small file atomically: the file is complete or does not exist.
func writeWhole(path, token string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	o, err := create(path, token)
	if err != nil {
		return err
	}
	defer o.drop()
	if _, err := o.Write(append(data, '\n')); err != nil {
		return err
	}
	if err := o.finish(); err != nil {
		return err
	}
	return errors.Join(o.place(), syncFolder(filepath.Dir(path)))
}

// failure is the content of OUT/NAME.failed.json.
type failure struct {
	Input  string `json:"input"`
	Reason string `json:"reason"`
}

// deadLetter is a line of OUT/NAME.dead.jsonl. It has the input as text, or in base64 if the input
// is not text.
type deadLetter struct {
	Input  string  `json:"input"`
	Row    int64   `json:"row"` // in the input, from 0
	Reason string  `json:"reason"`
	Text   *string `json:"text,omitempty"`
	Base64 string  `json:"base64,omitempty"`
}

// dead returns the line for a dead row of an input.
func dead(input string, x row) ([]byte, error) {
	d := deadLetter{Input: input, Row: x.number, Reason: x.err.Error()}
	raw := x.raw
	if raw == nil {
		raw = []byte(x.text)
	}
	if s := string(raw); utf8.ValidString(s) {
		d.Text = &s
	} else {
		d.Base64 = base64.StdEncoding.EncodeToString(raw)
	}
	line, err := json.Marshal(d)
	return append(line, '\n'), err
}
