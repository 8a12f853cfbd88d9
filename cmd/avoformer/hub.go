// This file resolves models of the hub to folders.

package main

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/avoformer/avoformer/hub"
)

// pulled returns the folder for an argument. For hf://NAME it pulls the model and returns its
// folder; otherwise it returns the argument.
func (a *app) pulled(name string) (string, error) {
	if strings.HasPrefix(name, hub.Scheme) {
		return hub.Pull(a.ctx, name, a.hub())
	}
	return name, nil
}

// hub returns the options for pulling. It shows progress if the standard error is a terminal.
func (a *app) hub() hub.Options {
	o := hub.Options{Offline: a.offline, Warn: a.warn}
	if a.silent || !isTerminal(a.err) {
		return o
	}
	var shown time.Time
	o.Progress = func(p hub.Progress) {
		if p.Done == p.Total {
			fmt.Fprint(a.err, "\r\033[K")
			return
		}
		if now := time.Now(); now.Sub(shown) >= 200*time.Millisecond {
			shown = now
			const mega = 1 << 20
			fmt.Fprintf(a.err, "\r\033[K%d of %d MiB, %s", p.Done/mega, p.Total/mega, path.Base(p.File))
		}
	}
	return o
}
