// This file has the options of a run.

package bulk

import (
	"os"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// Options say which files a run reads and writes.
type Options struct {
	// Inputs are files and folders. A folder stands for all files in it and in its folders. Results
	// have the names of the files, or their paths within the folder.
	Inputs []string
	Input  string   // format: "lines", "jsonl", "csv", "tsv" or "parquet"; "" chooses by the files' names
	Text   string   // the field or column of texts; "" is "text"
	Pass   []string // fields and columns to pass on: "name", "name:kind", or "*" for all columns of files that name them

	Out    string // the folder of results
	Format string // "parquet", "arrow", "npy", "jsonl", "csv" or "elastic"

	// Shard is the number, from 1, of this run's part of the inputs, and Shards the number of
	// parts. If both are 0, the run has all inputs.
	Shard, Shards int
	// Concurrent is the number of shards that are computed at once; 0 is 2. Their texts share
	// batches.
	Concurrent int
	// Attempts is the largest number of attempts for a shard that cannot be read or written; 0 is
	// 3. Pause is the time before the second attempt, and doubles after each; 0 is a second.
	Attempts int
	Pause    time.Duration
	// Stale is the time after which an unchanged claim counts as abandoned; 0 is a minute.
	Stale time.Duration
	// Progress, unless nil, is called with the progress so far, by one goroutine at a time.
	Progress func(Progress)
	// Warn, unless nil, is called with a problem of an input that does not stop the run, once for
	// each input and kind of problem, by one goroutine at a time.
	Warn func(warning string)

	pass passing
}

// Progress is the progress of all runs on a folder.
type Progress struct {
	Shards, Done int           // shards of this run, and those among them that are complete
	Bytes, Read  int64         // input bytes of these shards, and of the complete ones
	Rows         int64         // read by this run
	Elapsed      time.Duration // since this run began
	Left         time.Duration // estimated from this run's rate so far; 0: not known yet
}

// ends has the endings of the names of a format's files. The first one is that of the results' main
// file.
var ends = map[string][]string{
	"parquet": {".parquet"},
	"arrow":   {".arrow"},
	"npy":     {".npy", ".rows.jsonl"},
	"jsonl":   {".out.jsonl"},
	"csv":     {".out.csv"},
	"elastic": {".bulk.ndjson"},
}

// check sets options that are zero to their defaults, and creates the folder of results.
func (o *Options) check() error {
	if ends[o.Format] == nil {
		return check.Errorf(fault.ErrOption, "Format %q, want parquet, arrow, npy, jsonl, csv or elastic", o.Format)
	}
	if o.Text == "" {
		o.Text = "text"
	}
	if o.Shards == 0 && o.Shard == 0 {
		o.Shard, o.Shards = 1, 1
	}
	if o.Shard < 1 || o.Shard > o.Shards {
		return check.Errorf(fault.ErrOption, "Shard %d of %d, want 1 to the number of Shards", o.Shard, o.Shards)
	}
	if o.Concurrent < 0 || o.Attempts < 0 || o.Stale < 0 || o.Pause < 0 {
		return check.Errorf(fault.ErrOption, "Concurrent %d, Attempts %d, Stale %v, Pause %v: want at least 0", o.Concurrent, o.Attempts, o.Stale, o.Pause)
	}
	orElse(&o.Concurrent, 2)
	orElse(&o.Attempts, 3)
	orElse(&o.Pause, time.Second)
	orElse(&o.Stale, time.Minute)
	var err error
	if o.pass, err = parsePass(o.Pass); err != nil {
		return err
	}
	return os.MkdirAll(o.Out, 0o777)
}

func orElse[T comparable](v *T, other T) {
	var none T
	if *v == none {
		*v = other
	}
}
