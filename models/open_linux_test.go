package models_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// TestPipes opens a pipe that nobody writes to and a device without end, themselves and as
// config.json.
func TestPipes(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "config.json")
	tftest.NoError(t, syscall.Mkfifo(pipe, 0o600))
	device := filepath.Join(t.TempDir(), "config.json")
	tftest.NoError(t, os.Symlink("/dev/zero", device))
	for _, path := range []string{pipe, filepath.Dir(pipe), device, filepath.Dir(device)} {
		if _, err := models.Open(path, models.Options{}); !errors.Is(err, fault.ErrFolder) {
			t.Errorf("%s: error %v, want ErrFolder", path, err)
		}
	}
}

// loadEnv names the folder that a child process of TestMemoryOfLoading loads, and the format of its
// weights.
const loadEnv = "AVOFORMER_TEST_LOAD"

// TestMemoryOfLoading loads a model in a process of its own, whose resident memory may at no time
// be more than 1.1 times the weights beside what it was before.
func TestMemoryOfLoading(t *testing.T) {
	if job := os.Getenv(loadEnv); job != "" {
		format, dir, _ := strings.Cut(job, " ")
		before := resident()
		o := models.Options{}
		if format == "bf16" {
			o.WeightFormat = kernels.FormatBF16
		}
		m := tftest.Must(models.Open(dir, o))(t)
		fmt.Printf("peak %d %d\n", resident()-before, m.Footprint.Loading)
		if m.LM == nil {
			t.Error("no language model")
		}
		return
	}
	if testing.Short() || testenv.Emulated() || race.Enabled {
		t.Skip("writes a file of 100 MB and measures memory")
	}
	config := `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 8000, "hidden_size": 512, "num_hidden_layers": 8,
		"num_attention_heads": 8, "intermediate_size": 1408, "tie_word_embeddings": true}`
	c := tftest.Collected{Tensors: tf.TensorMap{}}
	tftest.Must(models.New([]byte(config), c, models.Options{}))(t)
	delete(c.Tensors, "lm_head.weight")
	weights := 0
	for _, x := range c.Tensors {
		weights += len(x.Data)
	}
	dir := t.TempDir()
	tftest.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o666))
	f := tftest.Must(os.Create(filepath.Join(dir, "model.safetensors")))(t)
	tftest.NoError(t, safetensors.Write(f, c.Tensors, nil))
	tftest.NoError(t, f.Close())
	for format, size := range map[string]int{"f32": 4, "bf16": 2} {
		child := exec.Command(os.Args[0], "-test.run=^TestMemoryOfLoading$", "-test.v")
		child.Env = append(os.Environ(), loadEnv+"="+format+" "+dir)
		out, err := child.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		_, text, _ := strings.Cut(string(out), "peak ")
		var kb, told int
		if _, err := fmt.Sscan(text, &kb, &told); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if off := float64(kb) * 1024 / float64(told); !(off >= 0.9 && off <= 1.1) {
			t.Errorf("%s: at most %d KiB were resident, told were %d", format, kb, told>>10)
		}
		got := float64(kb) * 1024 / float64(weights)
		t.Logf("%s: %d weights, at most %.2f bytes each", format, weights, got)
		if !(got <= 1.1*float64(size)) {
			t.Errorf("%s: %.2f bytes a weight, want at most %.2f", format, got, 1.1*float64(size))
		}
	}
}
