package store

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/search/internal/sums"
)

// history is a log, with its length and contents after each call.
type history struct {
	file   []byte
	ends   []int
	states []map[string]string
}

// record returns a short history.
func record(t testing.TB) history {
	dir := t.TempDir()
	s := open(t, dir, 2, Options{})
	var h history
	note := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
		size, _ := s.Size()
		h.ends, h.states = append(h.ends, int(size)), append(h.states, content(t, s))
	}
	note(nil)
	_, err := s.Put(Record{ID: "a", Vector: []float32{1, 2}, Payload: []byte("first")}, Record{ID: "b", Vector: []float32{3, 4}})
	note(err)
	_, err = s.Put(Record{ID: "a", Vector: []float32{5, 6}, Payload: []byte("second")})
	note(err)
	_, err = s.Remove("b", "b")
	note(err)
	_, _, err = s.Update([]string{"a"}, []Record{{ID: "a", Vector: []float32{7, 8}}, {ID: "", Vector: []float32{9, 10}, Payload: []byte("last")}})
	note(err)
	s.Close()
	if h.file, err = os.ReadFile(filepath.Join(dir, logName)); err != nil || len(h.file) != h.ends[len(h.ends)-1] {
		t.Fatal(len(h.file), err)
	}
	return h
}

// reopen opens a folder with a log, and returns its contents.
func reopen(t testing.TB, file []byte) (*Store, map[string]string, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, logName), file, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, 2, Options{})
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() { s.Close() })
	return s, content(t, s), nil
}

// whole returns the number of calls that are complete in the first n bytes.
func (h *history) whole(n int) int {
	calls := -1
	for _, end := range h.ends {
		if end <= n {
			calls++
		}
	}
	return calls
}

// TestTorn cuts a log at every byte, or overwrites the rest with zeros or other bytes. The store
// has all complete calls, and accepts changes.
func TestTorn(t *testing.T) {
	t.Parallel()
	h := record(t)
	for n := range h.file {
		for name, tail := range map[string][]byte{"cut": nil, "zeros": make([]byte, 40), "noise": bytes.Repeat([]byte("noise"), 9)} {
			if tail != nil && n%5 != 0 {
				continue
			}
			s, got, err := reopen(t, append(bytes.Clone(h.file[:n]), tail...))
			calls := h.whole(n)
			if calls < 0 {
				if !errors.Is(err, fault.ErrFormat) {
					t.Fatalf("%s at %d, in the header: %v", name, n, err)
				}
				continue
			}
			if err != nil || !maps.Equal(got, h.states[calls]) {
				t.Fatalf("%s at %d: %v, %v, want %v", name, n, err, got, h.states[calls])
			}
			if want := int64(n - h.ends[calls] + len(tail)); s.Cut() != want {
				t.Fatalf("%s at %d: %d bytes were cut off, want %d", name, n, s.Cut(), want)
			}
			if _, err := s.Put(Record{ID: "more", Vector: []float32{1, 1}}); err != nil {
				t.Fatal(err)
			}
			want := content(t, s)
			s.Close()
			again, err := Open(s.dir, 2, Options{})
			if err != nil || again.Cut() != 0 || !maps.Equal(content(t, again), want) {
				t.Fatalf("%s at %d, after another change: %v", name, n, err)
			}
			again.Close()
		}
	}
}

// TestDamaged changes every byte. Only damage of the last call may be taken for an unfinished call.
func TestDamaged(t *testing.T) {
	t.Parallel()
	h := record(t)
	last := len(h.ends) - 2 // the calls before the last
	for i := range h.file {
		changed := bytes.Clone(h.file)
		changed[i] ^= 1 << (i % 8)
		_, got, err := reopen(t, changed)
		if i < h.ends[last] {
			if !errors.Is(err, fault.ErrFormat) {
				t.Fatalf("byte %d: %v, %v", i, err, got)
			}
		} else if err != nil || !maps.Equal(got, h.states[last]) {
			t.Fatalf("byte %d of the last call: %v, %v", i, err, got)
		}
	}
	// A call is missing, or occurs twice.
	first, second := h.file[h.ends[0]:h.ends[1]], h.file[h.ends[1]:]
	for name, file := range map[string][]byte{
		"missing": append(bytes.Clone(h.file[:h.ends[0]]), second...),
		"twice":   append(append(bytes.Clone(h.file[:h.ends[1]]), first...), second...),
	} {
		if _, got, err := reopen(t, file); err == nil && !maps.Equal(got, h.states[0]) && !maps.Equal(got, h.states[1]) {
			t.Errorf("a call is %s: %v", name, got)
		}
	}
}

// TestFrames reads operations that no store writes, with valid checksums.
func TestFrames(t *testing.T) {
	t.Parallel()
	h := record(t)
	vector := make([]byte, 8)
	nan := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
	put := func(number int64, id string, vector []byte) []byte {
		b, _ := appendPut(nil, number, id, nil, vector)
		return b
	}
	for name, c := range map[string]struct {
		body []byte
		good bool
	}{
		"nothing":                    {nil, true},
		"a record":                   {put(9, "c", vector), true},
		"a record again":             {put(2, "a", vector), true},
		"an unknown operation":       {[]byte{3}, false},
		"no number":                  {[]byte{opRemove}, false},
		"an endless number":          {bytes.Repeat([]byte{0xff}, 12), false},
		"a negative number":          {binary.AppendUvarint([]byte{opRemove}, 1<<63), false},
		"a removal of nothing":       {appendRemove(nil, 77), false},
		"a second number":            {put(9, "a", vector), false},
		"a number of another id":     {put(2, "c", vector), false},
		"an earlier number":          {put(0, "c", vector), false},
		"half a vector":              {put(9, "c", vector[:7]), false},
		"a long id":                  {[]byte{opPut, 9, 200, 'a'}, false},
		"a long payload":             {append([]byte{opPut, 9, 1, 'a', 200}, vector...), false},
		"a payload of no length":     {[]byte{opPut, 9, 1, 'a'}, false},
		"a vector of other numbers":  {put(9, "c", append(nan, nan...)), false},
		"a record, then half of one": {append(put(9, "c", vector), opPut), false},
	} {
		l := &log{size: int64(len(h.file))}
		copy(l.head.salt[:], h.file[16:])
		_, got, err := reopen(t, append(bytes.Clone(h.file), frameOf(l, c.body)...))
		if c.good != (err == nil) || err != nil && !errors.Is(err, fault.ErrFormat) {
			t.Errorf("%s: %v, %v", name, err, got)
		}
	}
}

// frameOf returns a frame at the end of a log.
func frameOf(l *log, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	b = binary.LittleEndian.AppendUint32(b, l.sum(l.size, b[:4]))
	return append(binary.LittleEndian.AppendUint32(b, l.sum(l.size, body)), body...)
}

// TestOverlapping verifies that headers which claim the same bytes are an error, since no store
// writes them.
func TestOverlapping(t *testing.T) {
	t.Parallel()
	h := record(t)
	l := &log{size: int64(len(h.file))}
	copy(l.head.salt[:], h.file[16:])
	file := append(bytes.Clone(h.file), 0) // no frame begins here
	const tail = 1000
	for range tail {
		at := int64(len(file))
		b := binary.LittleEndian.AppendUint32(nil, uint32(tail*frameSize-(at-l.size-1)-frameSize))
		file = append(binary.LittleEndian.AppendUint32(append(file, b...), l.sum(at, b)), 0, 0, 0, 0)
	}
	if _, got, err := reopen(t, file); !errors.Is(err, fault.ErrFormat) {
		t.Errorf("%v, %v", err, got)
	}
}

// TestPayloadOfFrames verifies that a payload with a copy of the log is not taken for calls after a
// damaged one.
func TestPayloadOfFrames(t *testing.T) {
	h := record(t)
	s, before, err := reopen(t, h.file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(Record{ID: "copy", Vector: []float32{1, 1}, Payload: h.file}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	file, err := os.ReadFile(filepath.Join(s.dir, logName))
	if err != nil {
		t.Fatal(err)
	}
	if _, got, err := reopen(t, file[:len(file)-1]); err != nil || !maps.Equal(got, before) {
		t.Errorf("%v, %v", err, got)
	}
	// A frame for its place, but without the salt, which authors of payloads do not know.
	op, _ := appendPut(nil, 2, "frame", nil, nil)
	l := &log{size: int64(len(h.file) + frameSize + len(op))}
	s, _, err = reopen(t, h.file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := s.Put(Record{ID: "frame", Vector: []float32{1, 1}, Payload: frameOf(l, []byte("body"))})
	if err != nil || s.places[n[0]].at != l.size {
		t.Fatal(err, s.places[n[0]].at, l.size)
	}
	s.Close()
	if file, err = os.ReadFile(filepath.Join(s.dir, logName)); err != nil {
		t.Fatal(err)
	}
	if _, got, err := reopen(t, file[:len(file)-1]); err != nil || !maps.Equal(got, before) {
		t.Errorf("%v, %v", err, got)
	}
}

// TestChangedLater verifies that a record whose bytes change while the store is open is an error.
func TestChangedLater(t *testing.T) {
	s, _, err := reopen(t, record(t).file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Get("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.log.file.WriteAt([]byte("x"), s.places[r.Number].at); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(""); !errors.Is(err, fault.ErrFormat) {
		t.Error(err)
	}
	if err := s.Compact(); !errors.Is(err, fault.ErrFormat) {
		t.Error(err)
	}
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) != 2 {
		t.Error(entries, err)
	}
}

// TestInterrupted verifies that Open removes the file of an interrupted compaction.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{logName + ".1.tmp", "mine"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir, 1, Options{})
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Error(entries, err)
	}
}

// TestKilled ends a process while it changes records. The changes of all calls that returned must
// exist afterwards. No other process can open the folder before.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("AVOFORMER_TEST_STORE"); dir != "" {
		testenv.EndWithParent()
		s := open(t, dir, 64, Options{})
		for i := 0; ; i++ {
			r := Record{ID: fmt.Sprint(i), Vector: make([]float32, 64), Payload: bytes.Repeat([]byte{byte(i)}, i%5000)}
			if _, err := s.Put(r); err != nil {
				t.Fatal(err)
			}
			fmt.Println("put", i)
		}
	}
	if runtime.GOOS != "linux" {
		t.Skip("needs a lock and a process to end")
	}
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for range 3 {
		child := testenv.EndsWithUs(exec.Command(program, "-test.run=^TestKilled$", "-test.v"))
		child.Env = append(child.Environ(), "AVOFORMER_TEST_STORE="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		last, lines := -1, bufio.NewScanner(out)
		for lines.Scan() {
			if _, err := fmt.Sscanf(lines.Text(), "put %d", &last); err != nil {
				continue
			}
			if last == 100 {
				if _, err := Open(dir, 64, Options{}); !errors.Is(err, fault.ErrLocked) {
					t.Errorf("opened by two processes: %v", err)
				}
			}
			if last == 300 {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		child.Wait()
		if last < 300 {
			t.Fatalf("it ended at %d", last)
		}
		s := open(t, dir, 64, Options{})
		for i := range last + 1 {
			if r, err := s.Get(fmt.Sprint(i)); err != nil || len(r.Payload) != i%5000 {
				t.Fatalf("record %d of %d: %v", i, last, err)
			}
		}
		s.Close()
	}
}

// mended returns a log with valid checksums, as far as its lengths are valid.
func mended(file []byte) []byte {
	if len(file) < headerSize {
		return file
	}
	begin := headerSize + int(file[headerSize-1])
	if len(file) < begin+4 {
		return file
	}
	binary.LittleEndian.PutUint32(file[begin:], crc32.Checksum(file[:begin], sums.Castagnoli))
	l := &log{size: int64(begin + 4)}
	copy(l.head.salt[:], file[16:])
	for int(l.size)+frameSize <= len(file) {
		n := int(binary.LittleEndian.Uint32(file[l.size:]))
		if n > len(file)-int(l.size)-frameSize {
			break
		}
		copy(file[l.size:], frameOf(l, file[int(l.size)+frameSize:][:n]))
		l.size += int64(frameSize + n)
	}
	return file
}

// FuzzOpen opens any log, with its own checksums or valid ones. Open returns an error, or every
// record can be read and found.
func FuzzOpen(f *testing.F) {
	h := record(f)
	f.Add(h.file, false)
	f.Add(h.file, true)
	f.Add(h.file[:h.ends[2]+5], true)
	f.Fuzz(func(t *testing.T, file []byte, mend bool) {
		if mend {
			file = mended(bytes.Clone(file))
		}
		s, got, err := reopen(t, file)
		if err != nil {
			if !errors.Is(err, fault.ErrFormat) && !errors.Is(err, fault.ErrOption) && !errors.Is(err, fault.ErrOtherResults) {
				t.Fatal(err)
			}
			return
		}
		if err := s.Compact(); err != nil {
			t.Fatal(err)
		}
		s.Close()
		again := open(t, s.dir, 2, Options{})
		if again.Cut() != 0 || !maps.Equal(content(t, again), got) {
			t.Fatal("the store differs after compaction")
		}
		again.Close()
	})
}

// FuzzDamage overwrites a part of a log and cuts it. Open returns an error, or the store has its
// contents after one of the calls.
func FuzzDamage(f *testing.F) {
	h := record(f)
	f.Add(60, []byte{1, 2, 3}, 0)
	f.Add(len(h.file)-4, []byte{0, 0, 0, 0}, 0)
	f.Add(h.ends[1], h.file[h.ends[0]:h.ends[1]], 9)
	f.Fuzz(func(t *testing.T, at int, part []byte, cut int) {
		if at < 0 || at > len(h.file) || cut < 0 || cut > len(h.file) {
			return
		}
		file := bytes.Clone(h.file)
		copy(file[at:], part)
		file = file[:len(file)-cut]
		_, got, err := reopen(t, file)
		if err != nil {
			if !errors.Is(err, fault.ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		same := 0
		for same < len(file) && file[same] == h.file[same] {
			same++
		}
		if want := h.states[max(0, h.whole(same))]; !maps.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}
