package text

import (
	"math"
	"os"
	"slices"
	"testing"
)

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
