package chat

import (
	"testing"

	"github.com/avoformer/avoformer/serve/internal/engine"
)

// TestPanics: a panic in one of several texts ends the request, and not the process.
func TestPanics(t *testing.T) {
	ctx := engine.WithRecord(t.Context(), new(engine.Record))
	var all []error
	for _, err := range Run(ctx, nil, make([]Job, 3)) { // there is no generator
		all = append(all, err)
	}
	if len(all) != 1 || engine.AsError(all[0]).Kind != engine.Internal {
		t.Errorf("%v, want one internal error", all)
	}
}
