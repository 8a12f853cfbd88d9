package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// This file sends requests to a server, and repeats them after temporary failures.

// attempts is the largest number of attempts for a download that fails temporarily.
const attempts = 5

// pause returns the time to wait after n attempts.
var pause = func(n int) time.Duration { return time.Second << (n - 1) }

// again calls do until it succeeds or fails with an error that is not temporary, at most attempts
// times.
func again(ctx context.Context, attempts int, do func() error) (err error) {
	for n := range attempts {
		if n > 0 {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(pause(n)):
			}
		}
		if err = do(); err == nil || !errors.Is(err, errTransient) {
			break
		}
	}
	return err
}

// passing marks an error of a connection as temporary, unless ctx has ended.
func passing(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", errTransient, err)
}

// get requests the file at an address, from byte from on. The answer is the whole file (200) or, if
// from is not 0, possibly the rest (206). The request, and reading of its body, end with an error
// if the server sends nothing for p.Idle.
func (p *puller) get(ctx context.Context, at string, from int64) (*http.Response, error) {
	awake, stop := context.WithCancelCause(ctx)
	watch := time.AfterFunc(p.Idle, func() { stop(fmt.Errorf("the server has sent nothing for %v", p.Idle)) })
	req, err := http.NewRequestWithContext(awake, http.MethodGet, at, nil)
	if err != nil {
		watch.Stop()
		stop(nil)
		return nil, check.Errorf(fault.ErrName, "%v", err)
	}
	req.Header.Set("User-Agent", "avoformer")
	if p.Token != "" {
		req.Header.Set("Authorization", "Bearer "+p.Token)
	}
	if from > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	resp, err := p.Client.Do(req)
	watch.Stop()
	if err != nil {
		err = cmp.Or(context.Cause(awake), err)
		stop(nil)
		var refused *redirectError
		if errors.As(err, &refused) {
			return nil, check.Errorf(fault.ErrServer, "%w", err)
		}
		return nil, fmt.Errorf("%w (HF_HUB_OFFLINE=1 uses only the cache)", passing(ctx, err))
	}
	resp.Body = &watched{resp.Body, awake, stop, watch, p.Idle}
	if err := status(resp, at, from); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// A watched body ends with an error if a Read waits for longer than idle. Time between calls of
// Read does not count.
type watched struct {
	io.ReadCloser
	ctx   context.Context // of the request
	stop  context.CancelCauseFunc
	watch *time.Timer // calls stop
	idle  time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	w.watch.Reset(w.idle)
	n, err := w.ReadCloser.Read(p)
	w.watch.Stop()
	if err != nil && err != io.EOF {
		err = cmp.Or(context.Cause(w.ctx), err)
	}
	return n, err
}

func (w *watched) Close() error {
	w.watch.Stop()
	w.stop(nil)
	return w.ReadCloser.Close()
}

// A redirectError says why a redirect is not followed. It is not temporary: another attempt would
// be redirected to the same place.
type redirectError struct{ error }

func (e *redirectError) Unwrap() error { return e.error }

// discreet returns a copy of c that omits the token in redirects to another host, port or scheme.
// An http.Client would also send the token to subdomains and to other ports, where the hub keeps
// large files.
func discreet(c *http.Client) *http.Client {
	d := *c
	d.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if from := via[0].URL; req.URL.Host != from.Host || req.URL.Scheme != from.Scheme {
			req.Header.Del("Authorization")
		}
		const most = 10
		var err error
		if c.CheckRedirect != nil {
			err = c.CheckRedirect(req, via)
		} else if len(via) >= most {
			err = fmt.Errorf("%d redirects", len(via))
		}
		if err == nil || err == http.ErrUseLastResponse {
			return err
		}
		return &redirectError{err}
	}
	return &d
}

// These errors are temporary. errRange is the server's answer if the requested range begins behind
// the file's end.
var (
	errTransient = fmt.Errorf("%w, perhaps temporarily", fault.ErrServer)
	errRange     = fmt.Errorf("%w: no such range", errTransient)
)

// status returns the error for the status of a response, or nil. The request was for the data from
// byte from on.
func status(resp *http.Response, at string, from int64) error {
	switch code := resp.StatusCode; {
	case code == http.StatusOK, code == http.StatusPartialContent:
		return nil
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return check.Errorf(fault.ErrAccess, "%s: %s%s; a private or gated model needs a token in HF_TOKEN, of an account that has access; the hub's answer is the same if the model does not exist", at, resp.Status, reason(resp))
	case code == http.StatusNotFound:
		return check.Errorf(fault.ErrNoModel, "%s%s", at, reason(resp))
	case code == http.StatusRequestedRangeNotSatisfiable && from > 0:
		return fmt.Errorf("%w: %s", errRange, at)
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		return fmt.Errorf("%w: %s: %s", errTransient, at, resp.Status)
	}
	return check.Errorf(fault.ErrServer, "%s: %s", at, resp.Status)
}

// reason returns the hub's own explanation of an error, for example that a model is gated.
func reason(resp *http.Response) string {
	if text := resp.Header.Get("X-Error-Message"); text != "" {
		return fmt.Sprintf(": %.300q", text)
	}
	return ""
}
