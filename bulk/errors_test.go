package bulk_test

import (
	"errors"
	"testing"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/fault"
)

// TestKinds verifies that errors of this package are of the kinds that all packages share.
func TestKinds(t *testing.T) {
	_, err := bulk.Run(t.Context(), bulk.Task{}, bulk.Options{Format: "xml"})
	var e *fault.Error
	if !errors.Is(err, fault.ErrOption) || !errors.As(err, &e) || e.Kind != fault.ErrOption {
		t.Errorf("error %v, want an ErrOption as a *fault.Error", err)
	}
}
