package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avoformer/avoformer/models"
)

// TestEach has items of several calls computed on two replicas, and expects each item once, and no
// more threads of a replica than it has.
func TestEach(t *testing.T) {
	q := &Queue{Replicas: []*Replica{{Threads: 2}, {Threads: 1}}}
	var calls sync.WaitGroup
	for range 3 {
		calls.Go(func() {
			done := make([]atomic.Int32, 40)
			if at, err := q.Each(t.Context(), len(done), func(ws *models.Workspace, i int) error {
				for n, w := range q.Work() {
					if w.Busy > q.Replicas[n].Threads {
						t.Errorf("replica %d has %d threads busy", n, w.Busy)
					}
				}
				if ws.Threads < 1 || ws.Threads > 2 {
					t.Errorf("an item on %d threads", ws.Threads)
				}
				done[i].Add(1)
				return nil
			}); err != nil || at != 0 {
				t.Error(at, err)
			}
			for i := range done {
				if n := done[i].Load(); n != 1 {
					t.Errorf("item %d was computed %d times", i, n)
				}
			}
		})
	}
	calls.Wait()
	total := uint64(0)
	for _, w := range q.Work() {
		total += w.Batches
	}
	if l := q.Load(); total != 120 || l.Threads != 0 || len(q.items) != 0 {
		t.Errorf("%d items, want 120; %+v", total, l)
	}
}

// TestEachThreads counts the threads of the first items: if there are as many items as threads they
// have one each, and those in excess go first, on several threads.
func TestEachThreads(t *testing.T) { synctest.Test(t, eachThreads) }

func eachThreads(t *testing.T) {
	for _, c := range []struct {
		replicas, items int // of two threads
		want            []int
	}{{1, 1, []int{2}}, {1, 2, []int{1, 1}}, {1, 3, []int{2}}, {1, 9, []int{1, 1}}, {2, 1, []int{2}}, {2, 2, []int{2, 2}}, {2, 3, []int{2, 1, 1}}, {2, 4, []int{1, 1, 1, 1}}} {
		q := &Queue{}
		for range c.replicas {
			q.Replicas = append(q.Replicas, &Replica{Threads: 2})
		}
		begun, leave := make(chan int), make(chan bool)
		var call sync.WaitGroup
		call.Go(func() {
			if _, err := q.Each(t.Context(), c.items, func(ws *models.Workspace, i int) error {
				begun <- int(ws.Threads)
				<-leave
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
		var got []int
		for beginning := true; beginning; {
			synctest.Wait()
			select {
			case n := <-begun:
				got = append(got, n)
			default:
				beginning = false
			}
		}
		close(leave)
		for range c.items - len(got) {
			<-begun
		}
		call.Wait()
		slices.Sort(got)
		slices.Reverse(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%d items on %d threads begin on %v, want %v", c.items, 2*c.replicas, got, c.want)
		}
	}
}

// TestEachFails has items fail: the error of the first one counts, whichever ends first, and later
// items do not begin.
func TestEachFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &Queue{Replicas: []*Replica{{Threads: 3}}}
		all := make(chan bool)
		var begun atomic.Int32
		at, err := q.Each(t.Context(), 100, func(_ *models.Workspace, i int) error {
			if begun.Add(1) == 3 {
				close(all)
			}
			<-all
			time.Sleep(time.Duration(3-i) * time.Second) // the first one ends last
			return fmt.Errorf("item %d", i)
		})
		if at != 0 || err == nil || err.Error() != "item 0" || begun.Load() != 3 {
			t.Errorf("%d, %v, %d items", at, err, begun.Load())
		}
		func() {
			defer func() {
				if v := recover(); v != "broken" {
					t.Errorf("panic %v", v)
				}
			}()
			_, _ = q.Each(t.Context(), 5, func(*models.Workspace, int) error { panic("broken") })
		}()
		if at, err := q.Each(t.Context(), 0, nil); at != 0 || err != nil {
			t.Error(at, err)
		}
		if l := q.Load(); l != (Load{}) {
			t.Errorf("%+v", l)
		}
	})
}

// TestEachCancelled cancels a call: no further item begins, and the call returns when no item runs.
func TestEachCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &Queue{Replicas: []*Replica{{Threads: 1}}}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("why")
		var begun, ended int
		at, err := q.Each(ctx, 10, func(*models.Workspace, int) error {
			begun++
			if begun == 2 {
				cancel(why)
				time.Sleep(time.Second) // every other goroutine waits
			}
			ended++
			return nil
		})
		if !errors.Is(err, why) || at != 2 || begun != 2 || ended != 2 {
			t.Errorf("%d, %v; %d begun, %d ended", at, err, begun, ended)
		}
		if _, err := q.Each(ctx, 1, nil); !errors.Is(err, why) {
			t.Error(err)
		}
		if l := q.Load(); l != (Load{}) || len(q.items) != 0 {
			t.Errorf("%+v", l)
		}
	})
}
