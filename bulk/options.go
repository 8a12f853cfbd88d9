// The options of a run.

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
	Input  string   // format: "lines", "jsonl", "csv", "tsv" or "parquet"; "" goes by the files' names
	Text   string   // the field or column of texts; "" is "text"
	Pass   []string // fields and columns to pass on: "name", "name:kind", or "*" for all that the file names

	Out    string // the folder of results
	Format string // "parquet", "arrow", "npy", "jsonl", "csv" or "elastic"

	// Shard, from 1, of Shards parts of the inputs are this run's; 0 of 0 is all.
	Shard, Shards int
	// Concurrent is how many shards are worked on at once, at least 1 and 0 for 2: their texts
	// share batches.
	Concurrent int
	// Attempts is how often a shard is tried that cannot be read or written; 0 is 3. Pause, before
	// the second attempt, doubles each time; 0 is a second.
	Attempts int
	Pause    time.Duration
	// Stale is how long a claim stays unchanged until it counts as left; 0 is a minute.
	Stale time.Duration
	// Progress, unless nil, is called with the progress so far, by one goroutine at a time.
	Progress func(Progress)
	// Warn, unless nil, is called with a problem of an input that does not stop the run, once for
	// each input and kind of problem, by one goroutine at a time.
	Warn func(warning string)

	pass passing
}

// Progress is how far all runs on a folder are.
type Progress struct {
	Shards, Done int           // shards of this run's, and those that are there
	Bytes, Read  int64         // of the shards, and of those that are there
	Rows         int64         // that this run has read
	Elapsed      time.Duration // since it began
	Left         time.Duration // by its rate so far; 0: not known yet
}

// ends are the ends of the names of a format's files. Further names are of files next to the first.
var ends = map[string][]string{
	"parquet": {".parquet"},
	"arrow":   {".arrow"},
	"npy":     {".npy", ".rows.jsonl"},
	"jsonl":   {".out.jsonl"},
	"csv":     {".out.csv"},
	"elastic": {".bulk.ndjson"},
}

// check sets options that are left out to their defaults, and makes the folder of results.
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
		return check.Errorf(fault.ErrOption, "Shard %d of %d, want 1 to their number", o.Shard, o.Shards)
	}
	if o.Concurrent < 0 || o.Attempts < 0 || o.Stale < 0 || o.Pause < 0 {
		return check.Errorf(fault.ErrOption, "Concurrent %d, Attempts %d, Stale %v, Pause %v: less than nothing", o.Concurrent, o.Attempts, o.Stale, o.Pause)
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
