package textline

import (
	"errors"
	"io"
	"math/rand/v2"
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

// endless is a line without an end.
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

// TestBinary: numbers, UTF-16 and compressed data are binary. Text with a stray control character
// is not, nor is text in an older encoding, nor text that is cut in the middle of a character.
func TestBinary(t *testing.T) {
	random := make([]byte, head)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	for _, x := range []struct {
		name, first string
		want        bool
	}{
		{"nothing", "", false}, {"colours", strings.Repeat("a\tb\x1b[1m\n", 99), false}, {"one NUL", "a\x00b", false},
		{"a NUL in a line", strings.Repeat("some text\n", 300) + "\x00\n" + strings.Repeat("more\n", 50), false},
		{"an older encoding", strings.Repeat("\xcf\xf0\xe8\xe2\xe5\xf2 ", 99), false},
		{"a character at the cut", strings.Repeat("\x01", 65) + strings.Repeat("x", head-65-1) + "é"[:1], false},
		{"float32", strings.Repeat("\x00\x00\x80\x3f", 99), true}, {"UTF-16", "P\x00a\x00r\x00\n\x00", true},
		{"compressed", string(random), true},
	} {
		if got := Binary([]byte(x.first)); got != x.want {
			t.Errorf("%s: binary %t, want %t", x.name, got, x.want)
		}
	}
	for _, in := range []string{"P\x00a\x00\n\x00Q\x00", string(random)} {
		if _, err := NewReader(strings.NewReader(in)).Next(); !errors.Is(err, ErrBinary) {
			t.Errorf("%.10q: %v, want ErrBinary", in, err)
		}
	}
	if !Control([]byte("a\x00")) || !Control([]byte("\x7f")) || Control([]byte("\ta\x1b[0m\v é")) {
		t.Error("Control")
	}
}

// TestBinaryOfPipe: Next returns the first line of a pipe before the second is written.
func TestBinaryOfPipe(t *testing.T) {
	r, w := io.Pipe()
	go func() { _, _ = io.WriteString(w, "one\n") }()
	if line, err := NewReader(r).Next(); string(line) != "one" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
}

func TestQuote(t *testing.T) {
	for s, want := range map[string]string{"": `""`, "a\"\\\n\x01": `"a\"\\\n\u0001"`, "<b> & é": `"<b> & é"`} {
		if got := Quote(s); !slices.Equal(got, []byte(want)) {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}
