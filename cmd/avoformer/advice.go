// This file has advice about flags, which info and serve print.

package main

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
	"github.com/avoformer/avoformer/models"
)

// inLayer reports whether a name is the name of a weight in a layer. Such names contain the layer's
// number.
func inLayer(name string) bool {
	parts := strings.Split(name, ".")
	return slices.ContainsFunc(parts[:len(parts)-1], func(part string) bool {
		_, err := strconv.ParseUint(part, 10, 32)
		return err == nil
	})
}

// adviseFast returns the advice to read prompts in bf16_fast, or "" if that is not faster. It is
// faster for a model that generates text and holds most weights of its layers only in BF16, on a
// machine that multiplies bf16_fast with instructions of its own. by is the name of these
// instructions.
func adviseFast(m *models.Model, o models.Options, by string) string {
	if by == "" || o.Exact || o.PromptFormat != kernels.FormatF32 || m.LM == nil || !m.Serves(models.UseText) {
		return ""
	}
	inBF16, all := 0, 0
	for _, h := range m.Holdings {
		if !inLayer(h.Name) {
			continue // -prompts does not copy it
		}
		all += h.Elements
		if h.Format == kernels.FormatBF16 {
			inBF16 += h.Elements
		}
	}
	if 2*inBF16 <= all {
		return ""
	}
	how := map[string]string{"tiles": "the tiles of AMX", "pairs": "AVX512_BF16"}[by]
	return "-prompts bf16_fast would read prompts faster by " + how + ": it takes 2 bytes more per weight, and its results depend on the machine"
}

// advising returns a function for models.Options.Planned. It prints the advice once, for a model
// that is opened with o under a name.
func (a *app) advising(name string, o models.Options) func(*models.Model) error {
	var once sync.Once
	return func(m *models.Model) error {
		if advice := adviseFast(m, o, machine.FastBF16()); advice != "" {
			once.Do(func() { a.tell("%s: %s", name, advice) })
		}
		return nil
	}
}
