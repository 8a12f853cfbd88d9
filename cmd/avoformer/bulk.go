// This file has the command bulk, which turns files of texts into files of vectors, scores or
// labels, with any number of processes.

package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/text"
)

// filesToFiles has the flags of bulk.
type filesToFiles struct {
	bulk.Options
	embedding
	vectors, query, shard, pass string
	json                        *bool
}

func bulkFiles(a *app, args []string) error {
	var b filesToFiles
	f := a.flags("bulk")
	f.StringVar(&b.Out, "o", "", "`folder` of results, which several processes may share; files that have results there are skipped")
	f.StringVar(&b.Format, "format", "parquet", "parquet, arrow, npy, jsonl, csv or elastic, which is the body of a request to _bulk of Elasticsearch and OpenSearch")
	f.StringVar(&b.Input, "input", "", "lines, jsonl, csv, tsv or parquet; default: what the names of the files say")
	f.StringVar(&b.Text, "field", "text", "the `name` of the field or column of texts")
	f.StringVar(&b.pass, "pass", "", "`names` of fields or columns to copy to the results, separated by commas: name, or name:int64 or another type; * for all columns of CSV and Parquet")
	f.StringVar(&b.vectors, "vectors", string(bulk.Float32Vectors), "float32, float16, int8 or binary")
	f.StringVar(&b.shard, "shard", "", "`i/n`: only the i-th of n parts of the files")
	f.IntVar(&b.Concurrent, "files", 0, "files that are processed at a time; default: 2")
	f.DurationVar(&b.Stale, "stale", 0, "how long a process may make no progress with a file before another process takes it; default: 1m")
	f.IntVar(&b.Attempts, "attempts", 0, "how often a file is tried before the run continues without it; default: 3")
	f.StringVar(&b.query, "query", "", "rank by how well texts answer this `query`")
	b.json = f.json("a line: files, made, found, failed, rows, written, dead, tokens, cut, split")
	b.modelFlags(f)
	rest, err := f.parse(args, 3, -1)
	if err != nil {
		return err
	}
	if b.Inputs = rest[2:]; b.Out == "" {
		return usagef("bulk needs a folder for results: -o FOLDER")
	}
	if b.pass != "" {
		b.Pass = strings.Split(b.pass, ",")
	}
	if b.shard != "" {
		if n, err := fmt.Sscanf(b.shard+" ", "%d/%d ", &b.Shard, &b.Shards); n != 2 || err != nil || b.Shard < 1 {
			return usagef("-shard %q, want i/n, such as 1/4", b.shard)
		}
	}
	if err := b.apply(f, rest[1]); err != nil {
		return err
	}
	task, err := b.open(a, rest[0], rest[1])
	if err != nil {
		return err
	}
	return a.bulkRun(task, &b)
}

// apply refuses flags that have no effect on a task.
func (b *filesToFiles) apply(f *flags, task string) error {
	for name, of := range map[string]string{"vectors": "embed", "prompt": "embed", "pooling": "embed", "dim": "embed", "split": "embed", "query": "rank"} {
		if f.given(name) && task != of {
			return usagef("-%s applies to %s, not to %s", name, of, task)
		}
	}
	if task == "rank" && b.query == "" {
		return usagef("rank needs a query: -query TEXT")
	}
	if b.split >= 0 && b.refuse {
		return usagef("-split and -refuse exclude each other: both say how longer texts are treated")
	}
	return nil
}

// open opens the model for a task. The task's name includes everything that affects results.
func (b *filesToFiles) open(a *app, dir, name string) (task bulk.Task, err error) {
	if b.adapted, err = b.adapters.list(); err != nil {
		return task, err
	}
	o, err := b.options()
	if err != nil {
		return task, err
	}
	switch name {
	case "embed":
		e, err := openModel(a, text.OpenEmbedder, dir, o)
		if err != nil {
			return task, err
		}
		if task, err = bulk.Embed(e, b.prompt, bulk.Vectors(b.vectors)); err != nil {
			return task, err
		}
	case "rank":
		r, err := openModel(a, text.OpenReranker, dir, o)
		if err != nil {
			return task, err
		}
		task = bulk.Rank(r, b.query)
	case "classify":
		c, err := openModel(a, text.OpenClassifier, dir, o)
		if err != nil {
			return task, err
		}
		task = bulk.Classify(c)
	default:
		return task, usagef("bulk %s, want embed, rank or classify", name)
	}
	task.Name += fmt.Sprintf(" dim=%d max-length=%d split=%d refuse=%t weights=%s adapters=%v", b.dim, b.length, b.split, b.refuse, b.weights, b.adapters)
	if b.pooling != "" {
		task.Name += " pooling=" + b.pooling
	}
	return task, nil
}

// bulkRun writes the files, and prints a summary.
func (a *app) bulkRun(task bulk.Task, b *filesToFiles) error {
	told := a.newProgress(0)
	b.Progress = func(p bulk.Progress) {
		told.show(func(w io.Writer) {
			fmt.Fprintf(w, "%d of %d files, %d rows, %.0f a second", p.Done, p.Shards, p.Rows, float64(p.Rows)/p.Elapsed.Seconds())
			if p.Left > 0 {
				fmt.Fprintf(w, ", %v left", p.Left.Round(time.Second))
			}
		})
	}
	b.Warn = func(warning string) {
		told.done()
		a.warn(warning)
	}
	report, err := bulk.Run(a.ctx, task, b.Options)
	told.done()
	if report.Shards > 0 {
		a.left = fmt.Sprintf("; %d of %d files are done, the same command goes on", report.Made+report.Found, report.Shards)
	}
	if err != nil {
		return err
	}
	if err := a.printReport(report, *b.json); err != nil {
		return err
	}
	for _, f := range report.Failed {
		fmt.Fprintf(a.err, "avoformer: %s: %s\n", f.Input, oneLine(f.Err))
	}
	if len(report.Failed) > 0 {
		return fmt.Errorf("%d files failed", len(report.Failed))
	}
	return nil
}

func (a *app) printReport(r bulk.Report, asJSON bool) error {
	if asJSON {
		return a.printJSON(map[string]any{"files": r.Shards, "made": r.Made, "found": r.Found, "failed": len(r.Failed), "rows": r.Rows,
			"written": r.Written, "dead": r.Dead, "tokens": r.Tokens, "cut": r.Cut, "split": r.Split})
	}
	fmt.Fprintf(a.out, "files   %d: %d made, %d found, %d failed\n", r.Shards, r.Made, r.Found, len(r.Failed))
	fmt.Fprintf(a.out, "rows    %d: %d written, %d dead letters\n", r.Rows, r.Written, r.Dead)
	_, err := fmt.Fprintf(a.out, "tokens  %d; %d texts were cut, %d were split\n", r.Tokens, r.Cut, r.Split)
	return err
}
