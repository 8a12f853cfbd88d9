package checkpoint

import (
	"sync/atomic"
	"testing"
)

// TestRunJobs runs each of many jobs once, and passes a panic on.
func TestRunJobs(t *testing.T) {
	const n = 200
	var runs [n]atomic.Int32
	jobs := make([]job, n)
	for i := range jobs {
		jobs[i] = job{size: i % 7, do: func(buf *jobBuffers) {
			runs[i].Add(1)
			if x := buf.floats(i); len(x) < i {
				t.Errorf("%d elements of scratch memory, want %d", len(x), i)
			}
		}}
	}
	runJobs(jobs)
	for i := range runs {
		if got := runs[i].Load(); got != 1 {
			t.Errorf("job %d ran %d times", i, got)
		}
	}
	runJobs(nil)

	jobs[n/2].do = func(*jobBuffers) { panic("job") }
	defer func() {
		if p := recover(); p != "job" {
			t.Errorf("panic %v, want that of the job", p)
		}
	}()
	runJobs(jobs)
}
