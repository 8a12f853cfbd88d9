package hub_test

import (
	"errors"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/hub"
)

// TestKinds verifies that the package's kinds of errors belong to the more general kinds of all
// packages.
func TestKinds(t *testing.T) {
	_, err := hub.ParseName("a/b/../c")
	var e *fault.Error
	if !errors.Is(err, fault.ErrName) || !errors.Is(err, fault.ErrOption) || !errors.As(err, &e) || e.Kind != fault.ErrName {
		t.Errorf("error %v, want ErrName, a kind of ErrOption, as a *fault.Error", err)
	}
	if !errors.Is(fault.ErrNoModel, fault.ErrFolder) || !errors.Is(fault.ErrCorrupt, fault.ErrFormat) {
		t.Error("ErrNoModel is not an ErrFolder, or ErrCorrupt is not an ErrFormat")
	}
}
