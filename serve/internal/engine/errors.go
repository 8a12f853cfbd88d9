// This file has the kinds of errors. Each protocol renders them in its own way.

package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/avoformer/avoformer/fault"
)

// Kind is a kind of error. errors.Is(err, engine.Overloaded) reports whether an error is of a kind.
type Kind uint8

// The kinds.
const (
	Internal     Kind = iota // not the request's fault
	Invalid                  // a malformed or meaningless request
	Empty                    // no texts, or a text without characters
	TooLong                  // more tokens than the model accepts
	TooLarge                 // a body, or a number of texts, above the limit
	UnknownModel             // no model of that name
	WrongModel               // a model for another purpose
	NotFound                 // no such route or thing
	NotAllowed               // a method that the route does not have
	Unauthorized             // no valid key
	Forbidden                // a request from a page of another site
	Overloaded               // the queue is full
	Deadline                 // the request's time is over
	Cancelled                // the client has disconnected
	Unavailable              // not ready yet, or no longer ready
)

var kinds = [...]struct {
	name   string
	status int
}{
	Internal:     {"internal", http.StatusInternalServerError},
	Invalid:      {"invalid", http.StatusBadRequest},
	Empty:        {"empty", http.StatusBadRequest},
	TooLong:      {"too long", http.StatusBadRequest},
	TooLarge:     {"too large", http.StatusRequestEntityTooLarge},
	UnknownModel: {"unknown model", http.StatusNotFound},
	WrongModel:   {"wrong model", http.StatusBadRequest},
	NotFound:     {"not found", http.StatusNotFound},
	NotAllowed:   {"not allowed", http.StatusMethodNotAllowed},
	Unauthorized: {"unauthorized", http.StatusUnauthorized},
	Forbidden:    {"forbidden", http.StatusForbidden},
	Overloaded:   {"overloaded", http.StatusTooManyRequests},
	Deadline:     {"deadline", http.StatusGatewayTimeout},
	Cancelled:    {"cancelled", 499}, // nginx's status; nobody reads the answer
	Unavailable:  {"unavailable", http.StatusServiceUnavailable},
}

// Error returns the name of the kind.
func (k Kind) Error() string { return kinds[k].name }

// Status returns the HTTP status of the kind, unless a protocol defines another.
func (k Kind) Status() int { return kinds[k].status }

// Error is an error with its kind.
type Error struct {
	Kind       Kind
	Message    string        // for the client
	Param      string        // the field of the request, if the error is about one
	RetryAfter time.Duration // of Overloaded and Unavailable: time until another attempt; 0: unknown
	Err        error         // the cause, for the log
}

func (e *Error) Error() string { return e.Message }

// Is reports whether target is the error's kind.
func (e *Error) Is(target error) bool { return target == e.Kind }

func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an error of a kind.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// At sets the field of the request, and returns the error.
func (e *Error) At(param string) *Error {
	e.Param = param
	return e
}

// AsError returns err as an Error. Errors of packages text and generation, and of contexts, have a
// kind of their own; any other is Internal.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	for _, x := range []struct {
		is   error
		kind Kind
	}{
		{context.DeadlineExceeded, Deadline}, {context.Canceled, Cancelled}, {fault.ErrTooLong, TooLong}, {fault.ErrInput, Invalid}, {fault.ErrTemplate, Invalid},
		{fault.ErrImage, Invalid}, {fault.ErrSound, Invalid}, {fault.ErrText, Invalid}, {fault.ErrBusy, Overloaded}, {fault.ErrClosed, Unavailable},
		{fault.ErrFolder, Internal}, {fault.ErrMemory, TooLong}, {fault.ErrOption, Invalid},
	} {
		if errors.Is(err, x.is) {
			return &Error{Kind: x.kind, Message: message(x.kind, err), Err: err}
		}
	}
	return &Error{Kind: Internal, Message: message(Internal, err), Err: err}
}

// Panicked returns the error of a request that panicked with v. Call it where the panic was
// recovered, because it records the stack.
func Panicked(v any) *Error {
	return &Error{Kind: Internal, Message: "internal error", Err: fmt.Errorf("panic: %v\n%s", v, debug.Stack())}
}

// message returns the message for a client. It reveals nothing about the server.
func message(kind Kind, err error) string {
	switch kind {
	case Internal:
		if errors.Is(err, fault.ErrNotFinite) {
			return "the model computed a number that is not finite" // the client must know this, because trying again does not help
		}
		return "internal error"
	case Deadline:
		return "the time that the request had is over"
	case Cancelled:
		return "the request was cancelled"
	}
	s := strings.TrimPrefix(strings.TrimPrefix(err.Error(), fault.ErrInput.Error()+": "), fault.ErrOption.Error()+": ")
	return strings.TrimPrefix(s, "text: ")
}
