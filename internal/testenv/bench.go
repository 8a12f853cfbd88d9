package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"
)

// This file has helpers of benchmarks that compare numbers of threads.

// ThreadCounts returns 1, 2, 4 and so on up to GOMAXPROCS, which is the last number.
func ThreadCounts() (counts []int) {
	most := runtime.GOMAXPROCS(0)
	for n := 1; n < most; n *= 2 {
		counts = append(counts, n)
	}
	return append(counts, most)
}

// Samples collects measurements under the name of their unit.
type Samples map[string][]float64

// Add adds one measurement.
func (s Samples) Add(x float64, unit string, args ...any) {
	unit = fmt.Sprintf(unit, args...)
	s[unit] = append(s[unit], x)
}

// Time calls f and adds its time in milliseconds.
func (s Samples) Time(f func(), unit string, args ...any) {
	begin := time.Now()
	f()
	s.Add(1e3*time.Since(begin).Seconds(), unit, args...)
}

// Report reports the median of each unit.
func (s Samples) Report(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	for unit, x := range s {
		slices.Sort(x)
		b.ReportMetric((x[(len(x)-1)/2]+x[len(x)/2])/2, unit)
	}
}

// Profile calls f repeatedly for two seconds and writes a CPU profile to the folder in the
// environment variable PROFILES. The file's name consists of the benchmark's name and the given
// name. Without the variable, Profile does nothing.
func Profile(b *testing.B, name string, f func()) {
	folder := os.Getenv("PROFILES")
	if folder == "" {
		return
	}
	b.StopTimer()
	name = strings.NewReplacer("/", "-", "=", "").Replace(strings.TrimPrefix(b.Name(), "Benchmark") + name)
	file, err := os.Create(filepath.Join(folder, name+".pprof"))
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		b.Fatal(err)
	}
	for begin := time.Now(); time.Since(begin) < 2*time.Second; {
		f()
	}
	pprof.StopCPUProfile()
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
}

// PeakMemory returns the most memory, in MiB, that was resident in the process since the last call,
// or 0 if the system does not report it.
func PeakMemory() (mib float64) {
	text, _ := os.ReadFile("/proc/self/status")
	if _, line, ok := strings.Cut(string(text), "VmHWM:"); ok {
		_, _ = fmt.Sscan(line, &mib) // in KiB
	}
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak is the current size from here on
	return mib / 1024
}
