// This file handles interrupts, which end a command, or an answer of a chat.

package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// onInterrupt, unless nil, is the function that the next interrupt calls instead of ending the
// command.
var onInterrupt atomic.Pointer[func()]

// interrupts returns a context that an interrupt or SIGTERM ends. A second signal ends the process
// at once.
func interrupts() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range signals {
			if f := onInterrupt.Swap(nil); f != nil && s == os.Interrupt {
				(*f)()
				continue
			}
			signal.Stop(signals)
			cancel()
			return
		}
	}()
	return ctx
}

// errAnswerEnded is the error of an answer that the user interrupted.
var errAnswerEnded = errors.New("the answer was interrupted")

// untilInterrupt returns a context that an interrupt ends with errAnswerEnded while the command
// continues. After done is called, interrupts end the command again.
func (a *app) untilInterrupt() (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(a.ctx)
	f := func() { cancel(errAnswerEnded) }
	onInterrupt.Store(&f)
	return ctx, func() {
		onInterrupt.Store(nil)
		cancel(nil)
	}
}
