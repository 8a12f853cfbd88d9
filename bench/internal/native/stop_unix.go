//go:build unix

package native

import "syscall"

// pause stops the process while others are measured; at one thread it sleeps on its input anyway.
func (p *Peer) pause() {
	if p.threads > 1 {
		p.cmd.Process.Signal(syscall.SIGSTOP)
	}
}

func (p *Peer) resume() {
	if p.threads > 1 {
		p.cmd.Process.Signal(syscall.SIGCONT)
	}
}
