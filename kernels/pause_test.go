package kernels

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Assembly cannot be preempted, so the garbage collector waits for a call to end before it stops
// the world, and every goroutine waits with it (golang/go#64417).

// TestPauses keeps all Ps in the kernels and collects garbage repeatedly. On a quiet machine 99 of
// 100 stops of the world take at most a millisecond. It fails if a quarter of them take longer in
// each of several quiet moments: a call that is too long lengthens most of them, what else runs on
// the host a few.
func TestPauses(t *testing.T) {
	if testing.Short() || testenv.Emulated() {
		t.Skip("measures time")
	}
	const n = 1024
	a, b := make([]float32, n*n), make([]float32, n*n)
	long := make([]float32, 1<<24)
	for i := range long {
		long[i] = float32(i&1 + 1) // memory that was never written is a single page, which the caches hold
	}
	elements := func(n int, f func(x []float32)) func() func() {
		return func() func() {
			x := make([]float32, n)
			return func() { f(x) }
		}
	}
	attention := func(p AttentionParams) func() func() {
		dim := max(p.ValueDim, p.HeadDim)
		return elements(p.Batch*p.Heads*p.LenQ*dim, func(x []float32) {
			p := p
			p.Dst, p.Q = x, long[:p.Heads*p.LenQ*p.HeadDim]
			p.K, p.V = long, long
			Attention(p)
		})
	}
	eachISA(t, func(t *testing.T) {
		if Active() == Generic {
			t.Skip("Go code is preemptible")
		}
		packed := PackB(Trans, n, n, b, n)
		packedLong := PackB(Trans, 87, 1<<17, long, 1<<17)
		row := func(j int, dst []float32) { copy(dst, long[j:]) }
		int8, int8Long := PackBRows(FormatInt8, n, n, row), PackBRows(FormatInt8, 40, 1<<20, row)
		blocks, sixBits := PackBRows(FormatQ8_0, n, n, row), PackBRows(FormatQ6_K, n, n, row)
		loads := []struct {
			name string
			call func() func()
		}{
			{"gemm", elements(n*n, func(c []float32) { Gemm(NoTrans, Trans, n, n, n, 1, a, n, b, n, 0, c, n) })},
			{"packed gemm", elements(n*n, func(c []float32) {
				GemmPacked(n, 1, a, n, packed, 0, c, n, Epilogue{Activation: ActGELU})
			})},
			{"gemm with blocks", elements(n*n, func(c []float32) {
				GemmPacked(n, 1, a, n, blocks, 0, c, n, Epilogue{})
				GemmPacked(n, 1, a, n, sixBits, 0, c, n, Epilogue{})
			})},
			{"int8 gemm", elements(n*n, func(c []float32) {
				GemmPacked(n, 1, a, n, int8, 0, c, n, Epilogue{Activation: ActGELU})
			})},
			{"batched gemm", elements(n*n, func(c []float32) {
				GemmBatched(GemmBatchedParams{Batch: n, M: 32, N: 32, K: 32, Alpha: 1, A: a, LdA: 32, StrideA: n, B: b, LdB: 32, StrideB: n, C: c, LdC: 32, StrideC: n})
			})},
			{"gelu", elements(1<<20, func(x []float32) { GELU(x, x) })},
			{"layernorm", elements(1<<20, func(x []float32) { LayerNorm(x, x, 1<<10, 1<<10, nil, nil, 1e-5) })},
			{"attention", attention(AttentionParams{Batch: 1, Heads: 8, LenQ: n, LenK: n, HeadDim: 64})},
			{"decoding", attention(AttentionParams{Batch: 1, Heads: 8, KVHeads: 2, LenQ: 1, LenK: 1 << 16, HeadDim: 64})},

			// Work that could be one call of the assembly of 10 ms or more.
			{"softmax of a long row", elements(1<<25, func(x []float32) { Softmax(x, x, 1, len(x)) })},
			{"log-softmax of a long row", elements(1<<24, func(x []float32) { LogSoftmax(x, x, 1, len(x)) })},
			{"layernorm of a long row", elements(1<<24, func(x []float32) { LayerNorm(x, x, 1, len(x), long, long, 1e-5) })},
			{"rmsnorm of a long row", elements(1<<24, func(x []float32) { RMSNorm(x, x, 1, len(x), long, 1e-5) })},
			{"exp of a long row", elements(1<<24, func(x []float32) { Exp(x, x) })},
			{"gemm of long rows", elements(36, func(c []float32) {
				Gemm(NoTrans, NoTrans, 6, 6, 1<<20, 1, long, 1<<20, long, 6, 0, c, 6)
			})},
			{"gemm of long rows, transposed", elements(36, func(c []float32) {
				Gemm(NoTrans, Trans, 6, 6, 1<<20, 1, long, 1<<20, long, 1<<20, 0, c, 6)
			})},
			{"int8 gemm of long rows", elements(12*40, func(c []float32) {
				GemmPacked(12, 1, long, 1<<20, int8Long, 0, c, 40, Epilogue{})
			})},
			{"packed gemm of long rows", elements(48*87, func(c []float32) {
				GemmPacked(48, 1, long, 1<<17, packedLong, 0, c, 87, Epilogue{Activation: ActReLU})
			})},
			{"packing of long columns", func() func() { // into the same memory: the system may stop a thread that asks for more
				p := PackB(Trans, 7, 1<<21, long, 1<<21)
				return func() { p.matrix.Pack(&pack.B{Data: long, LD: 1 << 21, Trans: true}) }
			}},
			{"one row by a matrix", elements(n, func(c []float32) { Gemm(NoTrans, NoTrans, 1, n, 1<<14, 1, long, 1<<14, long, n, 0, c, n) })},
			{"one row by a transposed matrix", elements(1<<14, func(c []float32) {
				Gemm(NoTrans, Trans, 1, 1<<14, n, 1, long, n, long, n, 0, c, 1<<14)
			})},
			{"one long row by a transposed matrix", elements(1<<8, func(c []float32) {
				Gemm(NoTrans, Trans, 1, 1<<8, 1<<16, 1, long, 1<<16, long, 1<<16, 0, c, 1<<8)
			})},
			{"one row by a packed matrix", elements(87, func(c []float32) {
				GemmPacked(1, 1, long, 1<<17, packedLong, 0, c, 87, Epilogue{})
			})},
			{"attention with wide heads", attention(AttentionParams{Batch: 1, Heads: 1, LenQ: 32, LenK: 32, HeadDim: 1 << 18})},
			{"decoding with wide heads", attention(AttentionParams{Batch: 1, Heads: 1, LenQ: 1, LenK: 256, HeadDim: 1 << 16})},
			{"attention with wide values", attention(AttentionParams{Batch: 1, Heads: 1, LenQ: 64, LenK: 64, HeadDim: 8, ValueDim: 1 << 17})},
		}
		for _, l := range loads {
			t.Run(l.name, func(t *testing.T) {
				if p75 := shortestPauses(t, l.call); p75 > pauseLimit {
					t.Errorf("a quarter of the pauses take over %v, want at most %v", p75, pauseLimit)
				}
			})
		}
	})
}

// pauseLimit is a millisecond, rounded to the end of a bucket of the runtime's histogram.
const pauseLimit = 1 << 20 * time.Nanosecond

// shortestPauses returns pauseLimit if 99 of 100 pauses are that short once, otherwise the least
// 75th percentile of several quiet moments. It skips the test if there are too few. If other
// programs or other virtual machines use the processors, a thread sometimes waits for one, and the
// kernels do not cause the pause.
func shortestPauses(t *testing.T, load func() func()) time.Duration {
	quiet, shortest := 0, time.Duration(math.MaxInt64)
	for range 8 {
		ran, waited, known := threadTimes()
		stolen := stolenTime()
		seen := pauses(load)
		if percentile(seen, 99) <= pauseLimit {
			return pauseLimit
		}
		ranNow, waitedNow, _ := threadTimes()
		served := !known || (waitedNow-waited)*10 <= ranNow-ran // waits a twentieth of the time by itself, and half if other programs compute
		served = served && stolenTime()-stolen <= 1
		if served && percentile(pauses(spinning), 99) <= pauseLimit { // virtual machines whose host does not report what it takes
			quiet++
			shortest = min(shortest, percentile(seen, 75))
		}
		if quiet == 3 {
			return shortest
		}
	}
	t.Skip("the machine is too busy to measure")
	return 0
}

// stolenTime returns how long other virtual machines have had this one's processors, in the
// hundredths of a second that Linux counts, or 0 where no system reports it.
func stolenTime() int64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	var user, nice, system, idle, wait, irq, softIRQ, steal int64
	if _, err := fmt.Sscanf(string(text), "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq, &softIRQ, &steal); err != nil {
		return 0
	}
	return steal
}

// threadTimes returns how long the program's threads have run, and waited for a processor, in
// nanoseconds, if the system reports it.
func threadTimes() (ran, waited int64, known bool) {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, file := range files {
		text, err := os.ReadFile(file)
		var r, w int64
		if _, scan := fmt.Sscan(string(text), &r, &w); err == nil && scan == nil {
			ran, waited, known = ran+r, waited+w, true
		}
	}
	return ran, waited, known
}

// spinning returns a load that can be preempted anywhere.
func spinning() func() {
	x := 1.0
	return func() {
		for range 1 << 20 {
			x += x * 1e-9
		}
	}
}

// TestPausesAreSeen shows that the measurement detects a kernel call that is too long: a call over
// 1<<24 elements, which the package's functions would cut.
func TestPausesAreSeen(t *testing.T) {
	if testing.Short() || testenv.Emulated() || Active() == Generic {
		t.Skip("measures time, of assembly")
	}
	x := make([]float32, 1<<24)
	var p75 time.Duration
	for range 8 { // on a busy machine the calls may run while nothing waits for them
		p75 = percentile(pauses(func() func() { return func() { simd.ExpVec(simd.Active(), x, x) } }), 75)
		if p75 > pauseLimit {
			return
		}
	}
	t.Errorf("three of four pauses are at most %v with calls of several milliseconds", p75)
}

// pauses runs a call made by load on each P, repeatedly, with a collection every 2 ms for 0.3 s
// after the first ones, whose memory is not yet mapped, and returns the pauses.
func pauses(load func() func()) metrics.Float64Histogram {
	var stop atomic.Bool
	var warm, wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		call := load()
		warm.Add(1)
		wg.Go(func() {
			call()
			warm.Done()
			for !stop.Load() {
				call()
			}
		})
	}
	warm.Wait()
	before := pauseHistogram()
	for begin := time.Now(); time.Since(begin) < 300*time.Millisecond; time.Sleep(2 * time.Millisecond) {
		runtime.GC()
	}
	after := pauseHistogram()
	stop.Store(true)
	wg.Wait()

	for i := range after.Counts {
		after.Counts[i] -= before.Counts[i]
	}
	return after
}

// percentile returns a duration that so many percent of the pauses do not exceed.
func percentile(pauses metrics.Float64Histogram, percent uint64) time.Duration {
	total := uint64(0)
	for _, n := range pauses.Counts {
		total += n
	}
	for i, seen := len(pauses.Counts)-1, uint64(0); i >= 0; i-- {
		if seen += pauses.Counts[i]; seen > total*(100-percent)/100 {
			if upper := pauses.Buckets[i+1]; !math.IsInf(upper, 1) {
				return time.Duration(upper * float64(time.Second))
			}
			return time.Duration(math.MaxInt64)
		}
	}
	return 0
}

// pauseHistogram returns a copy of the durations of all stops of the world so far.
func pauseHistogram() metrics.Float64Histogram {
	s := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(s)
	h := s[0].Value.Float64Histogram()
	return metrics.Float64Histogram{Counts: append([]uint64(nil), h.Counts...), Buckets: append([]float64(nil), h.Buckets...)}
}
