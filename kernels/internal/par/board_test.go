package par

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patient makes workers look for work for longer than the other goroutines need to run.
func patient(t *testing.T) {
	patience.Store(int64(100 * time.Millisecond))
	t.Cleanup(func() { patience.Store(int64(spinTime)) })
}

// awake wakes all workers of a call of n goroutines.
func awake(t *testing.T, n int) {
	t.Helper()
	for start := time.Now(); time.Since(start) < 10*time.Second; {
		if looking(n - 1) {
			return
		}
		var begun sync.WaitGroup
		begun.Add(n)
		Run(n, n, each(func(int) { begun.Done(); begun.Wait() }))
		for wait := time.Now(); !looking(n-1) && time.Since(wait) < 20*time.Millisecond; {
			time.Sleep(time.Millisecond)
		}
	}
	t.Fatal("no call finds all workers awake")
}

// looking reports whether the first n workers look for work.
func looking(n int) bool {
	all := *workers.all.Load()
	for _, w := range all[:min(n, len(all))] {
		if w.mail.Load() != idle {
			return false
		}
	}
	return len(all) >= n
}

// onBoard runs task on n goroutines. The workers find it on the board.
func onBoard(t *testing.T, n, parts int, part func(i int)) {
	t.Helper()
	for range 1000 {
		var posted atomic.Bool
		awake(t, n)
		Run(n, parts, each(func(i int) {
			if workers.posted.Load() != nil {
				posted.Store(true)
			}
			part(i)
		}))
		if posted.Load() {
			return
		}
	}
	t.Fatal("no call posts its job on the board")
}

// TestBoard expects all workers of a team to take part in a job from the board.
func TestBoard(t *testing.T) {
	withProcs(t, 4)
	patient(t)
	t.Cleanup(Stop)
	var begun atomic.Int32
	onBoard(t, 4, 4, func(int) {
		begun.Add(1)
		for start := time.Now(); begun.Load()%4 != 0 && time.Since(start) < 10*time.Second; {
			runtime.Gosched()
		}
	})
	if n := begun.Load(); n%4 != 0 {
		t.Errorf("%d parts began together, want 4", n%4)
	}
	if workers.posted.Load() != nil {
		t.Error("the job is still on the board")
	}
}

// TestBoardCallerSleeps: the workers of a job from the board continue after their caller has
// stopped spinning and sleeps.
func TestBoardCallerSleeps(t *testing.T) {
	withProcs(t, 4)
	patient(t)
	t.Cleanup(Stop)
	for range 3 {
		var begun, done atomic.Int32
		onBoard(t, 4, 4, func(i int) {
			begun.Add(1)
			for start := time.Now(); begun.Load()%4 != 0 && time.Since(start) < 10*time.Second; {
				runtime.Gosched()
			}
			if i == 0 { // on the calling goroutine
				patience.Store(0)
			} else {
				time.Sleep(time.Duration(i) * 5 * time.Millisecond)
				patience.Store(int64(100 * time.Millisecond))
			}
			done.Add(1)
		})
		if got, want := done.Load(), begun.Load(); got != want {
			t.Fatalf("Run returned when %d of %d parts were done", got, want)
		}
	}
}

// TestBoardHandshake has workers look at the board all the time while a job comes and goes. The job
// is prepared without locks: a worker that enters it late reads memory that its caller writes.
func TestBoardHandshake(t *testing.T) {
	p := newPool()
	team := []*worker{{number: 0}, {number: 1}}
	p.setAll(team)
	var stop atomic.Bool
	var looking sync.WaitGroup
	for _, w := range team {
		w.mail.Store(idle)
		looking.Go(func() {
			for !stop.Load() {
				p.assist(w)
			}
		})
	}
	j := &job{done: make(chan struct{}, 1)}
	for round := range 20_000 {
		var ran atomic.Int32
		j.divide(6, 3)
		j.task = each(func(int) { ran.Add(1) })
		if !p.post(j, 2) {
			runtime.Gosched()
			continue
		}
		if round%2 == 0 {
			j.run(0)
		} else {
			j.empty() // like a call whose part panicked
		}
		p.clear(j)
		j.task = nil
		if n := ran.Load(); round%2 == 0 && n != 6 {
			t.Fatalf("round %d: %d parts of 6 ran", round, n)
		}
	}
	stop.Store(true)
	looking.Wait()
}

// TestBoardSeen: while a job is on the board, each worker of its team takes part in it once, and no
// other worker does.
func TestBoardSeen(t *testing.T) {
	p := newPool()
	all := []*worker{{number: 0}, {number: 1}, {number: 2}}
	p.setAll(all)
	for _, w := range all {
		w.mail.Store(idle)
	}
	j := &job{done: make(chan struct{}, 1), task: each(func(int) {})}
	for range 2 {
		j.divide(3, 3)
		if !p.post(j, 2) {
			t.Fatal("the board is not free")
		}
		for _, w := range all {
			if member := w.number < 2; p.calls(w) != member || p.assist(w) != member || p.calls(w) || p.assist(w) || w.mail.Load() != idle {
				t.Errorf("worker %d of a team of two takes part twice, or not as it is called", w.number)
			}
		}
		p.clear(j)
	}
}

// TestBoardEnds: parts of a job from the board end by a panic and by runtime.Goexit, on workers.
func TestBoardEnds(t *testing.T) {
	withProcs(t, 4)
	patient(t)
	t.Cleanup(Stop)
	for _, end := range []func(){func() { panic("a part") }, runtime.Goexit} {
		for range 5 {
			var caller sync.WaitGroup
			caller.Go(func() {
				defer func() { _ = recover() }()
				onBoard(t, 4, 4, func(i int) {
					if i > 0 {
						end()
					}
					time.Sleep(spinTime)
				})
			})
			caller.Wait()
			if workers.posted.Load() != nil {
				t.Fatal("the job is still on the board")
			}
		}
	}
	var ran atomic.Int32
	if Run(4, 16, each(func(int) { ran.Add(1) })); ran.Load() != 16 {
		t.Errorf("the next call did %d parts of 16", ran.Load())
	}
	awake(t, 4)
}

// TestBoardManyCallers has callers with several numbers of threads compete for the board, while
// workers end and start.
func TestBoardManyCallers(t *testing.T) {
	withProcs(t, 6)
	patient(t)
	t.Cleanup(Stop)
	var callers sync.WaitGroup
	for caller := range 4 {
		callers.Go(func() {
			for round := range 3000 {
				memory := make([]int, 2+(caller+round)%40) // written without locks: an extra or a late part is a race
				Run(2+(caller+round)%5, len(memory), each(func(i int) { memory[i]++ }))
				for i, n := range memory {
					if n != 1 {
						t.Errorf("caller %d, round %d: part %d ran %d times", caller, round, i, n)
						return
					}
				}
				if caller == 0 && round%500 == 499 {
					Stop()
				}
			}
		})
	}
	callers.Wait()
}

func TestBoardDoesNotAllocate(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(Stop)
	var c countTask
	if got := testing.AllocsPerRun(2000, func() { Run(4, 8, &c) }); got >= 1 {
		t.Errorf("%v allocations a call", got)
	}
}
