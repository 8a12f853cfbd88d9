package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	x := []float64{5, 1, 4, 2, 3}
	for q, want := range map[float64]float64{0: 1, 0.2: 1, 0.5: 3, 0.95: 5, 1: 5} {
		if got := quantile(x, q); got != want {
			t.Errorf("%g: %g, want %g", q, got, want)
		}
	}
	if !math.IsNaN(quantile(nil, 0.5)) {
		t.Error("a quantile of nothing")
	}
}

func testPlan() plan {
	return plan{kind: "embeddings", connections: 4, block: 300 * time.Millisecond, warm: 50 * time.Millisecond, shortest: 8, longest: 64, texts: 2, tokens: 4}
}

// TestLoops: the time that a server needs appears in times and rates. In an open loop the times
// include the wait for earlier requests.
func TestLoops(t *testing.T) {
	const takes = 10 * time.Millisecond
	var n, now, most atomic.Int64
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Input) != 2 || r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("%+v, %v", in, err)
		}
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		time.Sleep(takes)
		if n.Add(1)%5 == 0 {
			w.WriteHeader(429)
		}
	}))
	defer h.Close()
	target, err := parseTarget("ours=" + h.URL + ",key=k,pid=0")
	if err != nil {
		t.Fatal(err)
	}
	p := testPlan()
	r, err := p.measure(t.Context(), target, 1)
	if err != nil {
		t.Fatal(err)
	}
	answered := len(r.times)
	if p50 := r.time(0.5); p50 < 10 || p50 > 200 || answered > 120 || r.units != 2*answered || r.failed < answered/8 || r.failed > answered/2 || most.Load() > 4 {
		t.Errorf("closed: p50 %g ms, %d answered, %d failed, %d at a time", p50, answered, r.failed, most.Load())
	}
	p.connections, p.rate = 1, 1000 // ten times the rate that the server can reach
	if r, err = p.measure(t.Context(), target, 1); err != nil {
		t.Fatal(err)
	}
	if all := len(r.times) + r.failed; all < 200 || all > 400 || len(r.times) > 35 {
		t.Errorf("open: %d requests, %d answered", all, len(r.times))
	}
	if q := quantile(r.refusals, 0.5); len(r.refusals) == 0 || len(r.refusals) >= r.failed || q < 10 {
		t.Errorf("%d of %d failures are refusals, p50 %g ms", len(r.refusals), r.failed, q)
	}
	p.connections, p.rate = 64, 50
	if r, err = p.measure(t.Context(), target, 1); err != nil || len(r.times)+r.failed < 5 || len(r.times)+r.failed > 40 || r.time(0.5) < 10 {
		t.Errorf("open: %+v, %v", r, err)
	}
}

func TestChat(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), `"stream":true`) {
			t.Errorf("%s", body)
		}
		for range 3 {
			fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n")
		}
		w.(http.Flusher).Flush()
		time.Sleep(5 * time.Millisecond)
		fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"completion_tokens\":4}}\n\ndata: [DONE]\n\n")
	}))
	defer h.Close()
	p := testPlan()
	p.kind = "chat"
	r, err := p.measure(t.Context(), &target{name: "x", url: h.URL}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.units != 4*len(r.times) || r.failed != 0 || !(r.first(0.5) < r.time(0.5)-4) {
		t.Errorf("%d tokens of %d answers, %d failed, first after %g of %g ms", r.units, len(r.times), r.failed, r.first(0.5), r.time(0.5))
	}
}

// TestBodies: all servers receive the same bodies, each round has different ones, and all bodies
// are within the lengths.
func TestBodies(t *testing.T) {
	p := testPlan()
	a, again, next := p.bodies("m", 1), p.bodies("m", 1), p.bodies("m", 2)
	short := 0
	for i := range a {
		if string(a[i]) != string(again[i]) {
			t.Fatal("a round's requests differ")
		}
		var in struct{ Input []string }
		if err := json.Unmarshal(a[i], &in); err != nil {
			t.Fatal(err)
		}
		for _, text := range in.Input {
			n := len(strings.Fields(text))
			if n < 8 || n > 64 {
				t.Errorf("%d words", n)
			}
			if n < 23 { // the geometric mean
				short++
			}
		}
	}
	if string(a[0]) == string(next[0]) || short < 200 || short > 312 {
		t.Errorf("%d of 512 texts are shorter than the mean", short)
	}
}

func TestParse(t *testing.T) {
	for _, v := range []string{"", "x", "=http://a", "x=ftp", "x=http://a,pid=y", "x=http://a,z=1"} {
		if _, err := parseTarget(v); err == nil {
			t.Errorf("%q: no error", v)
		}
	}
	for _, change := range []func(p *plan){
		func(p *plan) { p.kind = "x" }, func(p *plan) { p.connections = 0 }, func(p *plan) { p.rate = math.NaN() }, func(p *plan) { p.longest = 7 }, func(p *plan) { p.block = 0 },
	} {
		p := testPlan()
		if change(&p); p.check() == nil {
			t.Errorf("%+v: no error", p)
		}
	}
	if got := memory(os.Getpid(), "VmRSS"); got < 0 {
		t.Error(got)
	}
}

// TestGaps checks the gaps of streams before a long prompt is sent and while it is read, and the
// times to its first token.
func TestGaps(t *testing.T) {
	const gap, slow, read = 5 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond
	var reading, streams atomic.Int64
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Most   int  `json:"max_tokens"`
			Ignore bool `json:"ignore_eos"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || !in.Ignore {
			t.Errorf("%+v, %v", in, err)
		}
		send := func() {
			io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n")
			w.(http.Flusher).Flush()
		}
		if in.Most == 1 {
			reading.Add(1)
			time.Sleep(read)
			if streams.Load() > 0 {
				time.Sleep(2 * read)
			}
			send()
			reading.Add(-1)
			return
		}
		streams.Add(1)
		defer streams.Add(-1)
		for r.Context().Err() == nil {
			time.Sleep(gap)
			if reading.Load() > 0 {
				time.Sleep(slow - gap)
			}
			send()
		}
	}))
	defer h.Close()
	p := testPlan()
	p.kind = "gaps"
	r, err := p.measureGaps(t.Context(), &target{name: "x", url: h.URL}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if calm, beside := quantile(r.calm, 0.5), quantile(r.beside, 0.5); calm < 0.005 || beside < 0.02 || calm > beside {
		t.Errorf("gaps of %g s, %g s beside the prompt", calm, beside)
	}
	if r.alone < 0.06 || r.loaded < 0.18 || r.alone > r.loaded {
		t.Errorf("first tokens after %g s, %g s beside streams", r.alone, r.loaded)
	}
	refuses := httptest.NewServer(http.NotFoundHandler())
	defer refuses.Close()
	if _, err := p.measureGaps(t.Context(), &target{name: "x", url: refuses.URL}, 1); err == nil {
		t.Error("a server that refuses is not an error")
	}
}
