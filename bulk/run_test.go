package bulk_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avoformer/avoformer/bulk"
)

// TestEnd: a run ends as soon as its last file is made, whichever of its workers has nothing left to do before.
func TestEnd(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in/a.txt"), []byte("short\n"))
	write(t, filepath.Join(dir, "in/b.txt"), []byte("slow\n"))
	const slow = 100 * time.Millisecond
	task := bulk.Task{Name: "none", Compute: func(_ context.Context, texts []string) ([]bulk.Result, error) {
		if strings.HasPrefix(texts[0], "slow") {
			time.Sleep(slow)
		}
		return make([]bulk.Result, len(texts)), nil
	}}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		report, err := bulk.Run(t.Context(), task, bulk.Options{Inputs: []string{filepath.Join(dir, "in")}, Out: filepath.Join(dir, "out"), Format: "jsonl"})
		if err != nil || report.Made != 2 || report.Written != 2 {
			t.Errorf("%+v, %v", report, err)
		}
		if took := time.Since(began); took != slow {
			t.Errorf("it took %v, want %v", took, slow)
		}
	})
}
