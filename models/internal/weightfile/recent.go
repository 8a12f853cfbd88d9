package weightfile

import (
	"slices"
	"sync"
)

// recent is what was read of the tensors that are read now, of which rows are not stored side by
// side. All pieces of a tensor are read one after the other, by several threads.
type recent struct {
	mu sync.Mutex
	of []recentTensor
}

type recentTensor struct {
	of   any // a pointer that is the tensor's own
	load func() (any, error)
}

// load returns what read returns, which it calls if that is not there.
func (r *recent) load(of any, read func() (any, error)) (any, error) {
	const most = 8
	r.mu.Lock()
	at := slices.IndexFunc(r.of, func(r recentTensor) bool { return r.of == of })
	if at < 0 {
		r.of = append(r.of, recentTensor{of, sync.OnceValues(read)})
		if len(r.of) > most {
			r.of = slices.Delete(r.of, 0, 1)
		}
		at = len(r.of) - 1
	}
	load := r.of[at].load
	r.mu.Unlock()
	return load()
}

// forget drops what was read.
func (r *recent) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of = nil
}
