// This file has llama.cpp's side: a process of llama-batched-bench for each round.

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/kernels"
)

// theirs runs llama.cpp for each number of texts, with the same prompt for all. Each text has a
// copy of the prompt's keys and values.
func (s *settings) theirs(file string) (round, error) {
	r := round{File: strings.TrimSuffix(filepath.Base(file), ".gguf"), By: theirsName, Speed: map[int]float64{}}
	var list []string
	for _, n := range s.streams {
		list = append(list, strconv.Itoa(n))
	}
	number := strconv.Itoa
	each := (s.depth + s.tokens + 255) / 256 * 256 // llama.cpp rounds up like this
	cache := map[kernels.Format]string{kernels.FormatF32: "f32", kernels.FormatF16: "f16", kernels.FormatBF16: "bf16"}[s.cache]
	cmd := exec.Command(s.llama, "-m", file, "-npp", number(s.depth), "-ntg", number(s.tokens), "-npl", strings.Join(list, ","), "-pps",
		"-t", number(s.threads), "-tb", number(s.threads), "-c", number(slices.Max(s.streams)*each), "-ctk", cache, "-ctv", cache, "--output-format", "jsonl")
	var told bytes.Buffer
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("%s: %w\n%s", s.llama, err, told.Bytes())
	}
	for _, text := range slices.Concat(bytes.Split(out, []byte("\n")), bytes.Split(told.Bytes(), []byte("\n"))) {
		var line struct {
			Texts int     `json:"pl"`
			Speed float64 `json:"speed_tg"`
		}
		if json.Unmarshal(bytes.TrimSpace(text), &line) == nil && line.Texts > 0 {
			r.Speed[line.Texts] = line.Speed
		}
	}
	if len(r.Speed) != len(s.streams) {
		return r, errors.New("llama-batched-bench printed other numbers of texts: " + strings.TrimSpace(string(out)))
	}
	return r, nil
}
