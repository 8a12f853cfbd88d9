// This file runs a server on a listener, from the first connection to the end of the last answer.

package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// ServeOptions are the options of Serve.
type ServeOptions struct {
	TLS   *tls.Config   // nil: plain HTTP
	Pause time.Duration // time after the end of ctx in which the server still accepts requests, and /health answers 503, so that load balancers stop sending requests
	Grace time.Duration // time after Pause for requests in progress; 0: 30 seconds
	Log   *slog.Logger  // receives errors of connections; nil: none
}

// Serve answers requests on a listener until ctx ends. After the pause it accepts no more
// connections, and completes the requests in progress. Requests that have not been answered after
// the grace time are cancelled, and Serve returns an error.
func (s *Server) Serve(ctx context.Context, l net.Listener, o ServeOptions) (Drained, error) {
	base, cancel := context.WithCancel(context.Background())
	defer cancel()
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	hs := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, TLSConfig: o.TLS,
		BaseContext: func(net.Listener) context.Context { return base }, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	var open connections
	hs.ConnState = open.changed
	ended := make(chan error, 1)
	go func() {
		if o.TLS != nil {
			ended <- hs.ServeTLS(l, "", "")
		} else {
			ended <- hs.Serve(l)
		}
	}()
	select {
	case err := <-ended:
		return Drained{}, err
	case <-ctx.Done():
	}
	s.engine.Leave()
	select {
	case err := <-ended:
		return Drained{}, err
	case <-time.After(o.Pause):
	}
	grace, stop := context.WithTimeout(context.Background(), or(o.Grace, 30*time.Second))
	defer stop()
	d := Drained{Requests: s.engine.Stats().Requests}
	before := s.engine.Stats().Ended
	// http.Server.Shutdown drops, without an answer, requests whose headers arrive later. Therefore
	// the listener closes first, and accepted connections have headerTime to send the header of
	// their request.
	l.Close()
	<-ended
	hs.SetKeepAlivesEnabled(false)
	open.wait(min(headerTime, or(o.Grace, headerTime)))
	err := hs.Shutdown(grace)
	d.Requests = max(d.Requests, int(s.engine.Stats().Ended-before))
	if err != nil {
		d.Left = s.engine.Stats().Requests
		cancel()
		hs.Close()
		err = fmt.Errorf("%d requests were not answered in time: %w", d.Left, err)
	}
	_, drained := s.Shutdown(grace)
	return d, errors.Join(err, drained)
}

// headerTime is the time that connections which were accepted before the end have to send the
// header of their request.
const headerTime = 500 * time.Millisecond

// connections has the connections that may send a request, or wait for an answer.
type connections struct {
	mu  sync.Mutex
	all map[net.Conn]bool
}

func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state != http.StateNew && state != http.StateActive {
		delete(c.all, conn)
		return
	}
	if c.all == nil {
		c.all = map[net.Conn]bool{}
	}
	c.all[conn] = true
}

// wait waits until there are no such connections, for at most the given time.
func (c *connections) wait(most time.Duration) {
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(time.Millisecond) {
		c.mu.Lock()
		n := len(c.all)
		c.mu.Unlock()
		if n == 0 {
			return
		}
	}
}

// Certificate is a certificate whose files can be read again while it is in use.
type Certificate struct {
	certificate, key string
	current          atomic.Pointer[tls.Certificate]
}

// LoadCertificate reads a certificate and its key, in PEM.
func LoadCertificate(certificate, key string) (*Certificate, error) {
	c := &Certificate{certificate: certificate, key: key}
	return c, c.Reload()
}

// Reload reads the files again. If it returns an error, the earlier certificate stays in use.
func (c *Certificate) Reload() error {
	read, err := tls.LoadX509KeyPair(c.certificate, c.key)
	if err != nil {
		return err
	}
	c.current.Store(&read)
	return nil
}

// Config returns a configuration for a server with this certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil }}
}
