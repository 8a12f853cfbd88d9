// This file limits the bytes of bodies in progress.

package engine

// A Body counts the bytes of a request's body, from the first byte that is read until the request
// is answered. Only one goroutine may use it.
type Body struct {
	g     *gate
	bytes int64
}

// Body returns the count of a new body, 0.
func (e *Engine) Body() *Body { return &Body{g: &e.gate} }

// Grow counts n received bytes, or refuses them at once. A body that is larger than the limit is
// admitted if there is no other body.
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

// Close subtracts the bytes of the body.
func (b *Body) Close() {
	b.g.mu.Lock()
	defer b.g.mu.Unlock()
	b.g.inBytes -= b.bytes
	b.bytes = 0
}
