//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/avoformer/avoformer/kernels/machine"
)

// server is a process that runs avoformer serve.
type server struct {
	*exec.Cmd
	addr  string
	ended chan error
	mu    sync.Mutex
	said  bytes.Buffer
}

var servesAt = regexp.MustCompile(`://([^ ]+) serves .* ready after`)

// startServer starts a server and waits until it is ready.
func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	return startServerAs(t, process(append([]string{"serve", "-addr", "127.0.0.1:0"}, args...)...))
}

// startServerAs does the same as startServer, with a given command.
func startServerAs(t *testing.T, c *exec.Cmd) *server {
	t.Helper()
	s := &server{Cmd: c, ended: make(chan error, 1)}
	stderr, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Process.Kill() })
	ready := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			s.mu.Lock()
			fmt.Fprintln(&s.said, lines.Text())
			s.mu.Unlock()
			if m := servesAt.FindStringSubmatch(lines.Text()); m != nil {
				ready <- m[1]
			}
		}
		s.ended <- s.Wait()
	}()
	select {
	case s.addr = <-ready:
	case err := <-s.ended:
		t.Fatalf("%v: %s", err, s.log())
	case <-time.After(time.Minute):
		t.Fatalf("not ready: %s", s.log())
	}
	return s
}

func (s *server) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

// end waits for the end of the process.
func (s *server) end(t *testing.T) (code int) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(30 * time.Second):
		t.Fatalf("the server does not end: %s", s.log())
	}
	return s.ProcessState.ExitCode()
}

// half sends a request with the first half of its body, after the server has begun to read the
// body. It returns the connection and the other half.
func half(t *testing.T, addr string) (conn net.Conn, rest string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprint(conn, "POST /embed HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 14\r\n\r\n")
	line, err := bufio.NewReader(conn).ReadString('\n') // the server now reads the body
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatalf("%q, %v", line, err)
	}
	fmt.Fprint(conn, `{"inputs"`)
	return conn, `:"a"}`
}

// TestServeTerminated: after SIGTERM, running requests are answered, and the server prints their
// number.
func TestServeTerminated(t *testing.T) {
	s := startServer(t, testdata+"embed")
	conn, rest := half(t, s.addr)
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if c, err := net.Dial("tcp", s.addr); err != nil {
			break
		} else if c.Close(); time.Now().After(end) {
			t.Fatal("the server still accepts connections")
		}
	}
	fmt.Fprint(conn, rest)
	if answer, err := io.ReadAll(conn); err != nil || !strings.Contains(string(answer), "HTTP/1.1 200 OK") || !strings.Contains(string(answer), "[[") {
		t.Errorf("%q, %v", answer, err)
	}
	if code := s.end(t); code != 0 || !strings.Contains(s.log(), "stopped, 1 running requests were answered") {
		t.Errorf("exit code %d: %s", code, s.log())
	}
}

// TestServePause: after SIGTERM, requests are answered and /health returns 503 until the pause
// ends. Then the listener closes.
func TestServePause(t *testing.T) {
	s := startServer(t, "-pause", "2s", testdata+"embed")
	if status, _ := s.ask(t, "/health", ""); status != 200 {
		t.Errorf("/health answers %d at first", status)
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Second); ; time.Sleep(5 * time.Millisecond) {
		status, answer := s.ask(t, "/health", "")
		if status == 503 && strings.Contains(answer, "shutting down") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("/health answers %d %s", status, answer)
		}
	}
	res, err := http.Post("http://"+s.addr+"/embed", "application/json", strings.NewReader(`{"inputs": "a"}`))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 200 || !res.Close {
		t.Errorf("%s in the pause, and the connection is kept: %v", res.Status, !res.Close)
	}
	if code := s.end(t); code != 0 {
		t.Errorf("exit code %d: %s", code, s.log())
	}
}

// TestServeLogJSON: with -log-json every line is an object, including lines about the start,
// warnings, the end and errors.
func TestServeLogJSON(t *testing.T) {
	t.Setenv("AVOFORMER_SERVE_NOTHING", "1")
	s := startServer(t, "-log-json", "-log", testdata+"embed", testdata+"generate")
	s.ask(t, "/embed", `{"inputs": "a"}`)
	s.ask(t, "/nothing", "")
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.end(t); code != 0 {
		t.Errorf("exit code %d: %s", code, s.log())
	}
	failed, _ := process("serve", "-log-json", "/nowhere/at/all").CombinedOutput()
	all := s.log() + string(failed)
	for _, want := range []string{"stands for no flag", "ready after", `"seconds":`, "were answered", "/nowhere/at/all"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q", want)
		}
	}
	for line := range strings.Lines(all) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

// TestServeGrace: serve fails if requests are not answered within the grace period.
func TestServeGrace(t *testing.T) {
	s := startServer(t, "-grace", "50ms", testdata+"embed")
	half(t, s.addr)
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.end(t); code == 0 || !strings.Contains(s.log(), "1 requests were not answered in time") {
		t.Errorf("exit code %d: %s", code, s.log())
	}
}

// TestServeKilled: after a server was killed while a request ran, a new one starts at once at the
// same address.
func TestServeKilled(t *testing.T) {
	s := startServer(t, testdata+"embed")
	half(t, s.addr)
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.end(t)
	again := startServer(t, "-addr", s.addr, testdata+"embed")
	if again.addr != s.addr {
		t.Errorf("the server listens at %s, want %s", again.addr, s.addr)
	}
	if resp, err := http.Get("http://" + again.addr + "/health"); err != nil || resp.StatusCode != 200 {
		t.Errorf("%v, %v", resp, err)
	}
}

// TestServeAdvice: serve advises bf16_fast once, for the generator with weights in BF16, if the
// machine supports bf16_fast.
func TestServeAdvice(t *testing.T) {
	want := 0
	if machine.FastBF16() != "" {
		want = 1
	}
	s := startServer(t, "-weights", "bf16", "-weights", "float=f32", "-replicas", "1", "-model", "writer="+testdata+"generate", "-model", "float="+testdata+"generate", testdata+"embed")
	if log := s.log(); strings.Count(log, "writer: -prompts bf16_fast ") != want || strings.Count(log, "bf16_fast") != want {
		t.Errorf("want the advice %d times: %s", want, log)
	}
}

// TestServeModels tests flags for one model and flags for all models.
func TestServeModels(t *testing.T) {
	s := startServer(t, "-weights", "bf16", "-weights", "other=int8", "-threads", "embed=1", "-max-length", "8", "-long", "nick=split", "-long", "refuse", "-stride", "2",
		"-model", "other,nick="+testdata+"embed", testdata+"embed")
	long := strings.Repeat("hello world ", 20)
	for _, c := range []struct {
		model  string
		status int
	}{{"embed", 400}, {"other", 200}, {"nick", 200}} {
		resp, err := http.Post("http://"+s.addr+"/v1/embeddings", "application/json", strings.NewReader(`{"model":"`+c.model+`","input":"`+long+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(resp.Body)
		if resp.Body.Close(); resp.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d: %.200s", c.model, resp.StatusCode, c.status, answer)
		}
	}
	for path, want := range map[string]string{"/info": `"model_dtype":"int8"`, "/metrics": "\navoformer_texts_split_total{model=\"other\"} 2\n"} {
		resp, err := http.Get("http://" + s.addr + path)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(resp.Body)
		if resp.Body.Close(); !strings.Contains(string(answer), want) {
			t.Errorf("%s: no %s", path, want)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-weights", "nobody=int8"}, "no model has that name"}, {[]string{"-weights", "q9"}, "-weights"}, {[]string{"-threads", "embed=x"}, "want a number"},
		{[]string{"-long", "embed=keep"}, "want cut, refuse or split"}, {[]string{"-tls-cert", "x"}, "need each other"},
	} {
		if code, _, errs := call(t, "", append([]string{"serve", testdata + "embed"}, c.args...)...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit code %d, %s", c.args, code, errs)
		}
	}
}

// TestServeCertificate: the server reads the certificate again after SIGHUP.
func TestServeCertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, 1)
	s := startServer(t, "-tls-cert", cert, "-tls-key", key, testdata+"embed")
	serial := func() int64 {
		conn, err := tls.Dial("tcp", s.addr, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("certificate %d", n)
	}
	writeCertificate(t, cert, key, 2)
	if err := s.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); serial() != 2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the certificate was not replaced")
		}
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
