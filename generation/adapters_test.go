package generation_test

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

// TestAdapters: requests that have different adapters, and begin alike, get each the text that a
// model gives of whose weights its adapter is a part, while they pass together; what they share are
// beginnings with the same adapter alone.
func TestAdapters(t *testing.T) {
	const base, length = "../models/testdata/folders/llama", 12
	at := func(name string) string { return filepath.Join("../models/testdata/adapters", name) }
	beside := models.Options{Adapters: []models.Adapter{{Path: at("llama-linear"), Name: "linear"}, {Path: at("llama-patterns"), Name: "patterns"}}}
	m := tftest.Must(models.Open(base, beside))(t)
	of := map[string]*models.Model{"": tftest.Must(models.Open(base, models.Options{}))(t)}
	for _, name := range m.Adapters {
		of[name] = tftest.Must(models.Open(base, models.Options{Adapters: []models.Adapter{{Path: at("llama-" + name)}}}))(t)
	}
	r := rand.New(rand.NewPCG(3, 4))
	start := prompts(r, 1, 40, 40)[0]
	s := schedule(t, generation.SchedulerConfig{Model: m.LM, Threads: 2, StepTokens: 24})
	differ := false
	for range 2 { // the second time every beginning is there
		var wg sync.WaitGroup
		for i := range 12 {
			name := []string{"", "linear", "patterns"}[i%3]
			prompt := append(slices.Clone(start), prompts(r, 1, 3, 3)[0]...)
			want := alone(t, of[name], prompt, generation.SamplerConfig{}, length)
			differ = differ || name != "" && !slices.Equal(want, alone(t, of[""], prompt, generation.SamplerConfig{}, length))
			wg.Go(func() {
				got, end, err := collect(t.Context(), s, generation.Request{Prompt: prompt, Adapter: name, Limits: generation.Limits{MaxTokens: length}})
				if err != nil || end.Err != nil || !slices.Equal(got, want) {
					t.Errorf("with adapter %q %v, %v, want %v", name, got, errors.Join(err, end.Err), want)
				}
			})
		}
		wg.Wait()
	}
	if st := s.Stats(); !differ || st.SharedTokens < 12*32 {
		t.Errorf("adapters change texts: %v, shared tokens %d", differ, st.SharedTokens)
	}
	if _, _, err := collect(t.Context(), s, generation.Request{Prompt: start, Adapter: "other"}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("an adapter that is not there: error %v, want ErrOption", err)
	}
}
