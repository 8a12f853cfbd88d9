// A server on a listener, from the first connection to the end of the last answer.

package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Listening says how Serve treats connections.
type Listening struct {
	TLS   *tls.Config   // nil: plain HTTP
	Grace time.Duration // after ctx has ended, for requests that run; 0: 30 seconds
	Log   *slog.Logger  // of what is wrong with connections; nil: none
}

// Serve answers what comes over a listener until ctx ends; then it takes no more connections and answers the
// requests that run. Those that have not been answered after the grace time are cancelled, which is an error.
func (s *Server) Serve(ctx context.Context, l net.Listener, o Listening) (Drained, error) {
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
	grace, stop := context.WithTimeout(context.Background(), or(o.Grace, 30*time.Second))
	defer stop()
	d := Drained{Requests: s.engine.Stats().Requests}
	err := hs.Shutdown(grace)
	if err != nil {
		d.Left = s.engine.Stats().Requests
		cancel()
		hs.Close()
		err = fmt.Errorf("%d requests were not answered in time: %w", d.Left, err)
	}
	_, drained := s.Shutdown(grace)
	return d, errors.Join(err, drained)
}

// Certificate is a certificate of files that can be read again while connections are made with it.
type Certificate struct {
	certificate, key string
	current          atomic.Pointer[tls.Certificate]
}

// LoadCertificate reads a certificate and its key, in PEM.
func LoadCertificate(certificate, key string) (*Certificate, error) {
	c := &Certificate{certificate: certificate, key: key}
	return c, c.Reload()
}

// Reload reads the files again. After an error the certificate stays what it was.
func (c *Certificate) Reload() error {
	read, err := tls.LoadX509KeyPair(c.certificate, c.key)
	if err != nil {
		return err
	}
	c.current.Store(&read)
	return nil
}

// Config is for a server that shows the certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil }}
}
