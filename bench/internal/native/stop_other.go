//go:build !unix

package native

func (p *Peer) pause()  {}
func (p *Peer) resume() {}
