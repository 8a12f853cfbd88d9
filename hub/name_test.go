package hub_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/hub"
)

func TestParseName(t *testing.T) {
	for s, want := range map[string]hub.Name{
		"gpt2":                       {Repository: "gpt2"},
		"org/name":                   {Repository: "org/name"},
		"hf://org/name@v1.0":         {Repository: "org/name", Revision: "v1.0"},
		"org/name@refs/pr/3":         {Repository: "org/name", Revision: "refs/pr/3"},
		"org/na.me-GGUF/a/q4_k.gguf": {Repository: "org/na.me-GGUF", File: "a/q4_k.gguf"},
	} {
		got, err := hub.ParseName(s)
		if err != nil || got != want {
			t.Errorf("ParseName(%q) = %+v, %v, want %+v", s, got, err, want)
		}
		if again, err := hub.ParseName(got.String()); err != nil || again != got {
			t.Errorf("ParseName(%q) = %+v, %v, want %+v", got, again, err, got)
		}
	}
	for _, s := range []string{"", "hf://", "/x", "org/", "../x", "org/..", "org/na me", "org/name@", "org/name@../x", "org/name@a:b", "org/name/../x", `org/name/a\b`, "a--b", "org/name@x?y", "https://huggingface.co/org/name"} {
		if n, err := hub.ParseName(s); !errors.Is(err, fault.ErrName) {
			t.Errorf("ParseName(%q) = %+v, %v, want ErrName", s, n, err)
		}
	}
}

func TestNeeded(t *testing.T) {
	for name, c := range map[string]struct{ files, want []string }{
		"both forms":    {[]string{"config.json", "model.safetensors", "pytorch_model.bin", "x.onnx"}, []string{"config.json", "model.safetensors"}},
		"shards":        {[]string{"config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"}, []string{"config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"}},
		"old":           {[]string{"config.json", "pytorch_model.bin", "tf_model.h5", "vocab.txt"}, []string{"config.json", "pytorch_model.bin", "vocab.txt"}},
		"modules":       {[]string{"1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors", "2_Dense/pytorch_model.bin", "config.json", "modules.json", "pytorch_model.bin", "onnx/config.json"}, []string{"1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors", "config.json", "modules.json", "pytorch_model.bin"}},
		"sentences":     {[]string{"README.md", "config.json", "config_sentence_transformers.json", "model.safetensors", "sentence_bert_config.json", "sentence_xlm-roberta_config.json"}, []string{"config.json", "config_sentence_transformers.json", "model.safetensors", "sentence_bert_config.json", "sentence_xlm-roberta_config.json"}},
		"sentencepiece": {[]string{"config.json", "sentencepiece.bpe.model", "source.spm", "tokenizer.model"}, []string{"config.json", "sentencepiece.bpe.model", "source.spm", "tokenizer.model"}},
		"adapter":       {[]string{"README.md", "adapter_config.json", "adapter_model.bin", "adapter_model.safetensors", "optimizer.pt"}, []string{"adapter_config.json", "adapter_model.safetensors"}},
		"old adapter":   {[]string{"adapter_config.json", "adapter_model.bin"}, []string{"adapter_config.json", "adapter_model.bin"}},
		"tasks":         {[]string{"adapters/retrieval/README.md", "adapters/retrieval/adapter_config.json", "adapters/retrieval/adapter_model.safetensors", "config.json", "custom_st.py", "model.safetensors"}, []string{"adapters/retrieval/adapter_config.json", "adapters/retrieval/adapter_model.safetensors", "config.json", "model.safetensors"}},
		"no model":      {[]string{"README.md", "x.gguf"}, nil},
		"static":        {[]string{"README.md", "modules.json", "0_StaticEmbedding/model.safetensors", "0_StaticEmbedding/tokenizer.json"}, []string{"modules.json", "0_StaticEmbedding/model.safetensors", "0_StaticEmbedding/tokenizer.json"}},
		"BGE-M3":        {[]string{"config.json", "pytorch_model.bin", "sparse_linear.pt", "colbert_linear.pt", "other.pt"}, []string{"config.json", "pytorch_model.bin", "sparse_linear.pt", "colbert_linear.pt"}},
	} {
		if got := hub.Needed(c.files); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
