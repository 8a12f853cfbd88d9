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

	"github.com/avoformer/avoformer/kernels"
)

var updateHashes = flag.Bool("update-hashes", false, "write the table of hashes anew, which needs another kernels.Numerics if a hash changes")

// Hashes is a table in a file with hashes of results, which are the same on every tier:
//
//	# numerics VERSION
//	NAME FORMAT HASH
//
// A second file, whose name ends in -sums.txt, has sums of the same results. From the sums, a test
// that fails computes how far the results moved.
type Hashes struct {
	path  string
	lines map[string]string // by "NAME FORMAT"
	sums  map[string]sums   // by the same keys; from the last version that has sums

	mu   sync.Mutex
	seen map[string]Hash
}

// OpenHashes reads a table. It ends the test if the table's version of the numerics differs from
// this program's.
func OpenHashes(t *testing.T, path string) *Hashes {
	t.Helper()
	h := &Hashes{path: path, lines: map[string]string{}, sums: readSums(t, sumsOf(path)), seen: map[string]Hash{}}
	file := Must(os.Open(path))(t)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Scan()
	now := fmt.Sprintf("# numerics %d", kernels.Numerics)
	if was := lines.Text(); was != now && !*updateHashes {
		t.Fatalf("%s begins with %q, want %q: run this test with -update-hashes", path, was, now)
	} else if was != now {
		return h // the lines are of another version
	} else if *updateHashes {
		t.Log("without another kernels.Numerics, hashes may be added, but may not change")
	}
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) != 3 {
			t.Fatalf("%s: line %q, want NAME FORMAT HASH", path, lines.Text())
		}
		h.lines[words[0]+" "+words[1]] = words[2]
	}
	return h
}

// Check compares the hash for a name and a format with the table's. The zero Hash means no result.
func (h *Hashes) Check(t *testing.T, name string, f kernels.Format, hash Hash) {
	t.Helper()
	line := fmt.Sprintf("%s %v", name, f)
	got := hash.String()
	h.mu.Lock()
	defer h.mu.Unlock()
	want := h.lines[line]
	if *updateHashes {
		want = cmp.Or(h.seen[line].String(), got) // the hash from the first tier
	}
	if want != got {
		t.Errorf("%s: hash %q, want %q: bits have changed, which needs another kernels.Numerics; %s", line, got, want, hash.moved(h.sums[line]))
	}
	if got != "" {
		h.seen[line] = hash
	}
}

// Close ends the comparison with the table, whose lines are for the given names. If results for all
// names were computed, there must be no further lines, and -update-hashes writes the table. If -run
// or an emulator left names out, -update-hashes is an error, since the lines of the names left out
// would be lost.
func (h *Hashes) Close(t *testing.T, names []string) {
	t.Helper()
	if t.Failed() {
		return
	}
	computed := map[string]bool{}
	for line := range h.seen {
		name, _, _ := strings.Cut(line, " ")
		computed[name] = true
	}
	switch left := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return computed[name] }); {
	case len(left) > 0 && *updateHashes:
		t.Errorf("%s stays as it is: -update-hashes needs the results of all %d names, of which %s and %d more were not computed", h.path, len(names), left[0], len(left)-1)
	case len(left) > 0:
	case *updateHashes:
		h.update(t)
	case len(h.seen) != len(h.lines):
		t.Errorf("%s has %d lines, want %d", h.path, len(h.lines), len(h.seen))
	}
}

// update writes the table with the hashes that Check was called with.
func (h *Hashes) update(t *testing.T) {
	t.Helper()
	file := Must(os.ReadFile(h.path))(t)
	first := fmt.Sprintf("# numerics %d\n", kernels.Numerics)
	same := strings.HasPrefix(string(file), first)
	var b strings.Builder
	b.WriteString(first)
	var of strings.Builder
	for _, line := range slices.Sorted(maps.Keys(h.seen)) {
		hash := h.seen[line]
		if before := h.lines[line]; same && before != "" && before != hash.String() {
			t.Fatalf("%s changes: raise kernels.Numerics, and add to the versions in doc/numerics.md; %s", line, hash.moved(h.sums[line]))
		}
		if before, ok := h.sums[line]; ok && before != *hash.sums {
			t.Logf("%s: %s", line, hash.moved(before))
		}
		fmt.Fprintf(&b, "%s %s\n", line, hash)
		fmt.Fprintf(&of, "%s %s\n", line, hash.sums)
	}
	NoError(t, os.WriteFile(h.path, []byte(b.String()), 0o666))
	NoError(t, os.WriteFile(sumsOf(h.path), []byte(of.String()), 0o666))
}

// A Hash is a hash of results and their names. The bits of a NaN do not count, since processors
// differ in them. The zero Hash means no result.
type Hash struct {
	hash hash.Hash
	sums *sums
}

// NewHash returns a hash of nothing.
func NewHash() Hash { return Hash{sha256.New(), new(sums)} }

// Add adds a result.
func (h Hash) Add(name string, x []float32) {
	bits := append(make([]byte, 0, len(name)+4*len(x)), name...)
	for _, v := range x {
		if v != v {
			v = float32(math.NaN())
		}
		bits = binary.LittleEndian.AppendUint32(bits, math.Float32bits(v))
	}
	h.hash.Write(bits)
	h.sums.add(x)
}

// String returns the hash in 16 digits, or "" for no result.
func (h Hash) String() string {
	if h.hash == nil {
		return ""
	}
	return fmt.Sprintf("%x", h.hash.Sum(nil)[:8])
}

// moved describes how far the results moved since the sums before were computed.
func (h Hash) moved(before sums) string {
	if h.sums == nil || before.n == 0 || h.sums.n != before.n {
		return "how far they moved is not known"
	}
	by, all := h.sums.distance(before)
	return fmt.Sprintf("results moved by about %.1g, and are about %.1g (root mean square)", by, all)
}
