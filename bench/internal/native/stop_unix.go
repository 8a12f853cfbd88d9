//go:build unix

package native

import "syscall"

// apart keeps what a terminal sends on an interrupt from the process, which this one may want to
// finish its case.
func (p *Peer) apart() { p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// pause stops the process while other libraries are measured; at one thread it sleeps on its input
// anyway.
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
