package serve

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const one = `{"model":"embed","input":"hello world"}`

func TestKeys(t *testing.T) {
	h := started(t, Options{Keys: []string{"first", " second \r", ""}}, "embed")
	for _, c := range []struct {
		path, name, value string
		want              int
	}{
		{"/v1/models", "X-Nothing", "", 401}, {"/v1/models", "Authorization", "Bearer first", 200}, {"/v1/models", "Authorization", "bearer second", 200},
		{"/v1/models", "X-Api-Key", "second", 200}, {"/v1/models", "Authorization", "Bearer firs", 401}, {"/v1/models", "Authorization", "Bearer ", 401},
		{"/v1/models", "Authorization", "first", 401}, {"/health", "X-Nothing", "", 200},
	} {
		if status, answer, _ := ask(t, "GET", h.URL+c.path, "", c.name, c.value); status != c.want {
			t.Errorf("%s with %s: %q: status %d, want %d: %s", c.path, c.name, c.value, status, c.want, answer)
		}
	}
}

func TestOrigins(t *testing.T) {
	h := started(t, Options{Origins: []string{"https://good.example"}}, "embed")
	for _, c := range []struct {
		origin string
		want   int
		allow  string
	}{{"https://good.example", 200, "https://good.example"}, {"https://bad.example", 403, ""}} {
		status, _, header := ask(t, "POST", h.URL+"/v1/embeddings", one, "Origin", c.origin)
		if status != c.want || header.Get("Access-Control-Allow-Origin") != c.allow {
			t.Errorf("%s: status %d, allowed %q", c.origin, status, header.Get("Access-Control-Allow-Origin"))
		}
		_, _, header = ask(t, "OPTIONS", h.URL+"/v1/embeddings", "", "Origin", c.origin, "Access-Control-Request-Method", "POST")
		if header.Get("Access-Control-Allow-Origin") != c.allow {
			t.Errorf("%s: preflight allows %q", c.origin, header.Get("Access-Control-Allow-Origin"))
		}
	}
}

func TestDeadline(t *testing.T) {
	h := started(t, Options{}, "embed")
	for value, want := range map[string]int{"1e-9": 504, "60": 200, "0": 400, "x": 400, "NaN": 400} {
		if status, answer, _ := ask(t, "POST", h.URL+"/v1/embeddings", one, "X-Request-Timeout", value); status != want {
			t.Errorf("%s seconds: status %d, want %d: %s", value, status, want, answer)
		}
	}
}

// TestOverload: with one request inside, whose body does not come, the next is refused at once, and
// answered later.
func TestOverload(t *testing.T) {
	h := started(t, Options{MaxRequests: 1}, "embed")
	conn, err := net.Dial("tcp", h.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("POST /embed HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return h.Config.Handler.(*Server).engine.Stats().Requests == 1 })
	if status, answer, header := ask(t, "POST", h.URL+"/v1/embeddings", one); status != 429 || header.Get("Retry-After") != "1" || !strings.Contains(answer, "rate_limit") {
		t.Errorf("status %d, retry after %q: %s", status, header.Get("Retry-After"), answer)
	}
	if status, _, _ := ask(t, "GET", h.URL+"/health", ""); status != 200 {
		t.Errorf("/health: %d while the queue is full", status)
	}
	conn.Close()
	until(t, func() bool { status, _, _ := ask(t, "POST", h.URL+"/v1/embeddings", one); return status == 200 })
}

func until(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}

// TestShutdown: requests that run when a server ends are answered, and what comes later is not
// taken.
func TestShutdown(t *testing.T) {
	s, err := New([]Model{{Dir: testdata + "embed"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	type end struct {
		drained Drained
		err     error
	}
	ended := make(chan end, 1)
	go func() {
		d, err := s.Serve(ctx, l, ServeOptions{})
		ended <- end{d, err}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	head := "POST /embed HTTP/1.1\r\nHost: x\r\nContent-Length: 14\r\n\r\n"
	if _, err := conn.Write([]byte(head + `{"inputs"`)); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return s.engine.Stats().Requests == 1 })
	stop()
	until(t, func() bool { _, err := net.Dial("tcp", l.Addr().String()); return err != nil })
	if _, err := conn.Write([]byte(`:"a"}`)); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 15)
	if _, err := conn.Read(answer); err != nil || string(answer) != "HTTP/1.1 200 OK" {
		t.Errorf("%q, %v", answer, err)
	}
	if e := <-ended; e.err != nil || e.drained.Requests != 1 || e.drained.Left != 0 {
		t.Errorf("%+v", e)
	}
	r := httptest.NewRecorder()
	if s.ServeHTTP(r, httptest.NewRequest("POST", "/embed", strings.NewReader(`{"inputs":"a"}`))); r.Code != 503 || s.Ready() {
		t.Errorf("afterwards: %d", r.Code)
	}
}

// TestManyModelsAtOnce: models that do not fit into memory together take turns, whichever client
// asks.
func TestManyModelsAtOnce(t *testing.T) {
	names := []string{"embed", "embed-prompt", "embed-roberta"}
	all := started(t, Options{Lazy: true}, names...)
	small := started(t, Options{Lazy: true, Memory: 200_000}, names...)
	var group sync.WaitGroup
	for i := range 12 {
		name := names[i%len(names)]
		group.Go(func() {
			body := `{"model":"` + name + `","input":"hello world"}`
			_, want, _ := ask(t, "POST", all.URL+"/v1/embeddings", body)
			if status, got, _ := ask(t, "POST", small.URL+"/v1/embeddings", body); status != 200 || got != want {
				t.Errorf("%s: status %d, %s", name, status, got)
			}
		})
	}
	group.Wait()
	open := strings.Count(answerOf(t, small.URL+"/v1/models"), `"open":true`)
	if n := strings.Count(answerOf(t, all.URL+"/v1/models"), `"open":true`); n != 3 || open == 0 || open == 3 {
		t.Errorf("%d of 3 models are open without a limit, %d with one", n, open)
	}
}

func answerOf(t testing.TB, url string) string {
	_, answer, _ := ask(t, "GET", url, "")
	return answer
}

// TestCertificate: what connections are shown follows the files, once they are read again.
func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, 1)
	c, err := LoadCertificate(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewUnstartedServer(http.NotFoundHandler())
	h.Listener = tls.NewListener(h.Listener, c.Config())
	h.Start()
	defer h.Close()
	serial := func() int64 {
		conn, err := tls.Dial("tcp", h.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	writeCertificate(t, cert, key, 2)
	if n := serial(); n != 1 {
		t.Errorf("certificate %d before Reload", n)
	}
	if err := c.Reload(); err != nil || serial() != 2 {
		t.Errorf("certificate %d after Reload, %v", serial(), err)
	}
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Reload(); err == nil || serial() != 2 {
		t.Errorf("certificate %d after a Reload that fails, %v", serial(), err)
	}
}

func writeCertificate(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOtherBase: where there is nothing, but a route at the path that a client with another base
// URL, or one of llama.cpp, means, the error names it.
func TestOtherBase(t *testing.T) {
	h := started(t, Options{}, "embed")
	for path, want := range map[string]string{
		"/chat/completions": "/v1/chat/completions", "/completion": "/v1/completions", "/embedding": "/v1/embeddings", "/v1/v1/embeddings": "/v1/embeddings", "/v1/api/chat": "/api/chat",
		"/props": "", "/v1/nothing": "", "/v1": "",
	} {
		status, answer, _ := ask(t, "POST", h.URL+path, `{}`)
		if _, named, _ := strings.Cut(strings.ReplaceAll(answer, `\"`, `"`), `, but at "`); status != 404 || (want == "") != (named == "") || !strings.HasPrefix(named, want) {
			t.Errorf("%s: %d %s, want %q", path, status, answer, want)
		}
	}
}
