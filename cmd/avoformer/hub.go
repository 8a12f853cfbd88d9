// Models of the hub in the place of folders.

package main

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/avoformer/avoformer/hub"
)

// pulled returns the folder that an argument names: itself or, with hf:// before it, a model of the hub.
func (a *app) pulled(name string) (string, error) {
	if strings.HasPrefix(name, hub.Scheme) {
		return hub.Pull(a.ctx, name, a.hub())
	}
	return name, nil
}

// hub is how models come: with progress where the standard error is looked at.
func (a *app) hub() hub.Options {
	if a.silent || !isTerminal(a.err) {
		return hub.Options{}
	}
	var shown time.Time
	return hub.Options{Progress: func(p hub.Progress) {
		if p.Done == p.Total {
			fmt.Fprint(a.err, "\r\033[K")
			return
		}
		if now := time.Now(); now.Sub(shown) >= 200*time.Millisecond {
			shown = now
			const mega = 1 << 20
			fmt.Fprintf(a.err, "\r\033[K%d of %d MiB, %s", p.Done/mega, p.Total/mega, path.Base(p.File))
		}
	}}
}
