package models_test

import (
	"bytes"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// The hidden states of two texts of different lengths, without padding.
func ExampleOpen() {
	m, err := models.Open("testdata/folders/bert", models.Options{}) // a folder of the hub, or a GGUF file
	must(err)
	batch := transformer.Ragged(3, 5)
	hidden := make([]float32, batch.Rows()*m.Encoder.Dim())
	tokens := models.Tokens{IDs: []int{2, 7, 3 /**/, 2, 8, 9, 10, 3}, Batch: batch}
	must(m.Encoder.Encode(new(transformer.Workspace), hidden, tokens))
	fmt.Println(m.Config.ModelType, m.Config.Layers, "layers:", len(hidden)/m.Encoder.Dim(), "rows")

	embedded, err := models.OpenFS(os.DirFS("testdata/folders/bert"), models.Options{}) // or an embed.FS
	must(err)
	fmt.Println(embedded.Config.Vocab == m.Config.Vocab)
	// Output:
	// bert 2 layers: 8 rows
	// true
}

// Packed weights in a file, which the second call maps.
func ExampleReadyFiles() {
	dir, err := os.MkdirTemp("", "ready")
	must(err)
	defer os.RemoveAll(dir)
	for range 2 {
		m, err := models.Open("testdata/folders/bert", models.Options{Ready: dir})
		must(err)
		fmt.Println(m.Ready.Hit)
	}
	files, err := models.ReadyFiles(dir)
	must(err)
	fmt.Println(len(files), filepath.Base(files[0].Model))
	// Output:
	// false
	// true
	// 1 bert
}

// A configuration with made-up weights: for trying out and timing an architecture.
func ExampleNew() {
	m, err := models.New([]byte(`{"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "vocab_size": 100, "hidden_size": 32,
		"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 64,
		"max_position_embeddings": 64}`), transformer.Random(1), models.Options{})
	must(err)
	tokens := []int{3, 1, 4}
	logits := make([]float32, len(tokens)*m.Config.Vocab)
	must(m.Logits(new(transformer.Workspace), logits, tokens, transformer.Uniform(1, len(tokens)), nil, nil))
	fmt.Println(len(logits)/m.Config.Vocab, "rows of", m.LM.Vocab(), "logits")
	// Output: 3 rows of 100 logits
}

// An architecture of one's own joins the others under its model_type.
func ExampleRegister() {
	models.Register(func(c *models.Checkpoint) (*models.Model, error) {
		var config struct {
			Vocab int `json:"vocab_size"`
			Dim   int `json:"hidden_size"`
		}
		if err := c.Decode(&config); err != nil {
			return nil, err
		}
		table := c.Loader.At("words.").Embedding(config.Vocab, config.Dim)
		return &models.Model{Config: c.Config, Encoder: bagOfWords{table}}, nil
	}, "bag_of_words")
	fmt.Println(slices.Contains(models.ModelTypes(), "bag_of_words"))

	m, err := models.New([]byte(`{"model_type": "bag_of_words", "vocab_size": 2, "hidden_size": 2}`),
		transformer.TensorMap{"words.weight": {Shape: []int{2, 2}, Data: []float32{1, 2, 3, 4}}}, models.Options{})
	must(err)
	y := make([]float32, 2)
	must(m.Encoder.Encode(new(transformer.Workspace), y, models.Tokens{IDs: []int{1}, Batch: transformer.Uniform(1, 1)}))
	fmt.Println(y)
	// Output:
	// true
	// [3 4]
}

type bagOfWords struct{ table *transformer.Embedding }

func (b bagOfWords) Dim() int { return b.table.Dim }

func (b bagOfWords) Encode(ws *models.Workspace, dst []float32, in models.Tokens) error {
	return b.table.Forward(ws, dst, in.IDs)
}

// What a model is for follows from its class. A model type of one's own may have a use that its
// class does not name.
func ExampleUseOf() {
	models.Describe(models.Traits{Use: models.UseText}, "storyteller")
	for _, config := range []string{
		`{"model_type": "bert", "architectures": ["BertForTokenClassification"]}`,
		`{"model_type": "storyteller", "architectures": ["Storyteller"]}`,
	} {
		use, err := models.UseOf([]byte(config))
		must(err)
		fmt.Println(use)
	}
	// Output:
	// labels of tokens
	// text that goes on
}

// A GGUF file is written again in fewer bits.
func ExampleQuantizeGGUF() {
	const file = "testdata/gguf/llama/f32.gguf"
	var out bytes.Buffer
	must(models.QuantizeGGUF(&out, file, models.Options{WeightFormat: kernels.FormatQ8_0}))
	before, err := os.Stat(file)
	must(err)
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "q8_0.gguf")
	must(os.WriteFile(path, out.Bytes(), 0o666))
	m, err := models.Open(path, models.Options{})
	must(err)
	fmt.Println(int64(out.Len()) < before.Size(), m.Config.ModelType)
	// Output: true llama
}

// The loudest band of a tone of 1000 Hz, as Whisper hears it.
func ExampleLogMel() {
	samples := make([]float32, models.SampleRate/10)
	for i := range samples {
		samples[i] = float32(math.Sin(2 * math.Pi * 1000 * float64(i) / models.SampleRate))
	}
	const bins = 80
	mel, err := models.LogMel(samples, bins)
	must(err)
	frames := len(mel) / bins
	loudest := 0
	for b := range bins {
		if mel[b*frames+frames/2] > mel[loudest*frames+frames/2] {
			loudest = b
		}
	}
	fmt.Println(frames, "frames, the loudest band is", loudest)
	// Output: 10 frames, the loudest band is 26
}

// A spectrogram as Parakeet takes it: a frame for each hundredth of a second, and each band with
// mean 0.
func ExampleNormalizedLogMel() {
	samples := make([]float32, models.SampleRate/10)
	for i := range samples {
		samples[i] = float32(math.Sin(float64(i) * float64(i) / 1000))
	}
	const bins = 80
	mel, err := models.NormalizedLogMel(samples, bins)
	must(err)
	frames, sum := len(mel)/bins, 0.0
	for _, level := range mel[:frames] {
		sum += float64(level)
	}
	fmt.Printf("%d frames, mean %.3f\n", frames, math.Abs(sum)/float64(frames))
	// Output: 10 frames, mean 0.000
}
