package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avoformer/avoformer/text"
)

var soakFor = flag.Duration("soak", 2*time.Second, "how long TestSoak asks; make soak asks for 30 minutes")

// soak asks a server in all ways, right and wrong.
type soak struct {
	addr    string
	client  *http.Client
	bodies  []soakCase
	answers []any // the right answer to each of bodies
	asked   atomic.Int64
	checked atomic.Int64 // answers that were compared with the right one
}

// soakCase is a request that has one answer.
type soakCase struct{ path, body string }

func newSoak(addr string) *soak {
	s := &soak{addr: addr, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	for i := range 16 {
		words := strings.TrimSpace(strings.Repeat("the cat reads ", 1+i*i%9))
		for path, v := range map[string]any{
			"/v1/embeddings":       map[string]any{"model": "embed", "input": []string{words, "Paris."}},
			"/embed":               map[string]any{"inputs": words},
			"/rerank":              map[string]any{"query": "what?", "texts": []string{words, "hello world"}},
			"/predict":             map[string]any{"inputs": words},
			"/tokenize":            map[string]any{"inputs": words},
			"/similarity":          map[string]any{"inputs": map[string]any{"source_sentence": words, "sentences": []string{"Paris."}}},
			"/v1/completions":      map[string]any{"model": "generate", "prompt": words, "max_tokens": 1 + i%5, "temperature": 0},
			"/v1/chat/completions": map[string]any{"model": "generate", "messages": []any{map[string]string{"role": "user", "content": words}}, "max_tokens": 3, "temperature": 0},
		} {
			body, err := json.Marshal(v)
			if err != nil {
				panic(err) // strings and numbers always become JSON
			}
			s.bodies = append(s.bodies, soakCase{path, string(body)})
		}
	}
	return s
}

// step does one thing to the server, mostly a request that it answers. It returns what is wrong
// with the answer.
func (s *soak) step(r *rand.Rand) error {
	s.asked.Add(1)
	i := r.IntN(len(s.bodies))
	c := s.bodies[i]
	switch r.IntN(20) {
	case 0: // garbage as a body
		return s.refused(c.path, strings.Repeat("{[\x00\xff", r.IntN(100)))
	case 1: // half a body, and gone
		return s.raw(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", c.path, len(c.body), c.body[:len(c.body)/2]), 0)
	case 2: // garbage as a request
		return s.raw(strings.Repeat("\x16\x03\r\n", 1+r.IntN(100)), 1)
	case 3: // gone before the answer
		return s.vanish(c, time.Duration(r.IntN(2000))*time.Microsecond)
	case 4: // gone in a stream
		return s.stream(false)
	case 5: // read slowly
		return s.stream(true)
	case 6: // a body that is claimed to be large
		return s.raw("POST "+c.path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n{", 1)
	}
	return s.right(i)
}

func (s *soak) post(ctx context.Context, c soakCase) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+s.addr+c.path, strings.NewReader(c.body))
	if err != nil {
		return 0, nil, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// right has a request answered as when nothing else was asked. Vectors and scores may differ in
// their last digits, by the batch.
func (s *soak) right(i int) error {
	value, err := s.ask(i)
	if err != nil {
		return err
	}
	s.checked.Add(1)
	if !alike("", s.answers[i], value) {
		return fmt.Errorf("%+v: %v, want %v", s.bodies[i], value, s.answers[i])
	}
	return nil
}

// ask returns the answer to a request that has one.
func (s *soak) ask(i int) (value any, err error) {
	status, answer, err := s.post(context.Background(), s.bodies[i])
	if err != nil || status != 200 {
		return nil, fmt.Errorf("%+v: status %d, %v: %.200s", s.bodies[i], status, err, answer)
	}
	if err := json.Unmarshal(answer, &value); err != nil {
		return nil, fmt.Errorf("%+v: %w", s.bodies[i], err)
	}
	return value, nil
}

// learn asks for the right answers, one after the other, and compares vectors with those of the
// pipeline.
func (s *soak) learn(t *testing.T) {
	t.Helper()
	e, err := text.OpenEmbedder(testdata+"embed", text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range s.bodies {
		value, err := s.ask(i)
		if err != nil {
			t.Fatal(err)
		}
		s.answers = append(s.answers, value)
		if c.path != "/embed" {
			continue
		}
		var in struct{ Inputs string }
		if err := json.Unmarshal([]byte(c.body), &in); err != nil {
			t.Fatal(err)
		}
		want, err := outputs(e.Embed(t.Context(), text.Texts(in.Inputs), text.EmbedOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		for j, x := range value.([]any)[0].([]any) {
			if d := x.(float64) - float64(want[0][j]); d > 1e-5 || d < -1e-5 {
				t.Fatalf("%s: element %d is %v, want %v", c.body, j, x, want[0][j])
			}
		}
	}
}

// alike reports whether answers say the same, except for what each has anew.
func alike(key string, a, b any) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && (key == "created" || key == "cached_tokens" || a-b < 1e-4 && b-a < 1e-4)
	case string:
		return key == "id" || any(a) == b
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !alike(key, a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k := range a {
			if !alike(k, a[k], b[k]) {
				return false
			}
		}
		return true
	}
	return a == b
}

func (s *soak) refused(path, body string) error {
	status, answer, err := s.post(context.Background(), soakCase{path, body})
	if err != nil || status < 400 || status >= 500 {
		return fmt.Errorf("%s with %.20q: status %d, %v: %.200s", path, body, status, err, answer)
	}
	return nil
}

// raw sends bytes, reads so many lines and goes.
func (s *soak) raw(data string, lines int) error {
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	io.WriteString(conn, data) // the server may have closed it
	for in := bufio.NewReader(conn); lines > 0; lines-- {
		if line, err := in.ReadString('\n'); err == nil && !strings.HasPrefix(line, "HTTP/1.1 4") {
			return fmt.Errorf("%.40q: %q", data, line)
		}
	}
	return nil
}

func (s *soak) vanish(c soakCase, after time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), after)
	defer cancel()
	s.post(ctx, c)
	return nil
}

// stream reads a stream of pieces slowly to its end, or goes after the first line.
func (s *soak) stream(whole bool) error {
	resp, err := s.client.Post("http://"+s.addr+"/v1/chat/completions", "application/json",
		strings.NewReader(`{"model":"generate","stream":true,"max_tokens":8,"messages":[{"role":"user","content":"Hello"}]}`))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	in, last := bufio.NewReader(resp.Body), ""
	for {
		line, err := in.ReadString('\n')
		switch {
		case err == io.EOF && last != "data: [DONE]":
			return fmt.Errorf("the stream ends with %q", last)
		case err == io.EOF || err == nil && !whole:
			return nil
		case err != nil:
			return err
		case strings.TrimSpace(line) != "":
			last = strings.TrimSpace(line)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestSoak: requests of all kinds at a time, among them broken ones and clients that go: every
// answer is right, nothing is left, and memory stays.
func TestSoak(t *testing.T) {
	var models []Model
	for _, name := range []string{"embed", "rerank", "classify", "generate"} {
		models = append(models, Model{Dir: testdata + name})
	}
	models[3].Options = text.Options{CacheMemory: 1 << 21}                                             // what is kept of texts is full soon
	server, err := New(models, Options{ReadTimeout: 10 * time.Minute, WriteTimeout: 10 * time.Minute}) // the process may be stopped for minutes
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewUnstartedServer(server)
	h.Config.ErrorLog = nil
	h.Start()
	defer h.Close()
	s := newSoak(h.Listener.Addr().String())
	identified(t, h.URL)
	before := runtime.NumGoroutine()
	s.learn(t)
	first := min(*soakFor/2, time.Minute)
	s.run(t, first)
	early, earlyResident := memoryInUse(), resident()
	s.run(t, *soakFor-first)
	late, lateResident := memoryInUse(), resident()
	s.client.CloseIdleConnections()
	d, err := server.Shutdown(t.Context())
	if st := server.engine.Stats(); err != nil || d.Left != 0 || st.Requests != 0 || st.Texts != 0 || st.Deferred != 0 || st.Admitted != st.Ended {
		t.Errorf("%+v, %v, %+v", d, err, st)
	}
	// The kernels keep their workers.
	for end := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before+runtime.GOMAXPROCS(0); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
	t.Logf("%d requests, %d answers compared; after %v %.1f MiB in use, %.1f resident; at the end %.1f, %.1f", s.asked.Load(), s.checked.Load(), first, early, earlyResident, late, lateResident)
	const noise = 2 // MiB
	if late > 1.1*early+noise || first == time.Minute && lateResident > 1.1*earlyResident+noise {
		t.Error("memory grows")
	}
}

// run asks from several goroutines for some time.
func (s *soak) run(t *testing.T, d time.Duration) {
	t.Helper()
	var group sync.WaitGroup
	var failed atomic.Bool
	end := time.Now().Add(d)
	for seed := range uint64(8) {
		group.Go(func() {
			for r := rand.New(rand.NewPCG(seed, uint64(d))); time.Now().Before(end) && !failed.Load(); {
				if err := s.step(r); err != nil && failed.CompareAndSwap(false, true) {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// memoryInUse is MiB of the heap that are reachable, and of stacks.
func memoryInUse() float64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc+m.StackInuse) / (1 << 20)
}

// resident returns the process's memory in MiB, if the system reports it.
func resident() float64 {
	data, _ := os.ReadFile("/proc/self/status")
	_, after, _ := bytes.Cut(data, []byte("\nVmRSS:"))
	fields := strings.Fields(string(after))
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseFloat(fields[0], 64)
	return kib / 1024
}
