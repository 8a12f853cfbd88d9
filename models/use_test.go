package models

import (
	"bytes"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// describeMadeUp describes a model type, which is possible once.
var describeMadeUp = sync.OnceFunc(func() { Describe(Traits{Use: UseSpeech}, "made-up") })

// TestUseOf: what a model is for follows from its class, or where that does not tell, from its
// type.
func TestUseOf(t *testing.T) {
	t.Parallel()
	describeMadeUp()
	for _, c := range []struct {
		config string
		want   Use
	}{
		{`{"model_type": "bert"}`, UseStates},
		{`{"model_type": "bert", "architectures": ["BertForSequenceClassification"]}`, UseLabels},
		{`{"model_type": "bert", "architectures": ["BertForSequenceClassification"], "num_labels": 1}`, UseScore},
		{`{"model_type": "bert", "architectures": ["BertForSequenceClassification"], "id2label": {"0": "a"}}`, UseScore},
		{`{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}`, UseText},
		{`{"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}`, UseOtherText},
		{`{"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"]}`, UseText},
		{`{"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"]}`, UseSpeech},
		{`{"model_type": "made-up", "architectures": ["MadeUpForConditionalGeneration"]}`, UseSpeech},
		{`{"model_type": "made-up", "architectures": ["MadeUpForTokenClassification"]}`, UseTokenLabels},
		{`{"model_type": "vit", "architectures": ["ViTModel"]}`, UseImages},
		{`{"architecture": "vit_tiny_patch16_224", "num_classes": 5, "pretrained_cfg": {}}`, UseImageLabels},
		{`{"num_classes": 0, "pretrained_cfg": {}, "model_type": "vit"}`, UseImages},
	} {
		if use, err := UseOf([]byte(c.config)); use != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", c.config, use, err, c.want)
		}
	}
	if _, err := UseOf([]byte(`{"architectures": 1}`)); err == nil {
		t.Error("a number of architectures is taken")
	}
	defer func() {
		if recover() == nil {
			t.Error("a model type is described twice")
		}
	}()
	Describe(Traits{}, "made-up")
}

// TestUseOfGGUF: what a file is for follows from its architecture.
func TestUseOfGGUF(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]Use{
		"gguf/llama/f32.gguf": UseText, "gguf-encoders/bert.gguf": UseStates, "gguf-encoders/t5-buckets.gguf": UseOtherText,
	} {
		f, err := gguf.Open("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if use, err := UseOfGGUF(f); use != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", file, use, err, want)
		}
		f.Close()
	} // An encoder is not a decoder, although its file names no pooling.
	var file bytes.Buffer
	tftest.NoError(t, gguf.Write(&file, []gguf.Pair{{Key: "general.architecture", Value: "bert"}}, nil))
	f := tftest.Must(gguf.NewFile(bytes.NewReader(file.Bytes()), int64(file.Len())))(t)
	if use, err := UseOfGGUF(f); use != UseStates || err != nil {
		t.Errorf("bert without a pooling: %q, %v, want %q", use, err, UseStates)
	}
}
