package vision

import "sync"

// Decoder decodes files for several goroutines, which share its memory: images in use have at most
// MaxPixels pixels in total, which is also the limit for a single image.
type Decoder struct {
	MaxPixels int

	turn   sync.Mutex // held by the goroutine that waits for room: small images must not overtake a large one
	mu     sync.Mutex
	pixels int       // of images in use
	left   sync.Cond // an image is no longer in use; its lock is mu
}

// NewDecoder returns a decoder for images of at most maxPixels pixels.
func NewDecoder(maxPixels int) *Decoder {
	d := &Decoder{MaxPixels: maxPixels}
	d.left.L = &d.mu
	return d
}

// Use passes the image of a file to use, which must not keep it. It waits until there is room for
// the image.
func (d *Decoder) Use(data []byte, use func(m *RGB) error) error {
	f, pixels, err := formatOf(data, d.MaxPixels)
	if err != nil {
		return err
	}
	d.enter(pixels)
	defer d.leave(pixels)
	m, err := f.image(data)
	if err != nil {
		return err
	}
	return use(m)
}

func (d *Decoder) enter(pixels int) {
	d.turn.Lock()
	defer d.turn.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.pixels+pixels > d.MaxPixels {
		d.left.Wait()
	}
	d.pixels += pixels
}

func (d *Decoder) leave(pixels int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pixels -= pixels
	d.left.Signal()
}
