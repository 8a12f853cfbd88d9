//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// TestServeReplicas serves an embedder and a generator with replicas, which the metrics list, and
// ends on SIGTERM.
func TestServeReplicas(t *testing.T) {
	s := startServer(t, "-replicas", "node", "-copy-weights", testdata+"embed", testdata+"generate")
	for path, body := range map[string]string{"/v1/embeddings": `{"model":"embed","input":"hello"}`, "/v1/completions": `{"model":"generate","prompt":"hello","max_tokens":2}`} {
		resp, err := http.Post("http://"+s.addr+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != 200 {
			t.Errorf("%s: status %d", path, resp.StatusCode)
		}
	}
	resp, err := http.Get("http://" + s.addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	for _, model := range []string{"embed", "generate"} {
		for _, name := range []string{"avoformer_replica_threads", "avoformer_replica_batches_total", "avoformer_replica_tokens_total"} {
			line := "\n" + name + `{model="` + model + `",node="0",replica="0"} `
			if _, after, ok := strings.Cut(string(answer), line); !ok || after[0] == '0' {
				t.Errorf("no %s, or 0", line)
			}
		}
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.end(t); code != 0 || !strings.Contains(s.log(), "replicas=1") {
		t.Errorf("exit code %d: %s", code, s.log())
	}
}

// TestReplicasFlag: vectors are the same with a replica, and a value that is neither a number nor
// node is refused.
func TestReplicasFlag(t *testing.T) {
	_, want, _ := call(t, "hello world\n", "embed", testdata+"embed")
	if code, got, stderr := call(t, "hello world\n", "embed", "-replicas", "1", testdata+"embed"); code != exitOK || got != want {
		t.Errorf("exit code %d, %q, %q, want %q", code, got, stderr, want)
	}
	for value, message := range map[string]string{"0": "want a number from 1 on, or node", "nodes": "want a number from 1 on, or node", "100000": "the number of cores"} {
		for _, command := range []string{"embed", "serve"} {
			code, out, stderr := call(t, "hello\n", command, "-replicas", value, testdata+"embed")
			if code == exitOK || out != "" || !strings.Contains(stderr, message) {
				t.Errorf("%s -replicas %s: exit code %d, %q, %q", command, value, code, out, stderr)
			}
		}
	}
}
