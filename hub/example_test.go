package hub_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/hub"
	"github.com/avoformer/avoformer/models"
)

// This example opens a model of the hub, which Pull downloads unless the cache has it.
func ExamplePull() {
	dir, err := hub.Pull(context.Background(), "sentence-transformers/all-MiniLM-L6-v2", hub.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := models.Open(dir, models.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Config.ModelType)
}

// This example chooses the files of a repository that a model needs.
func ExampleNeeded() {
	fmt.Println(hub.Needed([]string{"README.md", "config.json", "model.safetensors", "onnx/model.onnx", "pytorch_model.bin", "tokenizer.json"}))
	// Output: [config.json model.safetensors tokenizer.json]
}

func ExampleParseName() {
	n, err := hub.ParseName("hf://Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf@main")
	fmt.Println(n.Repository, n.File, n.Revision, err)
	_, err = hub.ParseName("../x")
	fmt.Println(errors.Is(err, fault.ErrName))
	// Output:
	// Qwen/Qwen3-0.6B-GGUF Qwen3-0.6B-Q8_0.gguf main <nil>
	// true
}

// This example lists the models in the cache and removes one.
func ExampleList() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	o := hub.Options{Cache: dir}
	list, err := hub.List(o)
	fmt.Println(len(list), err)
	_, err = hub.Remove("org/name", o)
	fmt.Println(errors.Is(err, fault.ErrNoModel))
	// Output:
	// 0 <nil>
	// true
}
