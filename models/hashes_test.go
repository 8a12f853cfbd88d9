package models_test

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
)

// The table of hashes: a line for each folder and format of weights, of everything that the folder's model computes.
//
//	# numerics VERSION
//	FOLDER FORMAT HASH                  on every tier
//	FOLDER FORMAT TIER=HASH ...         on these tiers, as long as they differ

const hashesFile = "testdata/hashes.txt"

var updateHashes = flag.Bool("update-hashes", false, "write "+hashesFile+" anew, which needs another kernels.Numerics if a hash changes")

// hashFormats are the formats of weights in the table, where a folder's model has the sizes for them.
var hashFormats = []kernels.Format{kernels.FormatF32, kernels.FormatBF16, kernels.FormatInt8, kernels.FormatQ8_0, kernels.FormatQ4_K}

// fewFolders are those of emulators: an encoder, decoders, an encoder with a decoder, one of images and one of sound.
var fewFolders = []string{"bert", "modernbert", "llama", "gemma2", "t5", "vit", "whisper"}

// hashTable has the hashes of each folder and format by tier; one that all tiers share is of the tier "".
type hashTable struct {
	numerics string
	lines    map[string]map[string]string
}

// thisTier is the tier in the table. Compilers fuse multiplications and additions of the generic tier on some processors.
func thisTier() string {
	if kernels.Active() == kernels.Generic {
		return "generic/" + runtime.GOARCH
	}
	return kernels.Active().String()
}

func readHashes(t *testing.T) hashTable {
	t.Helper()
	table := hashTable{lines: map[string]map[string]string{}}
	file, err := os.Open(hashesFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if version, ok := strings.CutPrefix(line, "# numerics "); ok {
			table.numerics = version
			continue
		}
		words := strings.Fields(line)
		if len(words) < 3 {
			t.Fatalf("%s: line %q", hashesFile, line)
		}
		of := map[string]string{}
		for _, word := range words[2:] {
			tier, hash, ok := strings.Cut(word, "=")
			if !ok {
				tier, hash = "", word
			}
			of[tier] = hash
		}
		table.lines[words[0]+" "+words[1]] = of
	}
	return table
}

// write writes the table. A line whose tiers agree has one hash.
func (table hashTable) write(t *testing.T) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# numerics %d\n", kernels.Numerics)
	for _, name := range slices.Sorted(maps.Keys(table.lines)) {
		of := table.lines[name]
		b.WriteString(name)
		hashes := slices.Collect(maps.Values(of))
		if len(slices.Compact(slices.Sorted(slices.Values(hashes)))) == 1 {
			b.WriteString(" " + hashes[0])
		} else {
			for _, tier := range slices.Sorted(maps.Keys(of)) {
				b.WriteString(" " + tier + "=" + of[tier])
			}
		}
		b.WriteByte('\n')
	}
	tftest.NoError(t, os.WriteFile(hashesFile, []byte(b.String()), 0o666))
}

// want is the hash of a line on this tier, "" where there is no such line. It is unknown where the line has only those of other tiers.
func (table hashTable) want(name string) (hash string, known bool) {
	of := table.lines[name]
	if hash, known = of[thisTier()]; !known {
		hash, known = of[""]
	}
	return hash, known || of == nil
}

// update writes the table with the hashes that were seen. Those of other tiers go where one changes.
func (table hashTable) update(t *testing.T, seen map[string]map[string]string) {
	t.Helper()
	for name, now := range seen {
		before := table.lines[name]
		changed := false
		for tier, hash := range now {
			changed = changed || hash != cmp.Or(before[tier], before[""])
		}
		if changed && before != nil && table.numerics == fmt.Sprint(kernels.Numerics) {
			t.Fatalf("%s changes: raise kernels.Numerics first, and add to the versions in doc/numerics.md", name)
		}
		if changed {
			table.lines[name] = now
		}
	}
	maps.DeleteFunc(table.lines, func(name string, _ map[string]string) bool { return seen[name] == nil })
	table.write(t)
}

// hashOf is the hash of all outputs of a folder's model; "" if the format does not fit its sizes.
func hashOf(t *testing.T, dir string, f kernels.Format) string {
	t.Helper()
	m, err := models.Open(dir, models.Options{WeightFormat: f, Exact: true})
	if err != nil && f != kernels.FormatF32 {
		return ""
	}
	tftest.NoError(t, err)
	sum := sha256.New()
	e := openExpected(t, dir)
	e.collect = func(name string, output []float32) {
		sum.Write([]byte(name))
		bits := make([]byte, 0, 4*len(output))
		for _, v := range output {
			if v != v { // processors differ in the bits of a NaN
				v = float32(math.NaN())
			}
			bits = binary.LittleEndian.AppendUint32(bits, math.Float32bits(v))
		}
		sum.Write(bits)
	}
	e.compute(m)
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}

// hashFolders are the folders of the table, or those of emulators.
func hashFolders(t *testing.T) (folders []string) {
	if testenv.Slow() {
		return fewFolders
	}
	for _, pattern := range []string{"config.json", "modules.json"} {
		found := tftest.Must(filepath.Glob(filepath.Join(own, "*", pattern)))(t)
		for _, path := range found {
			folders = append(folders, filepath.Base(filepath.Dir(path)))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// TestHashes: every folder's model gives the bits that the table has, in each format of weights. A change of bits needs
// another version of the numerics, and -update-hashes.
func TestHashes(t *testing.T) {
	table := readHashes(t)
	if version := fmt.Sprint(kernels.Numerics); !*updateHashes && table.numerics != version {
		t.Fatalf("%s is of numerics %s, kernels.Numerics is %s: go test ./models -run TestHashes -update-hashes", hashesFile, table.numerics, version)
	}
	var mu sync.Mutex
	seen := map[string]map[string]string{}
	note := func(name, hash string) {
		mu.Lock()
		defer mu.Unlock()
		if seen[name] == nil {
			seen[name] = map[string]string{}
		}
		seen[name][thisTier()] = hash
	}
	tftest.EachTier(t, func(t *testing.T) {
		t.Run("folders", func(t *testing.T) { // ends after all that is parallel
			for _, folder := range hashFolders(t) {
				t.Run(folder, func(t *testing.T) {
					t.Parallel()
					for _, f := range hashFormats {
						name, hash := fmt.Sprintf("%s %v", folder, f), hashOf(t, filepath.Join(own, folder), f)
						if hash != "" {
							note(name, hash)
						}
						if want, known := table.want(name); known && want != hash && !*updateHashes {
							t.Errorf("%v: hash %q, want %q: bits have changed, which needs another kernels.Numerics", f, hash, want)
						}
					}
				})
			}
		})
	})
	if *updateHashes && !t.Failed() {
		table.update(t, seen)
	} else if !testenv.Slow() && len(seen) != len(table.lines) {
		t.Errorf("%d lines, want those of %d folders and formats", len(table.lines), len(seen))
	}
}
