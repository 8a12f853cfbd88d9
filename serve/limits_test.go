package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"
)

// TestKeepAlive: a model closes for another, but not while it was used shortly before; requests for
// the other wait.
func TestKeepAlive(t *testing.T) {
	const keep = 400 * time.Millisecond
	h := started(t, Options{Lazy: true, Memory: 200_000, KeepAlive: keep}, "embed", "embed-roberta")
	var used time.Time // at the latest, the first model's last use
	for _, name := range []string{"embed", "embed", "embed-roberta", "embed"} {
		began := time.Now()
		if name == "embed" {
			used = began
		}
		status, answer, _ := ask(t, "POST", h.URL+"/v1/embeddings", `{"model":"`+name+`","input":"hello world"}`)
		if status != 200 {
			t.Fatalf("%s: status %d: %s", name, status, answer)
		}
		if took := time.Since(used); name == "embed-roberta" && took < keep {
			t.Errorf("%s was there %v after the last request for the other model, which closed before its time", name, took)
		}
	}
}

// untilInside waits until the server has read so many bytes of bodies.
func untilInside(t *testing.T, h *httptest.Server, n int64) {
	t.Helper()
	until(t, func() bool { return h.Config.Handler.(*Server).engine.Stats().Bytes >= n })
}

// TestMaxBodies: while the bodies being read take all bytes of the limit, another body gets 429. A
// body larger than the limit is admitted when there is no other body.
func TestMaxBodies(t *testing.T) {
	h := started(t, Options{MaxBodies: 10_000}, "embed")
	begin, rest := `{"model":"embed","input":"hello world"`, strings.Repeat(" ", 8_000)
	body, w := io.Pipe()
	first := make(chan int)
	go func() {
		r, err := http.Post(h.URL+"/v1/embeddings", "application/json", body)
		if err != nil {
			t.Error(err)
			close(first)
			return
		}
		r.Body.Close()
		first <- r.StatusCode
	}()
	if _, err := io.WriteString(w, begin+rest); err != nil {
		t.Fatal(err)
	}
	untilInside(t, h, 8_000)
	status, answer, header := ask(t, "POST", h.URL+"/v1/embeddings", begin+rest+"}")
	if header.Get("Retry-After") == "" {
		t.Error("beside another body: no Retry-After")
	}
	if status != 429 || !strings.Contains(answer, "bytes") {
		t.Errorf("beside another body: status %d: %s", status, answer)
	}
	if status, answer, _ := ask(t, "POST", h.URL+"/v1/embeddings", begin+"}"); status != 200 {
		t.Errorf("a small one: status %d: %s", status, answer)
	}
	_, _ = io.WriteString(w, "}")
	w.Close()
	if status := <-first; status != 200 {
		t.Errorf("the first: status %d", status)
	}
	if status, answer, _ := ask(t, "POST", h.URL+"/v1/embeddings", begin+rest+rest+"}"); status != 200 {
		t.Errorf("a large one alone: status %d: %s", status, answer)
	}
}

// TestRefusedBodies: a client that writes its whole body before it reads sees the refusal, not a
// broken connection, and so does net/http's.
func TestRefusedBodies(t *testing.T) {
	t.Parallel()
	const most = 2 << 20
	full := started(t, Options{MaxBody: most, MaxBodies: 10_000}, "embed")
	hold, w := io.Pipe() // the room for bodies is taken
	t.Cleanup(func() { w.Close() })
	go func() { http.Post(full.URL+"/v1/embeddings", "application/json", hold) }()
	if _, err := io.WriteString(w, strings.Repeat(" ", 8_000)); err != nil {
		t.Fatal(err)
	}
	untilInside(t, full, 8_000)
	open := started(t, Options{MaxBody: most}, "embed")
	closed := started(t, Options{MaxBody: most, Keys: []string{"key"}}, "embed")
	for _, c := range []struct {
		name   string
		server *httptest.Server
		path   string
		bytes  int64
		want   int
	}{
		{"no room", full, "/v1/embeddings", most, 429},
		{"too large", open, "/v1/embeddings", most + most/2, 413},
		{"no route", open, "/v1/none", most, 404},
		{"no key", closed, "/v1/embeddings", most, 401},
	} {
		for _, length := range []int64{c.bytes, -1} { // -1: in chunks
			request := func() *http.Request {
				r, err := http.NewRequest("POST", c.server.URL+c.path, io.LimitReader(spaces{}, c.bytes))
				if err != nil {
					t.Fatal(err)
				}
				r.ContentLength = length
				return r
			}
			t.Run(fmt.Sprint(c.name, " ", length), func(t *testing.T) {
				t.Parallel()
				for name, do := range map[string]func(*http.Request) (*http.Response, error){"written first": writeFirst, "net/http": http.DefaultClient.Do} {
					r, err := do(request())
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					if answer, err := io.ReadAll(r.Body); r.StatusCode != c.want || !r.Close || err != nil || len(answer) == 0 {
						t.Errorf("%s: status %d, closed: %v, %q, error %v", name, r.StatusCode, r.Close, answer, err)
					}
					r.Body.Close()
				}
			})
		}
	}
}

// writeFirst writes a request whole and reads the answer then.
func writeFirst(r *http.Request) (*http.Response, error) {
	conn, err := net.Dial("tcp", r.URL.Host)
	if err != nil {
		return nil, err
	}
	conn.(*net.TCPConn).SetWriteBuffer(64 << 10)
	if err := r.Write(conn); err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(conn), r)
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestRefusalKeepsConnection: after the refusal of a small body the connection takes another
// request.
func TestRefusalKeepsConnection(t *testing.T) {
	h := started(t, Options{Keys: []string{"key"}}, "embed")
	for i := range 3 {
		var conn httptrace.GotConnInfo
		trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { conn = c }}
		r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "POST", h.URL+"/v1/embeddings", strings.NewReader(strings.Repeat(" ", 9_000)))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := h.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if answer.StatusCode != 401 || conn.Reused != (i > 0) {
			t.Errorf("request %d: status %d, connection used before: %v", i, answer.StatusCode, conn.Reused)
		}
	}
}
