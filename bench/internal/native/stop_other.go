//go:build !unix

package native

func (p *Peer) apart()  {}
func (p *Peer) pause()  {}
func (p *Peer) resume() {}
