package tftest

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"
)

// sums holds sums of n results, each of which is added or subtracted at random (Achlioptas 2003,
// "Database-friendly random projections"). The root mean square of the differences of two such sums
// is about the distance of the results, for any number of results.
type sums struct {
	n int
	x [4]float64
}

// add adds results. Results that are not finite count as 0.
func (s *sums) add(x []float32) {
	for _, v := range x {
		s.n++
		if v-v != 0 {
			continue
		}
		signs := mixed(uint64(s.n))
		for i := range s.x {
			if signs>>i&1 == 0 {
				s.x[i] += float64(v)
			} else {
				s.x[i] -= float64(v)
			}
		}
	}
}

// mixed returns random bits for a number, in the way of SplitMix64.
func mixed(n uint64) uint64 {
	n *= 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// distance returns, from sums, about the root mean square of the differences of results, and that
// of the results.
func (s *sums) distance(before sums) (by, all float64) {
	for i, v := range s.x {
		by += (v - before.x[i]) * (v - before.x[i])
		all += v * v
	}
	results := float64(len(s.x) * max(s.n, 1))
	return math.Sqrt(by / results), math.Sqrt(all / results)
}

// String returns the sums in the form that readSums reads.
func (s *sums) String() string {
	text := fmt.Sprint(s.n)
	for _, v := range s.x {
		text += fmt.Sprintf(" %.9g", v)
	}
	return text
}

// sumsOf returns the name of the file with the sums for a table of hashes.
func sumsOf(path string) string { return strings.TrimSuffix(path, ".txt") + "-sums.txt" }

// readSums reads lines of NAME FORMAT and sums. A missing file has no lines.
func readSums(t *testing.T, path string) map[string]sums {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	all := map[string]sums{}
	for line := range strings.Lines(string(text)) {
		var name, format string
		var s sums
		into := []any{&name, &format, &s.n}
		for i := range s.x {
			into = append(into, &s.x[i])
		}
		if _, err := fmt.Sscan(line, into...); err != nil {
			t.Fatalf("%s: line %q: %v", path, line, err)
		}
		all[name+" "+format] = s
	}
	return all
}
