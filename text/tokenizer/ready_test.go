package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avoformer/avoformer/internal/ready"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// all encodes and decodes the texts of a folder, and returns what comes out.
func (c *cases) all(tok *Tokenizer) (out []any) {
	for _, x := range append(c.Cases, c.Pairs...) {
		for _, o := range []Options{{Offsets: Bytes}, {NoSpecial: true}} {
			e, err := x.encode(tok, o)
			out = append(out, e, fmt.Sprint(err))
			if err == nil {
				out = append(out, tok.Decode(e.IDs, true), tok.Decode(e.IDs, false))
			}
		}
	}
	switch m := tok.model.(type) { // what texts rarely show
	case *unigram:
		out = append(out, m.unknownScore, m.lowest)
	case *bpe:
		out = append(out, m.parts, m.ignoreMerges)
	}
	return append(out, tok.Size(), tok.Warnings())
}

// readyFiles are those of a folder, without what says that their checksums are right.
func readyFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.ready"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestReady: with a ready file, which is made, mapped and copied, all folders give what they give
// without one.
func TestReady(t *testing.T) {
	made := 0
	for _, dir := range caseFolders(t) {
		data, err := os.ReadFile(filepath.Join(dir, "tokenizer_cases.json"))
		if err != nil {
			t.Fatal(err)
		}
		var c cases
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		for _, written := range []bool{false, true} {
			o := Opening{AsWritten: written}
			plain, err := o.Open(dir)
			if err != nil && !written {
				t.Fatal(err)
			} else if err != nil {
				continue
			}
			want := c.all(plain)
			o.Ready = t.TempDir()
			for round := range 3 {
				o.ReadyCopy = round == 2
				tok, err := o.Open(dir)
				if err != nil {
					t.Fatalf("%s, round %d: %v", dir, round, err)
				}
				if got := c.all(tok); !reflect.DeepEqual(got, want) {
					t.Errorf("%s, as written %v, round %d: other results", dir, written, round)
				}
			}
			p := o.place(os.DirFS(dir))
			if f, _ := p.open(); f != nil {
				made++
			}
		}
	}
	if made < 60 {
		t.Errorf("%d folders have a ready file", made)
	}
	t.Log(made, "ready files")
}

// bigger writes a folder with a tokenizer.json whose tokens depend on first.
func bigger(t testing.TB, dir, first string) {
	t.Helper()
	var vocab, merges strings.Builder
	fmt.Fprintf(&vocab, `"<unk>":0,"a":1,"b":2,%q:3`, first)
	last := "a"
	for i := range 60 {
		fmt.Fprintf(&merges, `["%s","b"],`, last)
		last += "b"
		fmt.Fprintf(&vocab, `,"%s":%d`, last, 4+i)
	}
	text := fmt.Sprintf(`{"version":"1.0","added_tokens":[],"model":{"type":"BPE","unk_token":"<unk>","vocab":{%s},"merges":[%s]}}`, &vocab, strings.TrimSuffix(merges.String(), ","))
	if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const biggerText = "abbbabbbbbbbbbbbbbbbbbbxcaab"

func idsOf(t testing.TB, o Opening, dir string) string {
	t.Helper()
	tok, err := o.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	e, err := tok.Encode(biggerText, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(e.IDs)
}

// TestReadyDamaged: 2,000 damaged files are misses, and made again; nothing panics, and no result
// changes.
func TestReadyDamaged(t *testing.T) {
	dir := t.TempDir()
	bigger(t, dir, "x")
	o := Opening{Ready: t.TempDir(), ReadyCopy: true} // a file that is mapped must not change
	want := idsOf(t, Opening{}, dir)
	if got := idsOf(t, o, dir); got != want {
		t.Fatal(got, want)
	}
	path := readyFiles(t, o.Ready)[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	count := 2000
	if testing.Short() {
		count = 200
	}
	r := rand.New(rand.NewPCG(1, 1))
	again := 0
	for range count {
		data := append([]byte(nil), whole...)
		switch r.IntN(4) {
		case 0:
			data = data[:r.IntN(len(data))]
		case 1:
			data = append(data, data[:r.IntN(len(data))]...)
		case 2:
			at, n := r.IntN(len(data)), r.IntN(64)
			for i := at; i < min(at+n, len(data)); i++ {
				data[i] = byte(r.Uint32())
			}
		default:
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := idsOf(t, o, dir); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		if now, err := os.ReadFile(path); err == nil && string(now) == string(data) && len(data) != len(whole) {
			t.Fatal("a damaged file is still there")
		} else if err == nil && len(now) == len(whole) && string(now) != string(data) {
			again++
		}
	}
	if again < count*3/4 {
		t.Errorf("%d of %d were made again", again, count)
	}
}

// TestReadyStale: a file that was made of another tokenizer.json, or by other settings, does not
// count.
func TestReadyStale(t *testing.T) {
	dir, o := t.TempDir(), Opening{Ready: t.TempDir()}
	bigger(t, dir, "x")
	first := idsOf(t, o, dir)
	bigger(t, dir, "c") // as long, perhaps in the same tick of the clock
	if got, want := idsOf(t, o, dir), idsOf(t, Opening{}, dir); got != want || got == first {
		t.Errorf("after a change %s, want %s", got, want)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "tokenizer.json"), later, later); err != nil {
		t.Fatal(err)
	}
	idsOf(t, o, dir)
	o.AsWritten = true
	idsOf(t, o, dir)
	if files := readyFiles(t, o.Ready); len(files) != 4 {
		t.Errorf("%d files, want one for each", len(files))
	}
}

// TestReadyFails: where no file can be written, the tokenizer opens all the same, with a warning.
func TestReadyFails(t *testing.T) {
	dir := t.TempDir()
	bigger(t, dir, "x")
	want := idsOf(t, Opening{}, dir)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{file, filepath.Join(file, "below"), "/dev/full/x"} {
		if got := idsOf(t, Opening{Ready: folder}, dir); got != want {
			t.Errorf("%s: %s, want %s", folder, got, want)
		}
		tok, err := Opening{Ready: folder}.Open(dir)
		if err != nil || !slices.ContainsFunc(tok.Warnings(), func(w string) bool { return strings.Contains(w, "no ready file of the tokenizer in "+folder) }) {
			t.Errorf("%s: %v, warnings %q", folder, err, tok.Warnings())
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(`{"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Opening{Ready: t.TempDir()}
	_, wantErr := Open(dir)
	if _, err := o.Open(dir); err == nil || fmt.Sprint(err) != fmt.Sprint(wantErr) || len(readyFiles(t, o.Ready)) != 0 {
		t.Errorf("a wrong file: %v, want %v, and no ready file", err, wantErr)
	}
}

// TestReadyAtOnce: tokenizers that make one file at the same time are all right.
func TestReadyAtOnce(t *testing.T) {
	dir, o := t.TempDir(), Opening{Ready: t.TempDir()}
	bigger(t, dir, "x")
	want := idsOf(t, Opening{}, dir)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			tok, err := o.Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			if e, err := tok.Encode(biggerText, Options{}); err != nil || fmt.Sprint(e.IDs) != want {
				t.Errorf("%v, %v, want %s", e, err, want)
			}
		})
	}
	all.Wait()
	if files := readyFiles(t, o.Ready); len(files) != 1 {
		t.Errorf("files %q, want one", files)
	}
}

// TestReadyLacks: a class that needs what the file lacks is read in full.
func TestReadyLacks(t *testing.T) {
	f, err := readFile([]byte(`{"model":{"type":"BPE","vocab":{},"merges":[]}}`))
	if err != nil {
		t.Fatal(err)
	}
	f.source.fixed = true
	if _, err := f.tokenizer(); !errors.Is(err, errFixed) {
		t.Errorf("a vocabulary of a file without one: %v", err)
	}
	if _, err := f.source.piecesOf(value("[]")); !errors.Is(err, errFixed) {
		t.Errorf("pieces: %v", err)
	}
	if err := f.source.mergesOf(value("[]"), &bpe{}); !errors.Is(err, errFixed) {
		t.Errorf("merges: %v", err)
	}
	if _, err := ready.Note(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a note of no file")
	}
}

// TestPlaceOfGGUF: files whose metadata differ have other keys, even if all their bytes are the
// same in a row.
func TestPlaceOfGGUF(t *testing.T) {
	one := math.Float32frombits(1)
	seen := map[string]int{}
	for i, pairs := range [][]gguf.Pair{
		{{Key: ggufPrefix + "scores", Value: []float32{one}}},
		{{Key: ggufPrefix + "scores", Value: []int32{1}}},
		{{Key: ggufPrefix + "scores", Value: int32(1)}},
		{{Key: ggufPrefix + "a", Value: []uint8{1}}, {Key: ggufPrefix + "b", Value: []uint8{2}}},
		{{Key: ggufPrefix + "a", Value: []byte("\x01\"" + ggufPrefix + "b\" \x02")}},
		{{Key: ggufPrefix + "a", Value: []string{"x", "y"}}},
		{{Key: ggufPrefix + "a", Value: []string{"xy"}}},
		{{Key: ggufPrefix + "a", Value: "xy"}},
	} {
		var b bytes.Buffer
		if err := gguf.Write(&b, pairs, nil); err != nil {
			t.Fatal(err)
		}
		f, err := gguf.Parse(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		path := Opening{Ready: "ready"}.placeOfGGUF(f, "").path
		if before, ok := seen[path]; ok {
			t.Errorf("%v has the key of file %d", pairs, before)
		}
		seen[path] = i
	}
}
