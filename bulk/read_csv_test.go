package bulk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// csvTextsOf returns the texts of a file, or the error of a row in place of its text, and the error
// that ends the file.
func csvTextsOf(t *testing.T, name, data, input string) (texts []string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := open(path, &Options{Text: "text", Input: input})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for {
		x, err := s.next()
		if errors.Is(err, io.EOF) {
			return texts, nil
		} else if err != nil {
			return texts, err
		}
		if x.err != nil {
			x.text = fmt.Sprint("! ", x.err)
		}
		texts = append(texts, x.text)
	}
}

// TestBareQuotes verifies that a quote within a field that does not begin with a quote is a
// character, and that later records are read. A field that begins with a quote must end with one.
func TestBareQuotes(t *testing.T) {
	long := strings.Repeat("x", 1<<13) // beyond the reader's buffer
	for _, c := range []struct {
		data  string
		want  []string
		fails bool
	}{
		{"id,text\n1,a 5\" pipe\n2,b\n", []string{`a 5" pipe`, "b"}, false},
		{"id,text\n1,a\n2,5\" and 6\"\n3,\"quoted, \"\"c\"\"\"\n", []string{"a", `5" and 6"`, `quoted, "c"`}, false},
		{"id,text\n\"two\nlines\",5\" pipe\n2," + long + "\n3,x\"y\n4,d", []string{`5" pipe`, long, `x"y`, "d"}, false},
		{"text,5\" pipe\na,1\nb,2\n", []string{"a", "b"}, false},
		{"id,text\n1,a\"b,c\n2,d\n", []string{"! 3 fields, the line of names has 2", "d"}, false},
		{"id,text\n1,a\n2,\"b\" c\n3,d\n", []string{"a"}, true},
		{"id,text\n1,a\n2,\"b\n3,d\n", []string{"a"}, true},
		{"id,text\nx\"y,\"two\nlines, \"\"c\"\"\"\r\n2,d\n", []string{"two\nlines, \"c\"", "d"}, false},
		{"id,text\n\"1\"\"\nx\",a\"\"b\"\n2,\"\"\n3,c\"\r\n\r\n\"4\",d", []string{`a""b"`, "", `c"`, "d"}, false},
		{"id,text\n1,\xff'a\"\xff\n2,d\n", []string{"! not UTF-8", "d"}, false},
		{"id,text\n1,a\n2\",\"b\n3,d\n", []string{"a"}, true},
		{"id,text\n1,a\n2\",\"b\" c\n3,d\n", []string{"a"}, true},
		{"id,text\n1,a\n2\",\"b\"\"\" c\n3,d\n", []string{"a"}, true},
	} {
		got, err := csvTextsOf(t, "x.csv", c.data, "")
		if !slices.Equal(got, c.want) || (err != nil) != c.fails || c.fails && !errors.Is(err, fault.ErrInput) {
			t.Errorf("%.60q: %q, %v", c.data, got, err)
		}
	}
}

// TestTabs verifies that .tsv has tabs in place of commas, and that .json is an error that names
// the file.
func TestTabs(t *testing.T) {
	const data = "id\ttext\n1\ta, b\n2\t5\" pipe\n3\t\"c\td\"\n"
	want := []string{"a, b", `5" pipe`, "c\td"}
	if got, err := csvTextsOf(t, "x.tsv", data, ""); !slices.Equal(got, want) || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := csvTextsOf(t, "x.txt", data, "tsv"); !slices.Equal(got, want) || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := csvTextsOf(t, "x.json", `[{"text": "a"}]`, ""); !errors.Is(err, fault.ErrInput) || !strings.Contains(err.Error(), "x.json") {
		t.Error(err)
	}
	if got, err := csvTextsOf(t, "x.json", `{"text": "a"}`, "jsonl"); !slices.Equal(got, []string{"a"}) || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
