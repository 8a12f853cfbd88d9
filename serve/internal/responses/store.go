// Responses that are kept for requests that continue from them.

package responses

import (
	"container/list"
	"sync"

	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/text"
)

// store keeps responses in bounded memory. The one that has been unused for the longest time goes
// first.
type store struct {
	most int64 // bytes

	mu    sync.Mutex
	used  int64
	byUse *list.List // of *kept, the last used in front
	byID  map[string]*list.Element
}

// kept is a response that never changes. Any goroutine may read it.
type kept struct {
	id       string
	messages []text.Message // of the whole conversation, without instructions
	body     []byte
	bytes    int64
}

func newStore(most int64) *store {
	return &store{most: most, byUse: list.New(), byID: map[string]*list.Element{}}
}

// overhead is at least the memory of a message, or of a call, without its texts.
const overhead = 256

// size returns the bytes that a response takes at most: texts that it shares with an earlier one
// count for both.
func (k *kept) size() int64 {
	n := overhead + len(k.id) + cap(k.body)
	for _, m := range k.messages {
		n += overhead + len(m.Role) + chat.ContentBytes(&m) + len(m.Reasoning) + len(m.ToolCallID)
		for _, call := range m.ToolCalls {
			n += overhead + len(call.ID) + len(call.Name) + len(call.Arguments)
		}
	}
	return int64(n)
}

// put keeps a response, unless it takes more than the whole store.
func (s *store) put(k *kept) {
	k.bytes = k.size()
	if k.bytes > s.most {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.used+k.bytes > s.most {
		s.drop(s.byUse.Back())
	}
	s.byID[k.id] = s.byUse.PushFront(k)
	s.used += k.bytes
}

// drop forgets a response.
func (s *store) drop(e *list.Element) {
	k := s.byUse.Remove(e).(*kept)
	delete(s.byID, k.id)
	s.used -= k.bytes
}

// get returns a response, nil if it is not kept.
func (s *store) get(id string) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.byID[id]
	if !ok {
		return nil
	}
	s.byUse.MoveToFront(e)
	return e.Value.(*kept)
}

// delete forgets a response, and reports whether it was kept.
func (s *store) delete(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.byID[id]
	if ok {
		s.drop(e)
	}
	return ok
}
