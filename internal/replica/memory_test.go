package replica

import (
	"math"
	"testing"
)

// TestCache: keys and values may fill the memory that is left, in equal parts. The limit is never
// 0, which would mean no limit.
func TestCache(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		memory, taken int64
		n             int
		most, kept    int64
	}{
		{0, 5, 1, 0, 1 << 30}, {1000 * mb, 100 * mb, 1, 760 * mb, 760 * mb}, {1000 * mb, 100 * mb, 2, 380 * mb, 380 * mb},
		{1000 * mb, 860 * mb, 1, 1, 1}, {1000 * mb, 2000 * mb, 1, 1, 1}, {10000 * mb, 0, 1, 8960 * mb, 1024 * mb}, {10 * mb, 0, 1, 1, 1},
	} {
		if most, kept := Cache(c.memory, c.taken, c.n); most != c.most || kept != c.kept {
			t.Errorf("%+v: %d, %d", c, most, kept)
		}
	}
}

// TestBatchTokensWithin: batches get smaller until they fit, and no smaller than necessary.
func TestBatchTokensWithin(t *testing.T) {
	for _, c := range []struct {
		bytes        int64
		dim, threads int
		want         int
	}{{math.MaxInt64, 384, 2, 2048}, {Workspaces(1024, 4, 256), 1024, 4, 1024}, {Workspaces(1024, 4, 256) - 1, 1024, 4, 128}, {Workspaces(1024, 1, 256), 1024, 1, 256}, {0, 1024, 4, leastBatch}} {
		if got := BatchTokensWithin(c.bytes, c.dim, c.threads); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
