package bulk_test

import (
	"context"
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

// TestMain runs a process of TestKill's where the environment asks for one.
func TestMain(m *testing.M) {
	if given := os.Getenv("AVOFORMER_TEST_BULK"); given != "" {
		if err := process(given); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process makes the shards of dir/in in dir/out.
func process(dir string) error {
	e, err := text.OpenEmbedder(model, text.Exact())
	if err != nil {
		return err
	}
	task, err := bulk.Embed(e, "", bulk.Float32s)
	if err != nil {
		return err
	}
	report, err := bulk.Run(context.Background(), task, bulk.Options{Inputs: []string{filepath.Join(dir, "in")}, Out: filepath.Join(dir, "out"), Format: "parquet", Stale: 500 * time.Millisecond})
	if err == nil && (len(report.Failed) > 0 || report.Made+report.Found != report.Shards) {
		err = fmt.Errorf("%+v", report)
	}
	return err
}

// TestKill has two processes work on one folder and kills one of them at 20 random moments: in the end every row is
// there once, with Embed's vector.
func TestKill(t *testing.T) {
	if testing.Short() || testenv.Emulated() {
		t.Skip("a minute of processes")
	}
	const files, rows = 24, 400
	dir := t.TempDir()
	all := texts(files * rows)
	for i := range files {
		var records []record
		for j, s := range all[i*rows : (i+1)*rows] {
			records = append(records, record{int64(j), s})
		}
		name := fmt.Sprintf("%02d.jsonl", i)
		write(t, filepath.Join(dir, "in", name), encoded(t, name, records))
	}
	want, err := open(t).Embed(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	start := func() (*exec.Cmd, chan error) {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), "AVOFORMER_TEST_BULK="+dir)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		return c, ended
	}
	r := rand.New(rand.NewPCG(5, 6))
	kills := 0
	_, other := start()
	for kills < 20 {
		c, ended := start()
		select {
		case err := <-ended: // all shards are there
			if err != nil {
				t.Fatal(err)
			}
			kills = 20
		case <-time.After(time.Duration(r.IntN(int(500 * time.Millisecond)))):
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended
			kills++
		}
	}
	if err := <-other; err != nil {
		t.Fatal(err)
	}
	for i := range files {
		found := vectors(t, filepath.Join(dir, "out", fmt.Sprintf("%02d.jsonl.parquet", i)))
		if len(found) != rows {
			t.Fatalf("file %d: %d rows, want %d", i, len(found), rows)
		}
		for j, row := range found {
			if row.Row != int64(j) || !slices.Equal(row.Embedding, want[i*rows+j]) {
				t.Fatalf("file %d, row %d differs", i, j)
			}
		}
	}
}

// TestFullDisk: on a disk without room nothing is left that looks whole; with room, the same run makes all.
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
	task := embedding(t, bulk.Float32s)
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
