package gaps

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestDuring: a gap counts if a part of it is within the run, even if it ends after the run.
func TestDuring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(2)
		var texts sync.WaitGroup
		defer texts.Wait()
		texts.Go(func() {
			for range 8 { // at 0, 10 s, ...
				w.Token(0)
				time.Sleep(10 * time.Second)
			}
		})
		texts.Go(func() {
			time.Sleep(time.Second)
			for range 3 { // at 1 s, 31 s and 61 s
				w.Token(1)
				time.Sleep(30 * time.Second)
			}
		})
		time.Sleep(15 * time.Second)
		got := w.During(func() { time.Sleep(10 * time.Second) }) // from 15 s to 25 s
		slices.Sort(got)
		if want := []float64{10, 10, 30}; !slices.Equal(got, want) {
			t.Errorf("gaps of %v seconds, want %v", got, want)
		}
	})
}

// TestEnd: During does not wait for a text that has ended.
func TestEnd(t *testing.T) {
	w, ended := New(1), errors.New("ended")
	if !w.Token(0) || w.Token(0) {
		t.Error("want the first token and then another")
	}
	w.End(ended)
	if got := w.During(func() {}); len(got) > 1 || w.Err() != ended {
		t.Errorf("%v, error %v", got, w.Err())
	}
}
