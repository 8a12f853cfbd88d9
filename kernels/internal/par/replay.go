package par

import (
	"time"

	"github.com/avoformer/avoformer/internal/meetings"
)

// replay does all parts on the calling goroutine: share by share, each in the blocks that its goroutine takes as long as no other one takes
// parts of it. What a goroutine keeps from block to block is then there.
func replay(r *meetings.Replayer, threads, n int, task Task) {
	began := r.Clock()
	var j job
	j.divide(n, threads)
	busy := make([]time.Duration, threads)
	for i := range busy {
		start, share := r.Clock(), &j.shares[i]
		for from, to := share.take(false); from < to; from, to = share.take(false) {
			task.Do(from, to)
		}
		busy[i] = r.Clock() - start
	}
	r.Report(began, busy)
}
