package vision

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avoformer/avoformer/fault"
)

// greyPNG returns the file of an image.
func greyPNG(t *testing.T, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestDecoder uses images on several goroutines: images in use at the same time have no more pixels
// than a single one may have, small images are in use together, and images that fail release their
// room.
func TestDecoder(t *testing.T) {
	d := NewDecoder(100)
	small, large := greyPNG(t, 5, 8), greyPNG(t, 10, 10) // 40 and 100 pixels
	broken := greyPNG(t, 10, 10)
	broken = broken[:len(broken)-20]
	var pixels, most atomic.Int32
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			data := [][]byte{small, large, broken}[i%3]
			err := d.Use(data, func(m *RGB) error {
				n := pixels.Add(int32(m.W * m.H))
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				time.Sleep(time.Millisecond)
				pixels.Add(-int32(m.W * m.H))
				return nil
			})
			if failed := i%3 == 2; failed != errors.Is(err, fault.ErrImage) || !failed && err != nil {
				t.Errorf("image %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if n := most.Load(); n != 100 || d.pixels != 0 {
		t.Errorf("%d pixels in use at a time, want 100; %d at the end", n, d.pixels)
	}
	both := make(chan bool)
	for range 2 {
		all.Go(func() {
			if err := d.Use(small, func(*RGB) error {
				select {
				case both <- true:
				case <-both:
				case <-time.After(10 * time.Second):
					t.Error("two small images are not in use together")
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := d.Use(greyPNG(t, 11, 10), nil); !errors.Is(err, fault.ErrImage) {
		t.Errorf("110 pixels: %v", err)
	}
	if err := d.Use(large, func(*RGB) error { return fault.ErrInput }); !errors.Is(err, fault.ErrInput) || d.pixels != 0 {
		t.Errorf("%v, %d pixels", err, d.pixels)
	}
}
