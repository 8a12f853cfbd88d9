package modelfiles

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestDigest notices any byte of any MiB, and the length.
func TestDigest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	seen := map[string]string{}
	check := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		sum, err := digest(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := seen[sum]; ok {
			t.Errorf("%s has the digest of %s", what, before)
		}
		seen[sum] = what
	}
	data := make([]byte, 3<<20)
	check("zeros", data)
	for _, at := range []int{0, 1<<20 - 1, 1 << 20, 2<<20 + 12345, 3<<20 - 1} {
		data[at] ^= 1
		check(fmt.Sprintf("byte %d", at), data)
		data[at] ^= 1
	}
	for _, n := range []int{0, 1, 1 << 20, 1<<20 + 1, 3<<20 - 1} {
		check(fmt.Sprintf("%d bytes", n), data[:n])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := digest(ctx, path); err != context.Canceled {
		t.Errorf("%v, want an interrupt's error", err)
	}
}
