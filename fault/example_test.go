package fault_test

import (
	"errors"
	"fmt"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// This example prints the parts of an error about a configuration.
func ExampleError() {
	_, err := models.New([]byte(`{"model_type": "bert", "hidden_act": "swoosh"}`), transformer.Random(1), models.Options{})
	var e *fault.Error
	if errors.As(err, &e) {
		fmt.Println(e.File, e.Field, e.Value, errors.Is(err, fault.ErrConfig))
	}
	// Output: config.json hidden_act "swoosh" true
}
