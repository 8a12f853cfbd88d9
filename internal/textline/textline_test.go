package textline

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 1<<17)
	l := NewReader(strings.NewReader("one\r\n\n" + long + "\ntwo"))
	for i, want := range []string{"one", "", long, "two"} {
		if line, err := l.Next(); err != nil || string(line) != want || l.N != i+1 {
			t.Errorf("line %d: %.10q, %v, want %.10q", l.N, line, err, want)
		}
	}
	if _, err := l.Next(); err != io.EOF || l.N != 4 || l.Bytes != int64(len("one\r\n\n\ntwo")+len(long)) {
		t.Errorf("%v after %d lines and %d bytes", err, l.N, l.Bytes)
	}
}

// endless is a line that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestLong(t *testing.T) {
	l := NewReader(io.MultiReader(strings.NewReader("one\n"), endless{}))
	_, _ = l.Next()
	if _, err := l.Next(); !errors.Is(err, ErrLong) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v, want that line 2 is too long", err)
	}
}

func TestBinary(t *testing.T) {
	for line, want := range map[string]bool{"": false, "a\tb\x1b[1m": false, "\x01": false, "\xcf\xf0\xe8\xe2\xe5\xf2": false, "\xff\x01": true, "a\x00b": true, "P\x00a\x00": true} {
		if got := Binary([]byte(line)); got != want {
			t.Errorf("%q: binary %t, want %t", line, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for s, want := range map[string]string{"": `""`, "a\"\\\n\x01": `"a\"\\\n\u0001"`, "<b> & é": `"<b> & é"`} {
		if got := Quote(s); !slices.Equal(got, []byte(want)) {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}
