package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// leaver is the client of a stream that leaves when the first text comes.
type leaver struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
	began string // what text begins with
}

func (l leaver) Write(data []byte) (int, error) {
	if bytes.Contains(data, []byte(l.began)) {
		l.leave()
	}
	return l.ResponseRecorder.Write(data)
}

// TestCancelledCounted: the tokens of a stream whose client leaves are in the log and in the
// metrics, for one text and for several.
func TestCancelledCounted(t *testing.T) {
	var log bytes.Buffer
	s, err := New([]Model{{Dir: testdata + "generate"}}, Options{AccessLog: slog.New(slog.NewJSONHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	predicted := func() (n float64) {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		m := regexp.MustCompile(`(?m)^llamacpp:tokens_predicted_total (\S+)$`).FindStringSubmatch(w.Body.String())
		if _, err := fmt.Sscan(m[1], &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var total float64
	for _, body := range []string{`{"prompt": "The quick", "max_tokens": 200, "stream": true}`, `{"prompt": "The quick", "max_tokens": 200, "stream": true, "n": 3}`} {
		log.Reset()
		ctx, leave := context.WithCancel(t.Context())
		w := leaver{httptest.NewRecorder(), leave, `"text":"`}
		func() {
			defer func() {
				if v := recover(); v != nil && v != http.ErrAbortHandler {
					panic(v)
				}
			}()
			s.ServeHTTP(w, httptest.NewRequest("POST", "/v1/completions", strings.NewReader(body)).WithContext(ctx))
		}()
		var said struct {
			Tokens, Generated, Status int
			Seconds                   float64
		}
		if err := json.Unmarshal(log.Bytes(), &said); err != nil {
			t.Fatal(err, log.String())
		}
		if said.Tokens == 0 || said.Generated == 0 || !(said.Seconds > 0 && said.Seconds < 600) {
			t.Errorf("%s: %s", body, log.String())
		}
		total += float64(said.Generated)
		if n := predicted(); n != total {
			t.Errorf("%g tokens in the metrics, %g in the log", n, total)
		}
	}
}
