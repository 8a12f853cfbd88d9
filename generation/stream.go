package generation

import (
	"context"
	"sync"
)

// stream carries the tokens of a text from the loop to its caller, however slow the caller is.
type stream struct {
	mu     sync.Mutex
	ready  []Next
	taken  []Next // what the caller is at
	gone   bool
	notify chan struct{} // of one
}

// send adds the next token or the end.
func (s *stream) send(n Next) {
	s.mu.Lock()
	s.ready = append(s.ready, n)
	s.mu.Unlock()
	select {
	case s.notify <- struct{}{}:
	default:
	}
}

// wait returns what was sent since the last call. It blocks until there is something, or ctx is
// cancelled.
func (s *stream) wait(ctx context.Context) []Next {
	for {
		s.mu.Lock()
		s.taken, s.ready = s.ready, s.taken[:0]
		s.mu.Unlock()
		if len(s.taken) > 0 {
			return s.taken
		}
		select {
		case <-s.notify:
		case <-ctx.Done():
			return nil
		}
	}
}

// leave notes that the caller wants no more.
func (s *stream) leave() {
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
}

// left reports whether the caller wants no more.
func (s *stream) left() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}
