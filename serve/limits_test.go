package serve

import (
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
