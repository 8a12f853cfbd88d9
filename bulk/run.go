// This file runs all shards: it finds the complete ones, claims and computes the others, and writes
// the report.

package bulk

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/fingerprint"
)

// A Report is the state after a run. The counts include all complete shards, no matter which
// process computed them.
type Report struct {
	Shards int // number of shards of this run
	Made   int // computed by this run
	Found  int // computed by other processes, or before
	Failed []Failure
	Counts
}

// Failure is a shard that could not be computed.
type Failure struct {
	Input string
	Err   error
}

// run is the state of a call of Run.
type run struct {
	options Options
	task    Task
	// All manifests of the folder must have these values.
	label, fingerprint string
	claims             *claims

	mu       sync.Mutex
	report   Report
	progress Progress
	made     int64 // input bytes of the shards that this run has computed
	began    time.Time
	left     []*shard // shards that are not complete
	err      error    // an error of the folder, which ends the run

	slots chan struct{} // one for each shard that is being read and computed
}

// Run computes all shards of the inputs that are not complete yet, and waits for shards that other
// processes compute. The error is the context's, or one of the options or the folder; failed shards
// are only in the report.
func Run(ctx context.Context, task Task, o Options) (Report, error) {
	if err := o.check(); err != nil {
		return Report{}, err
	}
	shards, err := o.shards()
	if err != nil {
		return Report{}, err
	}
	r := &run{options: o, task: task, claims: newClaims(o.Stale), began: time.Now()}
	if task.Fingerprint != nil {
		if r.fingerprint, err = task.Fingerprint(ctx); err != nil {
			return Report{}, err
		}
	}
	r.label = fmt.Sprintf("%s format=%s input=%q text=%q pass=%q", task.Name, o.Format, o.Input, o.Text, o.Pass)
	r.report.Shards, r.progress.Shards = len(shards), len(shards)
	for _, s := range shards {
		s.run = r
		if info, err := os.Stat(s.input); err == nil {
			s.size = info.Size() // an input that cannot be read fails later
		}
		r.progress.Bytes += s.size
		there, err := r.there(s)
		if err != nil {
			return r.report, err
		}
		if !there {
			r.left = append(r.left, s)
		}
	}
	r.slots = make(chan struct{}, o.Concurrent)
	var workers sync.WaitGroup
	for range min(o.Concurrent+1, len(r.left)) { // one more, so that results are written to the disk while the next texts are computed
		workers.Go(func() { r.work(ctx) })
	}
	workers.Wait()
	if err := cmp.Or(r.err, context.Cause(ctx)); err != nil {
		return r.report, err
	}
	return r.report, nil
}

// work computes shards until there are none left.
func (r *run) work(ctx context.Context) {
	for {
		select {
		case r.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		free := sync.OnceFunc(func() { <-r.slots })
		s, held, wait := r.next()
		if s != nil {
			r.make(ctx, s, held, free)
		}
		free()
		if s == nil && !wait || ctx.Err() != nil {
			return
		} else if s == nil { // other workers or processes compute all that are left
			select {
			case <-ctx.Done():
			case <-time.After(min(r.options.Stale/4, time.Second)):
			}
		}
	}
}

// next claims a shard. If it returns none, wait reports whether other processes are computing
// shards.
func (r *run) next() (s *shard, held *claim, wait bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := 0; i < len(r.left) && r.err == nil; i++ {
		s := r.left[i]
		if s.busy {
			continue // the worker that computes it calls next again if the shard is not completed
		}
		there, err := r.there(s)
		var held *claim
		if err == nil && !there {
			held, err = r.claims.take(s.path(""))
		}
		if held != nil { // another process may have completed it meanwhile
			if there, err = r.there(s); err != nil || there {
				held.release()
			}
		}
		switch {
		case err != nil:
			r.err = err
			return nil, nil, false
		case there:
			r.left = slices.Delete(r.left, i, i+1)
			i--
		case held == nil:
			wait = true
		default:
			s.busy = true
			return s, held, false
		}
	}
	return nil, nil, wait && r.err == nil
}

// there reports whether a shard is complete. If so, it counts the shard.
func (r *run) there(s *shard) (bool, error) {
	m, err := ReadManifest(s.path(manifestEnd))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if m.Work != r.label {
		return false, check.Errorf(fault.ErrOtherResults, "%s.json: its work is %s, want %s as in this run", s.path(""), m.Work, r.label)
	}
	if differs := fingerprint.Difference(m.Fingerprint, r.fingerprint); differs != "" {
		return false, check.Errorf(fault.ErrOtherResults, "%s.json: %s", s.path(""), differs)
	}
	if err := m.Input.same(s.input); err != nil {
		return false, err
	}
	for _, output := range m.Outputs {
		there, err := output.there(filepath.Dir(s.path("")))
		if err != nil || !there {
			return false, err
		}
	}
	r.report.Found++
	r.count(s, m.Counts)
	return true, nil
}

// there reports whether the output is still in the folder. An output of another length is an error,
// since somebody may have changed it.
func (o Output) there(folder string) (bool, error) {
	path := filepath.Join(folder, o.Name)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if info.Size() != o.Bytes {
		return false, check.Errorf(fault.ErrOtherResults, "%s has %d bytes, its manifest states %d; remove the manifest to compute the file again", path, info.Size(), o.Bytes)
	}
	return true, nil
}

// same returns an error if the input has changed. An input that was removed counts as unchanged.
func (in Input) same(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == in.Bytes && info.ModTime().Equal(in.Modified) {
		return nil
	} else if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if fmt.Sprintf("%x", sum.Sum(nil)) != in.SHA256 {
		return check.Errorf(fault.ErrOtherResults, "%s has changed since its results were computed; remove their manifest to compute them again", path)
	}
	return nil
}

// count adds a complete shard to the report.
func (r *run) count(s *shard, c Counts) {
	r.report.add(c)
	r.progress.Done++
	r.progress.Read += s.size
}

// make computes a shard that this run has claimed, and repeats attempts that may succeed later. It
// calls computed after the shard's texts have been computed.
func (r *run) make(ctx context.Context, s *shard, held *claim, computed func()) {
	defer held.release()
	var m *Manifest
	var err error
	pause := r.options.Pause
	for attempt := 1; ; attempt++ {
		fresh := &shard{run: r, name: s.name, input: s.input, computed: computed}
		if m, err = fresh.work(ctx, held); err == nil || ctx.Err() != nil || attempt == r.options.Attempts || lasting(err) {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause *= 2
	}
	failed := s.path(failedEnd)
	if err != nil && ctx.Err() == nil {
		_ = writeWhole(failed, r.claims.text.Token, failure{s.input, err.Error()}) // the report has the error too
		if held.turn > 0 {
			_ = s.sweep() // the earlier error is reported
		}
	} else if m != nil {
		_ = os.Remove(failed)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.busy = false
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		r.report.Failed = append(r.report.Failed, Failure{s.input, err})
	case m == nil:
		return // another process has taken it over
	default:
		r.report.Made++
		r.made += s.size
		r.count(s, m.Counts)
	}
	r.left = slices.DeleteFunc(r.left, func(x *shard) bool { return x == s })
}

// lasting reports whether another attempt would fail in the same way.
func lasting(err error) bool {
	return errors.Is(err, fault.ErrInput) || errors.Is(err, fault.ErrOption) || errors.Is(err, fs.ErrNotExist)
}

// warn passes a problem of an input to Options.Warn.
func (r *run) warn(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.options.Warn != nil {
		r.options.Warn(fmt.Sprintf(format, args...))
	}
}

// tell adds rows to the progress and reports it.
func (r *run) tell(rows int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress.Rows += rows
	if r.options.Progress == nil {
		return
	}
	p := r.progress
	p.Elapsed = time.Since(r.began)
	if r.made > 0 {
		p.Left = time.Duration(float64(p.Elapsed) * float64(p.Bytes-p.Read) / float64(r.made))
	}
	r.options.Progress(p)
}
