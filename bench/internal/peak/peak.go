// Package peak measures the limits of the machine: fused multiply-adds per second with every
// operand in a register, and bytes per second that are read from or copied in each level of memory.
package peak

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/avoformer/avoformer/bench/internal/workload"
	"github.com/avoformer/avoformer/kernels"
)

//go:generate go run ./gen

// loops are the measured loops of an instruction set.
type loops struct {
	fma        func(n int) // does n times lanes fused multiply-adds
	lanes      int
	read       func(x []float32) float32 // reads x, whose length is a multiple of 128
	copyFloats func(dst, src []float32)  // copies src, whose length is a multiple of 128
	int8       func(n int)               // does n times int8Lanes multiply-adds of int8; nil if they are not measured
	int8Lanes  int
}

// generic has loops in compiled Go, whose arithmetic is scalar.
var generic = loops{fma: fmaGeneric, lanes: 8, read: readGeneric, copyFloats: func(dst, src []float32) { copy(dst, src) }}

var sink float32

func fmaGeneric(n int) {
	var a, b, c, d, e, f, g, h float32
	x, y := sink, sink
	for range n {
		a += x * y
		b += x * y
		c += x * y
		d += x * y
		e += x * y
		f += x * y
		g += x * y
		h += x * y
		x, y = y, x
	}
	sink = (a + b + c + d + e + f + g + h) * 0
}

func readGeneric(x []float32) float32 {
	var a, b, c, d float32
	for i := 0; i+4 <= len(x); i += 4 {
		a, b, c, d = a+x[i], b+x[i+1], c+x[i+2], d+x[i+3]
	}
	return a + b + c + d
}

// A Level is a level of memory, and the size of a working set that is in it.
type Level struct {
	Name  string
	Bytes int
	each  bool // each thread has such a working set, since each core has a cache of its own; otherwise all threads share one
}

// Levels are the levels whose bandwidth is measured: the second-level cache of a core, a shared
// cache of usual size, and memory.
var Levels = []Level{{"256KiB", 256 << 10, true}, {"8MiB", 8 << 20, false}, {"memory", max(256<<20, 4*LastCache()), false}}

// LastCache returns the size of the last-level cache in bytes, or 0 if the system does not report
// it.
func LastCache() (bytes int) {
	text, _ := os.ReadFile("/sys/devices/system/cpu/cpu0/cache/index3/size")
	_, _ = fmt.Sscanf(string(text), "%dK", &bytes)
	return bytes << 10
}

// LevelOf returns the level of memory that a repeatedly used working set is in. cache is the size
// of the last-level cache in bytes. Only half of a large cache counts, since other processes may
// share it.
func LevelOf(bytes, cache int) Level {
	switch {
	case bytes <= 512<<10:
		return Levels[0]
	case bytes <= max(16<<20, cache/2):
		return Levels[1]
	}
	return Levels[2]
}

// Warmth returns where a case's operands are while it is repeated: "warm" in a core's own caches,
// "shared" in a cache that cores share, "cold" in memory.
func Warmth(bytes, cache int) string {
	return map[string]string{"256KiB": "warm", "8MiB": "shared", "memory": "cold"}[LevelOf(bytes, cache).Name]
}

// Machine holds the measurements for a number of threads.
type Machine struct {
	Threads int
	FMA     map[string]float64 // GFLOP/s by instruction set
	Read    map[string]float64 // GB/s by level
	Copy    map[string]float64 // GB/s by level, counting bytes read and bytes written
	Cache   int                `json:",omitempty"` // see LastCache
}

// BestFMA returns the highest figure of the instruction sets.
func (m Machine) BestFMA() float64 {
	best := 0.0
	for _, v := range m.FMA {
		best = max(best, v)
	}
	return best
}

// samples is the number of samples of which the median is taken.
const samples = 9

// Measure measures the machine. It takes about 60 ms per figure and sample, times scale.
func Measure(threads int, scale float64) Machine {
	m := Machine{threads, map[string]float64{}, map[string]float64{}, map[string]float64{}, LastCache()}
	each := time.Duration(float64(60*time.Millisecond) * scale)
	for _, isa := range kernels.Supported() {
		m.FMA[isa.String()] = FMA(isa, threads, each)
	}
	isa := bandwidthISA()
	for _, l := range Levels {
		m.Read[l.Name] = Bandwidth(isa, threads, l, false, each)
		m.Copy[l.Name] = Bandwidth(isa, threads, l, true, each)
	}
	return m
}

// bandwidthISA returns the narrowest vector tier, which is enough to saturate the paths to memory.
func bandwidthISA() kernels.ISA {
	s := kernels.Supported()
	return s[min(1, len(s)-1)]
}

// FMA returns GFLOP/s. An FMA counts as two operations.
func FMA(isa kernels.ISA, threads int, each time.Duration) float64 {
	l := loopsOf(isa)
	return multiplyAdds(l.fma, l.lanes, threads, each)
}

// Int8 returns the operations per second, in units of 10^9, of a tier's instructions that multiply
// and add int8. A multiply-add counts as two operations. It returns 0 if the tier has no such
// instructions.
func Int8(isa kernels.ISA, threads int, each time.Duration) float64 {
	l := loopsOf(isa)
	if l.int8 == nil {
		return 0
	}
	return multiplyAdds(l.int8, l.int8Lanes, threads, each)
}

// multiplyAdds returns the operations per second of a loop, in units of 10^9.
func multiplyAdds(loop func(n int), lanes, threads int, each time.Duration) float64 {
	const n = 100_000
	return medianOf(threads, each, func(int) func() float64 {
		return func() float64 {
			loop(n)
			return n * float64(lanes) * 2
		}
	}) * 1e-9
}

// Bandwidth returns GB/s of reading a working set, or of copying one half of it to the other.
func Bandwidth(isa kernels.ISA, threads int, level Level, copying bool, each time.Duration) float64 {
	l := loopsOf(isa)
	bytes := level.Bytes
	if !level.each {
		bytes /= threads
	}
	buffers := make([][]float32, threads)
	for i := range buffers {
		buffers[i] = make([]float32, bytes/4)
		for j := range buffers[i] {
			buffers[i][j] = 1 // allocates every page
		}
	}
	return medianOf(threads, each, func(thread int) func() float64 {
		x := buffers[thread]
		if copying {
			h := len(x) / 2
			return func() float64 {
				l.copyFloats(x[h:], x[:h])
				return float64(8 * h)
			}
		}
		return func() float64 {
			l.read(x)
			return float64(4 * len(x))
		}
	}) * 1e-9
}

// medianOf calls prepare(thread)'s function repeatedly on every thread, and returns the median
// amount per second of all threads together.
func medianOf(threads int, each time.Duration, prepare func(thread int) func() float64) float64 {
	rates := make([]float64, samples)
	for s := range rates {
		var wg, ready sync.WaitGroup
		ready.Add(threads)
		got := make([]float64, threads)
		for t := range threads {
			wg.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				f := prepare(t)
				ready.Done()
				ready.Wait()
				f()
				amount := 0.0
				start := time.Now()
				for time.Since(start) < each {
					amount += f()
				}
				got[t] = amount / time.Since(start).Seconds()
			})
		}
		wg.Wait()
		for _, g := range got {
			rates[s] += g
		}
	}
	slices.Sort(rates)
	return rates[samples/2]
}

// Raised returns the higher of each figure of two measurements of the machine: the median at the
// quieter time.
func (m Machine) Raised(other Machine) Machine {
	higher := func(a, b map[string]float64) map[string]float64 {
		c := map[string]float64{}
		maps.Copy(c, a)
		for k, v := range b {
			c[k] = max(c[k], v)
		}
		return c
	}
	return Machine{m.Threads, higher(m.FMA, other.FMA), higher(m.Read, other.Read), higher(m.Copy, other.Copy), max(m.Cache, other.Cache)}
}

// Of returns the limit for a case's rate. It is the FMA peak of a tier, or that of the best tier if
// isa is unknown or has no vectors; or it is the bandwidth of the level of memory that holds the
// case's working set.
func (m Machine) Of(c workload.Case, isa string) float64 {
	switch level := LevelOf(c.WorkingSet(), m.Cache).Name; c.Metric() {
	case workload.Copy:
		return m.Copy[level]
	case workload.Read:
		return m.Read[level]
	}
	if v, ok := m.FMA[isa]; ok && isa != kernels.Generic.String() {
		return v
	}
	return m.BestFMA()
}

// String returns a line for a report.
func (m Machine) String() string {
	s := fmt.Sprintf("%d thread(s):", m.Threads)
	for _, isa := range kernels.Supported() {
		s += fmt.Sprintf(" FMA %s %.1f GFLOP/s;", isa, m.FMA[isa.String()])
	}
	for _, l := range Levels {
		s += fmt.Sprintf(" %s read %.1f, copy %.1f GB/s;", l.Name, m.Read[l.Name], m.Copy[l.Name])
	}
	return s[:len(s)-1]
}
