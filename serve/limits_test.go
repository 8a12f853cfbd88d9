package serve

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestKeepAlive: a model closes for another, but not while it was used shortly before; requests for the other wait.
func TestKeepAlive(t *testing.T) {
	const keep = 400 * time.Millisecond
	h := started(t, Options{Lazy: true, Memory: 200_000, KeepAlive: keep}, "embed", "embed-roberta")
	for _, name := range []string{"embed", "embed-roberta", "embed"} {
		began := time.Now()
		status, answer, _ := ask(t, "POST", h.URL+"/v1/embeddings", `{"model":"`+name+`","input":"hello world"}`)
		if status != 200 {
			t.Fatalf("%s: status %d: %s", name, status, answer)
		}
		if took := time.Since(began); name == "embed-roberta" && took < keep-50*time.Millisecond {
			t.Errorf("%s was there after %v: the other model closed before its time", name, took)
		}
	}
}

// TestMaxBodies: while the bodies under way have all bytes that there may be, another gets 429; one that is larger
// than all of them comes in when it is alone.
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
	var status int
	var answer string
	for range 100 { // until the server has read what was written
		var header http.Header
		if status, answer, header = ask(t, "POST", h.URL+"/v1/embeddings", begin+rest+"}"); status == 429 && header.Get("Retry-After") != "" {
			break
		}
		time.Sleep(10 * time.Millisecond)
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
