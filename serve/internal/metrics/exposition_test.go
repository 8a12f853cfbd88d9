package metrics

import (
	"math"
	"sync"
	"testing"
)

// TestText: families come in the order of their names, series in that of their labels, and escapes,
// bounds and numbers are as Prometheus reads them.
func TestText(t *testing.T) {
	var r registry
	counter := r.add(&family{name: "b_total", help: "Of \"b\", a \\ and\na line.", kind: "counter", labels: []string{"model", "route"}})
	plain := r.add(&family{name: "a:plain", help: "Without labels.", kind: "counter"})
	r.add(&family{name: "never", help: "Without series.", kind: "counter", labels: []string{"x"}})
	times := r.add(&family{name: "c_seconds", help: "Times.", kind: "histogram", labels: []string{"route"}, bounds: []float64{0.001, 0.5, 1e9}})
	gauge := 1.0
	r.add(&family{name: "d", help: "Now.", kind: "gauge", labels: []string{"i"}, read: func(add func(float64, ...string)) {
		add(math.Inf(1), "y")
		add(gauge, "x")
		gauge = math.NaN()
	}})
	counter.Add(2, "z", "/")
	counter.Add(0.25, "a\"\\\n\xff", "/")
	counter.Add(0.25, "a\"\\\n\xfe", "/")
	counter.Add(1, "z", "/")
	for _, x := range []float64{0.0005, 0.001, 0.0011, 0.5, 2e9} {
		times.Observe(x, "/x")
	}
	plain.Add(1e21)
	const head = `# HELP a:plain Without labels.
# TYPE a:plain counter
a:plain 1e+21
# HELP b_total Of "b", a \\ and\na line.
# TYPE b_total counter
b_total{model="a\"\\\n` + "\uFFFD" + `",route="/"} 0.5
b_total{model="z",route="/"} 3
# HELP c_seconds Times.
# TYPE c_seconds histogram
c_seconds_bucket{route="/x",le="0.001"} 2
c_seconds_bucket{route="/x",le="0.5"} 4
c_seconds_bucket{route="/x",le="1e+09"} 4
c_seconds_bucket{route="/x",le="+Inf"} 5
c_seconds_sum{route="/x"} 2.0000000005026e+09
c_seconds_count{route="/x"} 5
# HELP d Now.
# TYPE d gauge
`
	for _, tail := range []string{"d{i=\"x\"} 1\nd{i=\"y\"} +Inf\n", "d{i=\"x\"} NaN\nd{i=\"y\"} +Inf\n"} {
		if got := string(r.Append(nil)); got != head+tail {
			t.Errorf("%s\nwant\n%s", got, head+tail)
		}
	}
}

// TestAtOnce: counts of several goroutines are all there, also while somebody reads.
func TestAtOnce(t *testing.T) {
	var r registry
	n := r.add(&family{name: "n", kind: "counter", labels: []string{"x"}})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				n.Add(1, "a")
			}
			r.Append(nil)
		})
	}
	all.Wait()
	if got, want := string(r.Append(nil)), "# HELP n \n# TYPE n counter\nn{x=\"a\"} 4000\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
