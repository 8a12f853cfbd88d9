package par

import (
	"time"

	"github.com/avoformer/avoformer/internal/meetings"
)

// replay does all parts on the calling goroutine, share by share. It takes the same blocks of a
// share as the share's own goroutine takes if no other goroutine takes parts of it, so that data
// that is kept from block to block is found again.
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
