package text

import (
	"errors"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models"
)

// sideBySide is an encoder of images whose passes wait, for a while, until so many run at a time.
type sideBySide struct {
	models.ImageEncoder
	want    int32
	running atomic.Int32
	most    atomic.Int32
	mu      sync.Mutex
	threads []int
}

func (s *sideBySide) EncodeImages(ws *models.Workspace, dst, pixels []float32, images, h, w int) error {
	n := s.running.Add(1)
	s.most.Store(max(s.most.Load(), n))
	for end := time.Now().Add(time.Second); s.most.Load() < s.want && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	s.mu.Lock()
	s.threads = append(s.threads, int(ws.Threads))
	s.mu.Unlock()
	defer s.running.Add(-1)
	return s.ImageEncoder.EncodeImages(ws, dst, pixels, images, h, w)
}

// TestImagesSideBySide embeds six images on three threads: three at a time, on a thread each, with
// the bits of one on all threads. Of images that cannot be read the first is named.
func TestImagesSideBySide(t *testing.T) {
	t.Parallel()
	m, err := OpenImageClassifier("testdata/image", Options{Threads: 3})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("internal/vision/testdata/landscape.png")
	if err != nil {
		t.Fatal(err)
	}
	one, err := m.Logits(t.Context(), [][]byte{data})
	if err != nil {
		t.Fatal(err)
	}
	s := &sideBySide{ImageEncoder: m.model.Image, want: 3}
	m.model.Image = s
	all, err := m.Logits(t.Context(), [][]byte{data, data, data, data, data, data})
	if err != nil || len(all) != 6 {
		t.Fatal(len(all), err)
	}
	for i, x := range all {
		if !slices.Equal(x, one[0]) {
			t.Errorf("image %d: %v, by itself %v", i, x, one[0])
		}
	}
	if n := s.most.Load(); n != 3 || !slices.Equal(s.threads, []int{1, 1, 1, 1, 1, 1}) {
		t.Errorf("%d images at a time on threads %v, want 3 on one each", n, s.threads)
	}
	s.want = 0
	_, err = m.Logits(t.Context(), [][]byte{data, data, []byte("GIF89a"), data, nil, nil})
	var input *InputError
	if !errors.As(err, &input) || input.Number != 2 || !errors.Is(err, fault.ErrImage) {
		t.Errorf("%v", err)
	}
}

// TestImageLogits makes probabilities of logits.
func TestImageLogits(t *testing.T) {
	c, err := OpenImageClassifier("testdata/image", Options{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("internal/vision/testdata/landscape.png")
	if err != nil {
		t.Fatal(err)
	}
	logits, err := c.Logits(t.Context(), [][]byte{data, data})
	if err != nil {
		t.Fatal(err)
	}
	ranked, err := c.Classify(t.Context(), [][]byte{data})
	if err != nil {
		t.Fatal(err)
	}
	if len(logits) != 2 || !slices.Equal(logits[0], logits[1]) || len(logits[0]) != len(c.Labels()) {
		t.Fatalf("%v of labels %v", logits, c.Labels())
	}
	sum := 0.0
	for _, x := range logits[0] {
		sum += math.Exp(float64(x))
	}
	for _, l := range ranked[0] {
		x := logits[0][slices.Index(c.Labels(), l.Label)]
		if p := math.Exp(float64(x)) / sum; !(math.Abs(p-float64(l.Score)) < 1e-6) {
			t.Errorf("%s: probability %v, of its logit %v", l.Label, l.Score, p)
		}
	}
	if ranked[0][0].Score >= 1 || logits[0][0] == ranked[0][0].Score {
		t.Errorf("logits %v look like probabilities", logits[0])
	}
}
