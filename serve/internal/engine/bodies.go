// How many bytes of bodies there are at a time.

package engine

// A Body is a request's part of the room for bodies, from the first byte that is read until the
// request is answered. It is for one goroutine.
type Body struct {
	g     *gate
	bytes int64
}

// Body begins a body of no bytes.
func (e *Engine) Body() *Body { return &Body{g: &e.gate} }

// Grow takes room for n bytes that came, or refuses them at once. A body that is larger than the
// whole room is admitted when there is no other body.
func (b *Body) Grow(n int64) error {
	g := b.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inBytes > b.bytes && g.inBytes+n > g.bytes {
		e := g.overloaded()
		e.Message = "too many bytes of requests are under way"
		return e
	}
	g.inBytes += n
	b.bytes += n
	return nil
}

// Close gives the room back.
func (b *Body) Close() {
	b.g.mu.Lock()
	defer b.g.mu.Unlock()
	b.g.inBytes -= b.bytes
	b.bytes = 0
}
