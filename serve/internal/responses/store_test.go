package responses

import (
	"fmt"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/text"
)

// TestStore: the kept responses are bounded in bytes, and the least recently used one goes first.
func TestStore(t *testing.T) {
	one := func(id int, n int) *kept {
		return &kept{id: fmt.Sprint(id), messages: []text.Message{{Role: "user", Content: strings.Repeat("a", n)}}, body: make([]byte, 10)}
	}
	shown := &kept{messages: []text.Message{{Role: "user"}}}
	chat.AddImage(&shown.messages[0], make([]byte, 1000))
	if empty := (&kept{messages: []text.Message{{Role: "user"}}}).size(); shown.size() < empty+1000 {
		t.Errorf("a response with an image of 1000 bytes takes %d bytes, one without %d", shown.size(), empty)
	}
	room := 3 * one(0, 1000).size()
	s := newStore(room)
	for id := range 3 {
		s.put(one(id, 1000))
	}
	if s.get("0") == nil { // is used now
		t.Fatal("0 is not kept")
	}
	s.put(one(3, 1000))
	for id, want := range []bool{true, false, true, true} {
		if got := s.get(fmt.Sprint(id)) != nil; got != want {
			t.Errorf("response %d is kept: %v", id, got)
		}
	}
	s.put(one(4, int(room)))
	if s.get("4") != nil || s.used != room || s.byUse.Len() != 3 {
		t.Errorf("%d responses of %d bytes, want 3 of %d", s.byUse.Len(), s.used, room)
	}
	for id := range 5 {
		s.delete(fmt.Sprint(id))
	}
	if s.used != 0 || len(s.byID) != 0 || s.byUse.Len() != 0 || s.delete("0") {
		t.Errorf("%d responses of %d bytes after all are deleted", s.byUse.Len(), s.used)
	}
}
