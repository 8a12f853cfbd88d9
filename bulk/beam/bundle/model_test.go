package bundle

import (
	"errors"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/text"
)

// TestShared verifies that a model is opened once for any number of users, stays open during use
// and for some time after, and that opening is tried again after an error.
func TestShared(t *testing.T) {
	var mu sync.Mutex
	opened := map[string]int{}
	kind := Register("counting", Kind{Open: func(dir, _ string, _ text.Options) (bulk.Task, error) {
		mu.Lock()
		defer mu.Unlock()
		opened[dir]++
		if dir == "broken" {
			return bulk.Task{}, errors.New("broken")
		}
		return bulk.Task{Name: dir}, nil
	}})
	a, b, broken := spec{Kind: kind, Model: Model{Dir: "a"}}, spec{Kind: kind, Model: Model{Dir: "b"}}, spec{Kind: kind, Model: Model{Dir: "broken"}}
	var all sync.WaitGroup
	for range 20 {
		for _, s := range []spec{a, b} {
			all.Go(func() {
				if task, err := acquire(s); err != nil || task.Name != s.Model.Dir {
					t.Errorf("%q, %v", task.Name, err)
				}
			})
		}
	}
	all.Wait()
	for range 20 {
		release(a)
	}
	if _, err := acquire(a); err != nil {
		t.Error(err)
	}
	for range 2 {
		if _, err := acquire(broken); err == nil {
			t.Error("no error")
		}
	}
	if opened["a"] != 1 || opened["b"] != 1 || opened["broken"] != 2 {
		t.Errorf("opened: %v", opened)
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.tasks[a].users != 1 || shared.tasks[b].users != 20 || shared.tasks[broken] != nil {
		t.Errorf("%d and %d users", shared.tasks[a].users, shared.tasks[b].users)
	}
}
