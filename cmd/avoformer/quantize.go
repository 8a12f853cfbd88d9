// This file has the command quantize, which writes a GGUF file with weights of fewer bits.

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/models"
)

// quantize writes a GGUF file in another format. It renames the output to its name when it is
// complete.
func quantize(a *app, args []string) error {
	f := a.flags("quantize")
	name := f.String("weights", "", "`format` of the weights: bf16, f16, or blocks such as q8_0, q4_k, q4_0; then, after commas, PATTERN=FORMAT for weights "+
		"whose names match, such as q4_k,token_embd.*=q8_0,output.*=q6_k")
	importance := f.String("imatrix", "", "importance matrix, a `file` of llama-imatrix: errors in columns that count more become smaller")
	out := f.String("o", "", "output `file`; its name must end with .gguf")
	overwrite := f.Bool("f", false, "replace the output file")
	asJSON := f.json("a line: file, weights, bytes, of which bytes_before were in the file that was read")
	args, err := f.parse(args, 1, 1)
	if err != nil {
		return err
	}
	format, formats, err := parseWeights(*name)
	if err != nil {
		return err
	}
	if filepath.Ext(*out) != ".gguf" {
		return usagef("-o %q: want a file whose name ends with .gguf", *out)
	}
	if info, err := os.Stat(args[0]); err != nil {
		return err
	} else if info.IsDir() {
		return fmt.Errorf("%s is a folder: want a GGUF file", args[0])
	}
	if _, err := os.Lstat(*out); !errors.Is(err, fs.ErrNotExist) && !*overwrite {
		return errors.Join(fmt.Errorf("%s already exists; -f replaces it", *out), err)
	}
	err = regular.Create(*out, func(w *os.File) error {
		o := models.Options{WeightFormat: format, WeightFormats: formats, Importance: *importance, Warn: a.warn}
		_, err := interruptible(a, func() (struct{}, error) { return struct{}{}, models.QuantizeGGUF(w, args[0], o) })
		if errors.Is(err, fault.ErrOption) {
			return usagef("-weights %s: %v", *name, err)
		}
		return err
	})
	if err != nil || !*asJSON {
		return err
	}
	size := func(name string) (n int64) {
		for _, part := range hub.Parts(name) {
			if info, err := os.Stat(part); err == nil {
				n += info.Size()
			}
		}
		return n
	}
	return a.printJSON(map[string]any{"file": *out, "weights": *name, "bytes": size(*out), "bytes_before": size(args[0])})
}
