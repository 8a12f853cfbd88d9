package tftest

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"hash"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/internal/fingerprint"
	"github.com/avoformer/avoformer/kernels"
)

var updateHashes = flag.Bool("update-hashes", false, "write the table of hashes anew, which needs another kernels.Numerics if a hash changes")

// Hashes is a table of hashes of results, in a file. A hash that all tiers share has a line of its own:
//
//	# numerics VERSION
//	NAME FORMAT HASH                  on every tier
//	NAME FORMAT TIER=HASH ...         on these tiers, as long as they differ
type Hashes struct {
	path  string
	lines map[string]map[string]string // by "NAME FORMAT" and tier, "" for all tiers

	mu   sync.Mutex
	seen map[string]map[string]string
}

// OpenHashes reads a table, and ends the test if it is of another version of the numerics than this program.
func OpenHashes(t *testing.T, path string) *Hashes {
	t.Helper()
	h := &Hashes{path: path, lines: map[string]map[string]string{}, seen: map[string]map[string]string{}}
	file := Must(os.Open(path))(t)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Scan()
	now := fmt.Sprintf("# numerics %d", kernels.Numerics)
	if was := lines.Text(); was != now && !*updateHashes {
		t.Fatalf("%s begins with %q, want %q: run this test with -update-hashes", path, was, now)
	} else if was == now && *updateHashes {
		t.Log("without another kernels.Numerics, hashes may be added, but may not change")
	}
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 3 {
			t.Fatalf("%s: line %q, want NAME FORMAT HASH", path, lines.Text())
		}
		of := map[string]string{}
		for _, word := range words[2:] {
			tier, hash, ok := strings.Cut(word, "=")
			if !ok {
				tier, hash = "", word
			}
			of[tier] = hash
		}
		h.lines[words[0]+" "+words[1]] = of
	}
	return h
}

// Check compares the hash of a name and a format, "" for no result, with the table's. A line without the active tier says nothing.
func (h *Hashes) Check(t *testing.T, name string, f kernels.Format, hash string) {
	t.Helper()
	line := fmt.Sprintf("%s %v", name, f)
	of := h.lines[line]
	want, known := of[fingerprint.Tier()]
	if !known {
		want, known = of[""]
	}
	if (known || of == nil) && want != hash && !*updateHashes {
		t.Errorf("%s: hash %q, want %q: bits have changed, which needs another kernels.Numerics", line, hash, want)
	}
	if hash == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen[line] == nil {
		h.seen[line] = map[string]string{}
	}
	h.seen[line][fingerprint.Tier()] = hash
}

// Close ends the comparison. If all results were computed, there may be no further lines, and -update-hashes writes the table.
func (h *Hashes) Close(t *testing.T, all bool) {
	t.Helper()
	if !all || t.Failed() {
		return
	}
	if *updateHashes {
		h.update(t)
	} else if len(h.seen) != len(h.lines) {
		t.Errorf("%s has %d lines, want %d", h.path, len(h.lines), len(h.seen))
	}
}

// update writes the table with the hashes that were seen. If one of them changes, those of other tiers leave its line.
func (h *Hashes) update(t *testing.T) {
	t.Helper()
	file := Must(os.ReadFile(h.path))(t)
	same := strings.HasPrefix(string(file), fmt.Sprintf("# numerics %d\n", kernels.Numerics))
	var b strings.Builder
	fmt.Fprintf(&b, "# numerics %d\n", kernels.Numerics)
	for _, line := range slices.Sorted(maps.Keys(h.seen)) {
		now, before := h.seen[line], h.lines[line]
		changed := before == nil
		for tier, hash := range now {
			changed = changed || hash != cmp.Or(before[tier], before[""])
		}
		if changed && before != nil && same {
			t.Fatalf("%s changes: raise kernels.Numerics, and add to the versions in doc/numerics.md", line)
		}
		if !changed {
			now = before
		}
		b.WriteString(line)
		hashes := slices.Compact(slices.Sorted(maps.Values(now)))
		if len(hashes) == 1 && (len(now) > 1 || now[""] != "") { // a single tier says nothing of the others
			b.WriteString(" " + hashes[0])
		} else {
			for _, tier := range slices.Sorted(maps.Keys(now)) {
				b.WriteString(" " + tier + "=" + now[tier])
			}
		}
		b.WriteByte('\n')
	}
	NoError(t, os.WriteFile(h.path, []byte(b.String()), 0o666))
}

// A Hash is one of results, by their names. Processors differ in the bits of a NaN, which do not count.
type Hash struct{ sum hash.Hash }

// NewHash is a hash of nothing.
func NewHash() Hash { return Hash{sha256.New()} }

// Add adds a result.
func (h Hash) Add(name string, x []float32) {
	bits := append(make([]byte, 0, len(name)+4*len(x)), name...)
	for _, v := range x {
		if v != v {
			v = float32(math.NaN())
		}
		bits = binary.LittleEndian.AppendUint32(bits, math.Float32bits(v))
	}
	h.sum.Write(bits)
}

// String is the hash in 16 digits.
func (h Hash) String() string { return fmt.Sprintf("%x", h.sum.Sum(nil)[:8]) }
