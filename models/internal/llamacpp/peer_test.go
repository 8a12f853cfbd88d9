package llamacpp_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// The vocabulary of files for llama-perplexity has a token for each character, so that it reads the
// tokens that a test wants.
const (
	firstLetter = 0x4e00 // of token 3
	peerLength  = 48     // of a text; llama-perplexity gives the logits of its second half
	peerTexts   = 2
)

// TestLlamaCpp compares log-probabilities with those that llama.cpp computes from the same files,
// which have float32 weights. make compare WHAT=llama-cpp starts it: AVOFORMER_LLAMA_CPP is the
// folder of llama.cpp's programs, AVOFORMER_LLAMA_FILES further files.
func TestLlamaCpp(t *testing.T) {
	programs := os.Getenv("AVOFORMER_LLAMA_CPP")
	if programs == "" {
		t.Skip("make compare WHAT=llama-cpp names llama.cpp's programs")
	}
	paths := tftest.Must(filepath.Glob(modelstest.Testdata("gguf/*/f32.gguf")))(t)
	paths = slices.DeleteFunc(paths, func(path string) bool { return filepath.Base(filepath.Dir(path)) == "gemma3n" }) // whose sizes llama.cpp has built in
	if more := os.Getenv("AVOFORMER_LLAMA_FILES"); more != "" {
		paths = append(paths, tftest.Must(filepath.Glob(filepath.Join(more, "*", "f32.gguf")))(t)...)
	}
	for _, path := range paths {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			file := tftest.Must(gguf.Open(path))(t)
			defer file.Close()
			copied, vocab := spelled(t, file, nil)
			tokens, want, err := perplexity(t, filepath.Join(programs, "llama-perplexity"), copied, vocab)
			tftest.NoError(t, err)
			m := tftest.Must(models.Open(copied, models.Options{WeightFormats: []models.NamedFormat{{Pattern: "*", Format: kernels.FormatF32}}}))(t)
			got := make([]float32, len(tokens)*m.LM.Vocab())
			tftest.NoError(t, m.Logits(new(models.Workspace), got, tokens, transformer.Ragged(peerLength, peerLength), nil, nil))
			kernels.LogSoftmax(got, got, len(tokens), m.LM.Vocab())
			most := 3e-3 // llama.cpp looks GELU up in a table of 16 bits
			if m.Config.ModelType == "gemma3n_text" {
				most = 0.05 // and of 1,024 activations it takes the deviation as that of a sample, in ten layers
			}
			compareLogProbabilities(t, got, want, m.LM.Vocab(), most)
		})
	}
}

// spelled returns a copy of a file with a token for each character and with changed metadata, of
// which nil leaves a key out. It also returns the number of tokens.
func spelled(t *testing.T, file *gguf.File, change map[string]any) (path string, vocab int) {
	vocab = len(tftest.Must(file.Texts("tokenizer.ggml.tokens"))(t))
	letters := []string{"<unk>", "<s>", "</s>"}
	types := []int32{2, 3, 3}
	for i := 3; i < vocab; i++ {
		letters, types = append(letters, string(rune(firstLetter+i-3))), append(types, 1)
	}
	left := []string{"general.alignment", "tokenizer.ggml.merges"}
	if architecture := tftest.Must(file.Text("general.architecture"))(t); architecture == "exaone4" { // llama.cpp knows windows of 64 layers only
		left = append(left, "exaone4.attention.sliding_window", "exaone4.attention.sliding_window_pattern")
	}
	replaced := map[string]any{
		"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": letters, "tokenizer.ggml.token_type": types, "tokenizer.ggml.scores": make([]float32, vocab),
		"tokenizer.ggml.add_bos_token": false, "tokenizer.ggml.add_space_prefix": false,
	}
	maps.Copy(replaced, change)
	var pairs []gguf.Pair
	for _, key := range file.Keys() {
		value, _ := file.Value(key)
		if own, ok := replaced[key]; ok {
			value = own
			delete(replaced, key)
		}
		if value != nil && !slices.Contains(left, key) {
			pairs = append(pairs, gguf.Pair{Key: key, Value: value})
		}
	}
	for key, value := range replaced {
		if value != nil {
			pairs = append(pairs, gguf.Pair{Key: key, Value: value})
		}
	}
	var tensors []gguf.Tensor
	for _, name := range file.Names() {
		info, _ := file.Info(name)
		tensors = append(tensors, gguf.Tensor{Name: name, Info: info, Data: func(w io.Writer) error { return file.Copy(w, name) }})
	}
	path = filepath.Join(t.TempDir(), "model.gguf")
	var b bytes.Buffer
	tftest.NoError(t, gguf.Write(&b, pairs, tensors))
	tftest.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path, vocab
}

// peerTokens returns the tokens of all texts.
func peerTokens(vocab int) []int {
	random, tokens := rand.New(rand.NewPCG(7, 7)), make([]int, peerTexts*peerLength)
	for i := range tokens {
		tokens[i] = 3 + random.IntN(vocab-4)
	}
	return tokens
}

// perplexity runs llama-perplexity on random texts. It returns their tokens and, by position in
// these, log-probabilities of all tokens, or an error if llama.cpp refuses the model.
func perplexity(t *testing.T, program, model string, vocab int) (tokens []int, probabilities map[int][]float64, err error) {
	dir := tftest.Must(os.MkdirTemp(t.TempDir(), ""))(t)
	defer os.RemoveAll(dir)
	text, base := filepath.Join(dir, "text"), filepath.Join(dir, "base")
	var b strings.Builder
	for _, token := range peerTokens(vocab) {
		b.WriteRune(rune(firstLetter + token - 3))
	}
	tftest.NoError(t, os.WriteFile(text, []byte(b.String()), 0o600))
	n := fmt.Sprint(peerLength)
	command := exec.Command(program, "-m", model, "-f", text, "--kl-divergence-base", base, "-c", n, "-b", n, "-ub", "11", "-t", "1", "-ctk", "f32", "-ctv", "f32", "--no-warmup", "-fa", "off", "-fit", "off")
	command.Env = append(os.Environ(), "GGML_NO_BACKTRACE=1") // of assertions, by which llama.cpp refuses some models
	output, err := command.CombinedOutput()
	data, missing := os.ReadFile(base)
	if err != nil || missing != nil {
		return nil, nil, fmt.Errorf("%v: %v\n%s", err, missing, output[max(0, len(output)-2000):])
	}
	r := bytes.NewReader(data[8:]) // after the magic
	var head [3]int32              // length, vocabulary, texts
	tftest.NoError(t, binary.Read(r, binary.LittleEndian, &head))
	if head != [3]int32{peerLength, int32(vocab), peerTexts} {
		t.Fatalf("length, vocabulary and texts are %d", head)
	}
	ids := make([]int32, peerTexts*peerLength)
	tftest.NoError(t, binary.Read(r, binary.LittleEndian, ids))
	for _, id := range ids {
		tokens = append(tokens, int(id))
	}
	probabilities = map[int][]float64{}
	for text := range peerTexts {
		for i := peerLength / 2; i < peerLength-1; i++ {
			var row struct{ Scale, Least float32 }
			steps := make([]uint16, (vocab+1)/2*2)
			tftest.NoError(t, binary.Read(r, binary.LittleEndian, &row))
			tftest.NoError(t, binary.Read(r, binary.LittleEndian, steps))
			all := make([]float64, vocab)
			for j := range all {
				all[j] = float64(row.Least) + float64(row.Scale)*float64(steps[j])
			}
			probabilities[text*peerLength+i] = all
		}
	}
	return tokens, probabilities, nil
}

// compareLogProbabilities compares those of our own, [rows, vocab], with those wanted, which
// llama-perplexity rounds to 1/65535 of their range and bounds to 16 below the largest.
func compareLogProbabilities(t *testing.T, got []float32, want map[int][]float64, vocab int, most float64) {
	worst, sum, n := distance(got, want, vocab)
	t.Logf("%d log-probabilities: at most %.2g apart, %.2g on average", n, worst, sum/float64(n))
	if !(worst <= most) || n < vocab {
		t.Errorf("log-probabilities differ by up to %.3g, want at most %g", worst, most)
	}
}

// distance returns the largest difference, the sum of all, and how many are compared.
func distance(got []float32, want map[int][]float64, vocab int) (worst, sum float64, n int) {
	for at, row := range want {
		for j, w := range row {
			if d := math.Abs(float64(got[at*vocab+j]) - w); w > -16 {
				worst, sum, n = max(worst, d), sum+d, n+1 // max keeps a NaN
			}
		}
	}
	return worst, sum, n
}
