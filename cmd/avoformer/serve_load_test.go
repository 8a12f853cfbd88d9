//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

// This file tests servers that end while many requests run.

package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// load sends requests to a server from many clients at a time until the server is gone. Each
// request has a connection of its own.
type load struct {
	group    sync.WaitGroup
	mu       sync.Mutex
	answered int
	lost     []error // errors of requests that were sent and did not get a complete answer
}

const (
	loadClients = 16
	loadBody    = `{"inputs": ["the cat reads", "a text of some more words that follows"]}`
)

func startLoad(addr string) *load {
	l := &load{}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range loadClients {
		l.group.Go(func() {
			for l.ask(client, addr) {
			}
		})
	}
	return l
}

// ask sends a request. It reports whether the server still accepts requests.
func (l *load) ask(client *http.Client, addr string) bool {
	resp, err := client.Post("http://"+addr+"/embed", "application/json", strings.NewReader(loadBody))
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return false // the server did not accept the connection, or the request could not be sent
	}
	status := 0
	var answer []byte
	if err == nil {
		answer, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		status = resp.StatusCode
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.lost = append(l.lost, err)
		return false
	case status == http.StatusOK && strings.HasPrefix(string(answer), "[["):
		l.answered++
	case status != http.StatusServiceUnavailable:
		l.lost = append(l.lost, errors.New(string(answer)))
	}
	return status != http.StatusServiceUnavailable
}

// busy waits until a number of requests have been answered.
func (l *load) busy(t *testing.T, answered int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		n := l.answered
		l.mu.Unlock()
		if n >= answered {
			return
		} else if time.Now().After(end) {
			t.Fatalf("%d requests were answered", n)
		}
	}
}

// TestServeTerminatedBusy: after SIGTERM while many requests run, every request that the server
// accepted is answered.
func TestServeTerminatedBusy(t *testing.T) {
	for range 3 {
		s := startServer(t, testdata+"embed")
		l := startLoad(s.addr)
		l.busy(t, 4*loadClients)
		if err := s.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := s.end(t); code != 0 || !strings.Contains(s.log(), " running requests were answered") {
			t.Errorf("exit code %d: %s", code, s.log())
		}
		if l.group.Wait(); len(l.lost) > 0 {
			t.Errorf("%d requests were answered, and %d were accepted but not answered: %v", l.answered, len(l.lost), l.lost[0])
		}
	}
}

// TestServeKilledBusy: after a server was killed while many requests ran, a new one serves at the
// same address.
func TestServeKilledBusy(t *testing.T) {
	s := startServer(t, testdata+"embed")
	l := startLoad(s.addr)
	l.busy(t, loadClients)
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.end(t)
	l.group.Wait()
	again := startServer(t, "-addr", s.addr, testdata+"embed")
	l = startLoad(again.addr)
	l.busy(t, loadClients)
	again.Process.Kill()
	again.end(t)
	l.group.Wait()
}
