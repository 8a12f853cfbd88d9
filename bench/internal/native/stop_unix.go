//go:build unix

package native

import "syscall"

// apart protects the process from a terminal's interrupt, because this program may let it finish
// its case.
func (p *Peer) apart() { p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// pause stops the process while other libraries are measured. With one thread the process waits for
// input anyway.
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
