package bulk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/text"
)

// TestMain runs a process of TestKill if the environment requests one.
func TestMain(m *testing.M) {
	if given := os.Getenv("AVOFORMER_TEST_BULK"); given != "" {
		testenv.EndWithParent()
		if err := process(given); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process computes the shards of dir/in in dir/out, except a damaged one, and prints the number of
// shards that it computed.
func process(dir string) error {
	e, err := text.OpenEmbedder(model, text.Options{})
	if err != nil {
		return err
	}
	task, err := bulk.Embed(e, "", bulk.Float32Vectors)
	if err != nil {
		return err
	}
	report, err := bulk.Run(context.Background(), task, bulk.Options{Inputs: []string{filepath.Join(dir, "in")}, Out: filepath.Join(dir, "out"), Format: "parquet", Stale: 500 * time.Millisecond})
	if err == nil && (len(report.Failed) != 1 || report.Made+report.Found+1 != report.Shards || report.Written+report.Dead != report.Rows) {
		err = fmt.Errorf("%+v", report)
	}
	fmt.Println(report.Made)
	return err
}

// folder is a folder that several processes work on.
type folder struct {
	dir         string
	files, rows int
	want        [][]float32 // of all rows
}

// newFolder writes files of rows to dir/in. Each has one more row, which is not UTF-8. One more
// file is damaged.
func newFolder(t *testing.T, files, rows int) *folder {
	t.Helper()
	f := &folder{dir: t.TempDir(), files: files, rows: rows}
	all := texts(files * rows)
	for i := range files {
		var records []record
		for j, s := range all[i*rows : (i+1)*rows] {
			records = append(records, record{int64(j), s})
		}
		name := fmt.Sprintf("%02d.jsonl", i)
		write(t, filepath.Join(f.dir, "in", name), append(encoded(t, name, records), "{\"text\": \"no UTF-8: \xff\"}\n"...))
	}
	write(t, filepath.Join(f.dir, "in", "damaged.parquet"), []byte("PAR1 no more"))
	var err error
	if f.want, err = outputs(open(t, text.Options{}).Embed(t.Context(), text.Texts(all...), text.EmbedOptions{})); err != nil {
		t.Fatal(err)
	}
	return f
}

// start starts a process, with the prefix of a command such as "nice".
func (f *folder) start(t *testing.T, before ...string) (c *exec.Cmd, said *bytes.Buffer, ended chan error) {
	t.Helper()
	line := append(before, os.Args[0])
	c = testenv.EndsWithUs(exec.CommandContext(t.Context(), line[0], line[1:]...))
	c.Env = append(c.Environ(), "AVOFORMER_TEST_BULK="+f.dir)
	said = &bytes.Buffer{}
	c.Stdout, c.Stderr = said, os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 1)
	go func() { ended <- c.Wait() }()
	return c, said, ended
}

// check verifies that each row occurs exactly once, with Embed's vector or the reason of a dead
// letter.
func (f *folder) check(t *testing.T) {
	t.Helper()
	for i := range f.files {
		out := filepath.Join(f.dir, "out", fmt.Sprintf("%02d.jsonl", i))
		found := vectors(t, out+".parquet")
		if len(found) != f.rows {
			t.Fatalf("file %d: %d rows, want %d", i, len(found), f.rows)
		}
		for j, row := range found {
			if row.Row != int64(j) || !slices.Equal(row.Embedding, f.want[i*f.rows+j]) {
				t.Fatalf("file %d, row %d differs", i, j)
			}
		}
		dead, err := os.ReadFile(out + ".dead.jsonl")
		if err != nil || strings.Count(string(dead), "\n") != 1 || !strings.Contains(string(dead), fmt.Sprintf(`"row":%d,"reason":"not UTF-8"`, f.rows)) {
			t.Errorf("file %d: dead letters %s, %v", i, dead, err)
		}
		m, err := bulk.ReadManifest(out + ".json")
		if rows := uint64(f.rows); err != nil || m.Counts.Rows != rows+1 || m.Counts.Written != rows || m.Counts.Dead != 1 {
			t.Errorf("file %d: %+v, %v", i, m, err)
		}
	}
	why, err := os.ReadFile(filepath.Join(f.dir, "out", "damaged.parquet.failed.json"))
	if err != nil || !strings.Contains(string(why), "damaged.parquet") {
		t.Errorf("the damaged file: %s, %v", why, err)
	}
}

// TestKill runs two processes on one folder, and kills one of them at 20 random moments. In the end
// every row must occur once, with Embed's vector or as a dead letter.
func TestKill(t *testing.T) {
	if testing.Short() || testenv.Emulated() {
		t.Skip("takes a minute")
	}
	f := newFolder(t, 24, 400)
	r := rand.New(rand.NewPCG(5, 6))
	for kills := 0; kills < 20; { // computes the whole folder, perhaps more than once
		if err := os.RemoveAll(filepath.Join(f.dir, "out")); err != nil {
			t.Fatal(err)
		}
		_, _, other := f.start(t)
		for made := false; !made; {
			c, _, ended := f.start(t)
			select {
			case err := <-ended: // all shards are complete
				if err != nil {
					t.Fatal(err)
				}
				made = true
			case <-time.After(time.Duration(r.IntN(int(500 * time.Millisecond)))):
				switch err := c.Process.Kill(); {
				case errors.Is(err, os.ErrProcessDone): // all shards were complete before the kill
					if err := <-ended; err != nil {
						t.Fatal(err)
					}
					made = true
				case err != nil:
					t.Fatal(err)
				default:
					<-ended
					kills++
				}
			}
		}
		if err := <-other; err != nil {
			t.Fatal(err)
		}
		f.check(t)
		if left, err := filepath.Glob(filepath.Join(f.dir, "out", "*.part")); err != nil || len(left) > 0 {
			t.Errorf("left: %q, %v", left, err)
		}
	}
}

// TestNamespaces runs two processes on one folder, each in its own network namespace without a
// network. They must divide the files without losing or repeating a row.
func TestNamespaces(t *testing.T) {
	if testing.Short() || testenv.Emulated() {
		t.Skip("takes a quarter of a minute")
	}
	names := []string{fmt.Sprintf("avoformer%d", os.Getpid()), fmt.Sprintf("avoformer%d-2", os.Getpid())}
	for _, name := range names {
		message, err := exec.Command("ip", "netns", "add", name).CombinedOutput()
		if err != nil && (os.Geteuid() != 0 || strings.Contains(string(message), "not permitted")) {
			t.Skipf("making network namespaces is not permitted: %s", message)
		} else if err != nil {
			t.Fatalf("ip, of Debian's iproute2: %v: %s", err, message)
		}
		defer func() {
			if message, err := exec.Command("ip", "netns", "delete", name).CombinedOutput(); err != nil {
				t.Errorf("%s", message)
			}
		}()
	}
	f := newFolder(t, 40, 200)
	_, first, ended := f.start(t, "ip", "netns", "exec", names[0])
	_, second, endedToo := f.start(t, "ip", "netns", "exec", names[1])
	if err := errors.Join(<-ended, <-endedToo); err != nil {
		t.Fatal(err)
	}
	f.check(t)
	var a, b int
	if n, err := fmt.Sscan(first.String()+second.String(), &a, &b); n != 2 || a+b != f.files || a == 0 || b == 0 {
		t.Errorf("%d and %d files were made, of %d; %v", a, b, f.files, err)
	}
	t.Logf("%d and %d files", a, b)
}

// TestFullDisk verifies that a run on a full disk leaves no file that looks complete, and that the
// same run succeeds when there is space.
func TestFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("needs a file system of its own")
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	if message, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", out).CombinedOutput(); err != nil {
		t.Skipf("%s", message)
	}
	defer func() {
		if message, err := exec.Command("umount", out).CombinedOutput(); err != nil {
			t.Errorf("%s", message)
		}
	}()
	write(t, filepath.Join(dir, "in/a.txt"), []byte(strings.Join(texts(3000), "\n")+"\n"))
	task := embedding(t, bulk.Float32Vectors, text.Options{})
	o := bulk.Options{Inputs: []string{filepath.Join(dir, "in")}, Out: out, Format: "parquet", Pause: time.Millisecond}
	report, err := bulk.Run(t.Context(), task, o)
	if err == nil && len(report.Failed) == 0 || report.Made != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	if whole, err := filepath.Glob(filepath.Join(out, "*.parquet")); err != nil || len(whole) > 0 {
		t.Errorf("%q, %v", whole, err)
	}
	noneLeft(t, out)
	if message, err := exec.Command("mount", "-o", "remount,size=64m", out).CombinedOutput(); err != nil {
		t.Fatalf("%s", message)
	}
	if report, err = bulk.Run(t.Context(), task, o); err != nil || report.Made != 1 || report.Written != 3000 {
		t.Errorf("%+v, %v", report, err)
	}
}
