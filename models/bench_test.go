package models_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

var (
	benchModel   = flag.String("model", "", "the model, a folder or a .gguf `file`, of BenchmarkLanguageModel and BenchmarkLoad; none: one of random weights")
	benchWeights = flag.String("weights", "f32", "the format of its weights")
	benchPrompts = flag.String("prompts", "", "the format of a second copy for prompts; none: no copy")
	benchLayers  = flag.Int("layers", 2, "the number of layers of BenchmarkSpeech; the published model has 24")
	benchCache   = flag.String("cache", "f32", "the format of its keys and values")
	benchReady   = flag.String("ready", "", "the `folder` of its ready file, which is mapped; none: the weights are packed in memory")
)

// BenchmarkLanguageModel reads prompts and generates, in tokens a second, each on as many threads
// as -cpu says, and says how much memory was resident at most, in MiB. Random weights are made in
// float32 first, so of those it says little.
func BenchmarkLanguageModel(b *testing.B) {
	format, err := kernels.ParseFormat(*benchWeights)
	if err != nil {
		b.Fatal(err)
	}
	held, err := kernels.ParseFormat(*benchCache)
	if err != nil {
		b.Fatal(err)
	}
	o := models.Options{WeightFormat: format, CacheFormat: held, Ready: *benchReady}
	if *benchPrompts != "" {
		if o.PromptFormat, err = kernels.ParseFormat(*benchPrompts); err != nil {
			b.Fatal(err)
		}
	}
	begin := time.Now()
	var m *models.Model
	if *benchModel != "" {
		m, err = models.Open(*benchModel, o)
	} else {
		m, err = models.New([]byte(`{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 32000, "hidden_size": 1024,
			"num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 2816}`), transformer.Random(1), o)
	}
	if err != nil || m.LM == nil {
		b.Fatalf("language model: %v, error %v", m, err)
	}
	b.Logf("loaded in %.2f s", time.Since(begin).Seconds())
	prompt := func(n int) []int {
		ids := make([]int, n)
		for i := range ids {
			ids[i] = (i*7919 + 259) % m.LM.Vocab()
		}
		return ids
	}
	var ws models.Workspace
	decoding := func() *generation.Decoding {
		ws.Threads = kernels.Threads(runtime.GOMAXPROCS(0))
		return generation.Start(&ws, m, 1)
	}
	for _, n := range []int{128, 512} {
		b.Run(fmt.Sprintf("prompt%d", n), func(b *testing.B) {
			for b.Loop() {
				tftest.Must(decoding().Feed([][]int{prompt(n)}))(b)
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
	b.Run("generate64", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			d := decoding()
			tftest.Must(d.Feed([][]int{prompt(1)}))(b)
			b.StartTimer()
			for next, err := range generation.Generate(context.Background(), d, prompt(1), generation.SamplerConfig{}, generation.Limits{MaxTokens: 64}) {
				if err != nil {
					b.Fatal(next, err)
				}
			}
		}
		b.ReportMetric(float64(64*b.N)/b.Elapsed().Seconds(), "tokens/s")
		b.ReportMetric(float64(resident())/(1<<10), "MiB")
	})
}

// BenchmarkSpeech reports seconds of sound per second. parakeet encodes 20 seconds with some layers
// of the encoder of Parakeet 0.6B: the difference of two runs with different -layers is the time of
// the layers between; the rest is what comes before all layers. whisper-small encodes a window of
// 30 seconds and writes 90 tokens, which is some 3 words a second.
func BenchmarkSpeech(b *testing.B) {
	format, err := kernels.ParseFormat(*benchWeights)
	if err != nil {
		b.Fatal(err)
	}
	// run takes seconds of sound: what it returns encodes them, and then writes some tokens.
	run := func(name, config string, seconds, tokens int) {
		b.Run(name, func(b *testing.B) {
			m := tftest.Must(models.New([]byte(config), transformer.Random(1), models.Options{WeightFormat: format}))(b)
			frames := seconds * models.SampleRate / models.SpectrogramHop
			features := make([]float32, m.Audio.Features()*frames) // [bins, frames]
			for i := range features {
				features[i] = float32(i*7919%1000)/500 - 1
			}
			rows := m.Audio.Rows(frames)
			memory := &models.Memory{X: make([]float32, rows*m.Audio.Dim()), Batch: transformer.Uniform(1, rows)} // [rows, D]
			ws := models.Workspace{Threads: kernels.Threads(runtime.GOMAXPROCS(0))}
			for b.Loop() {
				tftest.NoError(b, m.Audio.EncodeAudio(&ws, memory.X, features, 1, frames))
				if tokens > 0 {
					d := generation.StartLM(&ws, m.LM, memory, 1)
					for token := range tokens {
						tftest.Must(d.Feed([][]int{{token}}))(b)
					}
				}
			}
			b.ReportMetric(float64(seconds*b.N)/b.Elapsed().Seconds(), "s/s")
		})
	}
	run("parakeet", fmt.Sprintf(`{"model_type": "parakeet_encoder", "architectures": ["ParakeetEncoder"], "hidden_size": 1024, "num_hidden_layers": %d, "num_attention_heads": 8,
		"intermediate_size": 4096, "num_mel_bins": 128, "subsampling_conv_channels": 256}`, *benchLayers), 20, 0)
	run("whisper-small", `{"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "vocab_size": 51865, "num_mel_bins": 80, "d_model": 768, "encoder_layers": 12,
		"decoder_layers": 12, "encoder_attention_heads": 12, "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072, "max_source_positions": 1500,
		"max_target_positions": 448, "decoder_start_token_id": 50258}`, 30, 90)
}

// BenchmarkLoad opens a model, and says how much memory was resident at most, in MiB: with
// -benchtime 1x that of one model.
func BenchmarkLoad(b *testing.B) {
	if *benchModel == "" {
		b.Skip("no -model")
	}
	format, err := kernels.ParseFormat(*benchWeights)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := models.Open(*benchModel, models.Options{WeightFormat: format}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(resident())/(1<<10), "MiB")
}

// resident returns the most memory that this process had resident, in KiB; 0 where it is not known.
func resident() (kb int) {
	text, _ := os.ReadFile("/proc/self/status")
	if _, line, ok := strings.Cut(string(text), "VmHWM:"); ok {
		_, _ = fmt.Sscan(line, &kb)
	}
	return kb
}
