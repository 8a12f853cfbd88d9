package text

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models"
)

// byTask returns options for the adapter of a task.
func byTask(task string) Options {
	return Options{Model: models.Options{Adapters: []models.Adapter{{Task: task}}}}
}

// TestEmbedTasks compares the vectors of each task of folders as jina-embeddings-v5 is published
// with those of peft on transformers' base.
func TestEmbedTasks(t *testing.T) {
	tasks := []string{"retrieval", "text-matching"}
	for _, folder := range []string{"embed-tasks", "embed-tasks-causal"} {
		want := map[string]expectedVectors{}
		var all struct {
			Texts        []string
			Retrieval    expectedVectors
			TextMatching expectedVectors `json:"text-matching"`
		}
		readExpected(t, folder, &all)
		want[tasks[0]], want[tasks[1]] = all.Retrieval, all.TextMatching
		seen := map[string]bool{}
		for _, task := range tasks {
			o := byTask(task)
			var warned []string
			o.Model.Warn = func(w string) { warned = append(warned, w) }
			e, err := OpenEmbedder("testdata/"+folder, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(warned) > 0 {
				t.Errorf("%s: warnings %q", folder, warned)
			}
			for _, by := range []struct {
				prompt string
				want   [][]float32
			}{{"", want[task].Documents}, {"document", want[task].Documents}, {"query", want[task].Queries}} {
				got, err := outputs(e.Embed(t.Context(), Texts(all.Texts...), EmbedOptions{Prompt: by.prompt}))
				if err != nil {
					t.Fatal(err)
				}
				for i := range got {
					close32(t, fmt.Sprintf("%s, %s, prompt %q, text %d", folder, task, by.prompt, i), got[i], by.want[i], 1e-5)
				}
			}
			o.Dim = 12
			short, err := OpenEmbedder("testdata/"+folder, o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := outputs(short.Embed(t.Context(), Texts(all.Texts...), EmbedOptions{}))
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				close32(t, fmt.Sprintf("%s, %s, dim 12, text %d", folder, task, i), got[i], want[task].Dim12[i], 1e-5)
			}
			id, err := e.Fingerprint(t.Context())
			if err != nil || seen[id] {
				t.Errorf("%s, %s: fingerprint %s, %v, want one of its own", folder, task, id, err)
			}
			seen[id] = true
		}
		for _, o := range []Options{{}, byTask("clustering"), byTask("../retrieval"), {Model: models.Options{Adapters: []models.Adapter{{Task: "retrieval", Path: "testdata"}}}}} {
			_, err := OpenEmbedder("testdata/"+folder, o)
			if e, ok := errors.AsType[*fault.Error](err); !ok || e.Kind != fault.ErrOption || e.Field != "Task" || len(o.Model.Adapters) == 0 && !strings.Contains(err.Error(), "retrieval, text-matching") {
				t.Errorf("%s, %+v: %v, want an error about the task", folder, o.Model.Adapters, err)
			}
		}
	}
	if _, err := OpenEmbedder("testdata/embed", byTask("retrieval")); !errors.Is(err, fault.ErrOption) {
		t.Errorf("a folder without tasks: %v", err)
	}
}
