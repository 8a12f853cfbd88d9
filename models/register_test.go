package models_test

import (
	"testing"

	"github.com/avoformer/avoformer/models"
)

// TestRegisterTwice wants a model type to be registered once.
func TestRegisterTwice(t *testing.T) {
	const want = `models.Register: model type "llama" is registered already`
	defer func() {
		if got := recover(); got != want {
			t.Errorf("panic %v, want %s", got, want)
		}
	}()
	models.Register(func(*models.Checkpoint) (*models.Model, error) { return nil, nil }, "llama")
}
