package text

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/avoformer/avoformer/kernels"
)

// statusMiB returns a field of /proc/self/status, such as VmHWM, in MiB.
func statusMiB(b *testing.B, field string) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + field + `:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		b.Fatalf("/proc/self/status has no %s", field)
	}
	kb, _ := strconv.Atoi(string(m[1]))
	return float64(kb) / 1024
}

// BenchmarkPeakMemory reports by how many MiB the process grows, at its peak, over the loaded model
// while one caller embeds 256 texts, twice. The number of threads is that of -cpu; run each case in
// a process of its own, since memory of the case before counts as loaded.
func BenchmarkPeakMemory(b *testing.B) {
	texts := repeat(256, func(i int) int { return 10 + i*i%110 })
	for _, c := range []struct {
		name        string
		dim, layers int
	}{{"MiniLM", 384, 6}, {"BERT-base", 768, 12}} {
		for _, weights := range []kernels.Format{kernels.FormatInt8, kernels.FormatF32} {
			b.Run(fmt.Sprintf("%s/%v", c.name, weights), func(b *testing.B) {
				e := meansOf(b, bert(b, c.dim, c.layers, weights), c.dim, runtime.GOMAXPROCS(0))
				debug.FreeOSMemory()
				// 5 resets VmHWM to what the process has now.
				if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
					b.Fatal(err)
				}
				loaded := statusMiB(b, "VmHWM")
				for b.Loop() {
					for range 2 {
						if _, err := e.Embed(context.Background(), Texts(texts...), EmbedOptions{}); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(loaded, "MiB-loaded")
				b.ReportMetric(statusMiB(b, "VmHWM")-loaded, "MiB-more")
			})
		}
	}
}
