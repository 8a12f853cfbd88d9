// This file computes one shard. It reads, computes and writes several chunks of rows at a time.

package bulk

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// Limits of a chunk, which the task computes in one call.
const (
	chunkRows  = 1024
	chunkBytes = 1 << 20
	// chunksAhead is the number of chunks that are read or computed while one is written, so that
	// the task never waits for the next chunk.
	chunksAhead = 3
)

// chunk has some rows and, after done is closed, their results.
type chunk struct {
	rows    []row
	results []Result // of the rows without an error
	err     error    // of reading or computing; io.EOF after the last
	done    chan struct{}
}

// shard is an input while it is computed.
type shard struct {
	*run
	name     string // name of its files in the folder
	input    string
	size     int64  // of the input
	busy     bool   // a worker of this run computes it
	computed func() // called after the texts have been computed
	began    time.Time
	count    Counts
	files    []*output
	dead     *output // nil without dead letters
	into     writer
	warned   bool // a control character was reported
}

// path returns the path of a file of the shard.
func (s *shard) path(end string) string {
	return filepath.Join(s.options.Out, filepath.FromSlash(s.name)) + end
}

// work computes the shard, whose claim is held. If it returns neither a manifest nor an error, the
// claim was lost.
func (s *shard) work(ctx context.Context, held *claim) (m *Manifest, err error) {
	s.began = time.Now()
	defer func() {
		for _, o := range append(s.files, s.dead) {
			if o != nil {
				o.drop()
			}
		}
	}()
	in, err := open(s.input, &s.options)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	before, err := in.file.Stat()
	if err != nil {
		return nil, err
	}
	if err := s.begin(in.columns()); err != nil {
		return nil, err
	}
	if err := s.pass(ctx, in); err != nil {
		return nil, err
	}
	s.computed()
	sum, err := in.digest()
	if err != nil {
		return nil, err
	}
	after, err := os.Stat(s.input)
	if err != nil {
		return nil, err
	}
	if after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return nil, check.Errorf(fault.ErrInput, "the file changed while it was read")
	}
	m = &Manifest{
		Input: Input{s.input, before.Size(), before.ModTime(), sum},
		Work:  s.label, Fingerprint: s.fingerprint, Counts: s.count,
	}
	return s.finish(m, held)
}

// begin creates the files of results.
func (s *shard) begin(passed []Column) error {
	columns := append(slices.Clone(passed), Column{Name: "row", Kind: Int64})
	columns = append(append(columns, s.task.Columns...), counted...)
	seen := map[string]bool{}
	for _, c := range columns {
		if seen[c.Name] {
			return check.Errorf(fault.ErrOption, "the column %q is passed on, and also a result", c.Name)
		}
		seen[c.Name] = true
	}
	var files []io.Writer
	for _, end := range ends[s.options.Format] {
		o, err := create(s.path(end), s.claims.text.Token)
		if err != nil {
			return err
		}
		s.files, files = append(s.files, o), append(files, o)
	}
	var err error
	s.into, err = newWriter(s.options.Format, files, columns, s.name)
	return err
}

// pass reads all rows from in, computes them, and writes them to the files.
func (s *shard) pass(ctx context.Context, in reader) error {
	ctx, cancel := context.WithCancel(ctx)
	chunks := make(chan *chunk, chunksAhead)
	go func() {
		defer close(chunks)
		for {
			c := readChunk(in)
			go s.compute(ctx, c)
			select {
			case chunks <- c:
			case <-ctx.Done():
				return
			}
			if c.err != nil {
				return
			}
		}
	}()
	defer func() { // so that nothing is read after the return
		cancel()
		for range chunks {
		}
	}()
	for c := range chunks {
		<-c.done
		if err := s.take(c); err != nil {
			return err
		}
		if errors.Is(c.err, io.EOF) {
			return nil
		} else if c.err != nil {
			return c.err
		}
	}
	return context.Cause(ctx)
}

// readChunk reads the next rows. The chunk's err is the error after these rows.
func readChunk(in reader) *chunk {
	c := &chunk{done: make(chan struct{})}
	for bytes := 0; len(c.rows) < chunkRows && bytes < chunkBytes; {
		x, err := in.next()
		if err != nil {
			c.err = err
			return c
		}
		c.rows = append(c.rows, x)
		bytes += max(len(x.text), len(x.raw))
	}
	return c
}

// compute computes the results of a chunk.
func (s *shard) compute(ctx context.Context, c *chunk) {
	defer close(c.done)
	var texts []string
	for _, x := range c.rows {
		if x.err == nil {
			texts = append(texts, x.text)
		}
	}
	var err error
	if c.results, err = s.task.Each(ctx, texts); err != nil {
		c.rows, c.err = nil, err
	}
}

// take writes the results of a chunk and its dead rows.
func (s *shard) take(c *chunk) error {
	var out [][]any
	results := c.results
	for _, x := range c.rows {
		s.count.Rows++
		if x.control && x.err == nil && !s.warned {
			s.warned = true
			s.warn("%s: line %d holds control characters; this line and later ones are used unchanged", s.input, x.number+1)
		}
		var r Result
		if x.err == nil {
			r, results = results[0], results[1:]
			x.err = r.Err
		}
		if x.err != nil {
			if err := s.bury(x); err != nil {
				return err
			}
			continue
		}
		s.count.Written++
		s.count.Tokens += uint64(r.Tokens)
		if r.Cut {
			s.count.Cut++
		}
		if r.Windows > 1 {
			s.count.Split++
		}
		out = append(out, r.append(append(x.passed, x.number)))
	}
	s.tell(int64(len(c.rows)))
	if len(out) == 0 {
		return nil
	}
	return s.into.write(out)
}

// bury writes a dead letter.
func (s *shard) bury(x row) error {
	if s.dead == nil {
		var err error
		if s.dead, err = create(s.path(deadEnd), s.claims.text.Token); err != nil {
			return err
		}
	}
	s.count.Dead++
	line, err := dead(s.input, x)
	if err == nil {
		_, err = s.dead.Write(line)
	}
	return err
}

// finish renames the files to their names, the manifest last.
func (s *shard) finish(m *Manifest, held *claim) (*Manifest, error) {
	if err := s.into.close(); err != nil {
		return nil, err
	}
	files := s.files
	if s.dead != nil {
		files = append(files, s.dead)
	}
	for _, o := range files {
		if err := o.finish(); err != nil {
			return nil, err
		}
		m.Outputs = append(m.Outputs, Output{filepath.Base(o.path), o.bytes, o.digest()})
	}
	if mine, err := held.mine(); err != nil || !mine {
		return nil, err
	}
	for _, o := range files {
		if err := o.place(); err != nil {
			return nil, err
		}
	}
	if held.turn > 0 { // an earlier claim was abandoned
		if err := s.sweep(); err != nil {
			return nil, err
		}
	}
	if err := syncFolder(filepath.Dir(s.path(""))); err != nil {
		return nil, err
	}
	m.Seconds = time.Since(s.began).Seconds()
	return m, writeWhole(s.path(manifestEnd), s.claims.text.Token, m)
}

// sweep removes incomplete files of the shard that other processes left. If such a process still
// runs, it will find that its claim was taken over.
func (s *shard) sweep() error {
	dir, name := filepath.Split(s.path(""))
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		rest, ok := strings.CutPrefix(f.Name(), name)
		if !ok || !strings.HasSuffix(rest, partEnd) {
			continue
		}
		rest = strings.TrimSuffix(rest, partEnd)
		i := strings.LastIndexByte(rest, '.')
		if i < 0 || !isToken(rest[i+1:]) || rest[i+1:] == s.claims.text.Token || !slices.Contains(s.ends(), rest[:i]) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// ends returns the endings of the names of all files of the shard.
func (s *shard) ends() []string {
	return append(slices.Clone(ends[s.options.Format]), deadEnd, manifestEnd, failedEnd)
}
