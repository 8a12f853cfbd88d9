// avoformer embed: vectors of lines.

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/internal/modelfiles"
	"github.com/avoformer/avoformer/text"
)

// embedding is what embed was asked for.
type embedding struct {
	threads, batch, length, dim int
	prompt, nearest, format     string
	pooling                     string
	out, stream                 string
	split                       int
	refuse, overwrite           bool
	check, json                 bool
	k                           int
	weights                     string
	adapters                    *adapters
	adapted                     []text.Option // by adapters,
	paths                       []string      // which are here
}

func embed(a *app, args []string) error {
	var e embedding
	f := a.flags("embed")
	f.StringVar(&e.out, "o", "", "output `file`; an interrupted run that is started again, without -f, goes on where it stopped")
	f.BoolVar(&e.overwrite, "f", false, "start over, whatever an interrupted run left, and replace the output file")
	f.StringVar(&e.format, "format", "", "jsonl, csv, npy or f32; default: by the output file's name, else jsonl")
	f.StringVar(&e.stream, "stream", "", "arrow: read record batches of Arrow's IPC stream from the standard input, with -field as the column of texts, and write each with its vectors")
	input := f.input()
	f.StringVar(&e.nearest, "nearest", "", "print the lines closest to this `text` instead")
	f.IntVar(&e.k, "k", 10, "how many lines -nearest prints")
	f.BoolVar(&e.json, "json", false, "-nearest and -check print JSON as well, a line for each: score, index from 0, text; weights, part, texts, mean, least, index")
	e.modelFlags(f)
	f.BoolVar(&e.check, "check", false, "print instead how far -weights leads from f32 on these texts, and which parts of the model cost most")
	rest, err := f.parse(args, 1, 2)
	if err != nil {
		return err
	}
	format, err := e.plan(f)
	if err != nil {
		return err
	}
	weights, err := weightsOptions(e.weights)
	if err != nil {
		return err
	}
	if e.adapted, e.paths, err = e.adapters.options(); err != nil {
		return err
	}
	if e.stream != "" {
		return a.embedArrow(&e, rest, weights, *input.field)
	}
	in, err := input.open(arg(rest, 1))
	if err != nil {
		return err
	}
	defer in.Close()
	m, err := openModel(a, text.OpenEmbedder, rest[0], append(e.options(), weights...))
	if err != nil {
		return err
	}
	switch {
	case e.check:
		return a.checkWeights(m, in, &e, rest[0])
	case e.nearest != "":
		return a.printNearest(m, in, &e)
	case e.toFile():
		return a.embedFile(m, in, &e, format, rest[0])
	}
	return a.embedStream(m, in, &e, format)
}

// modelFlags are those of how vectors are made.
func (e *embedding) modelFlags(f *flags) {
	f.StringVar(&e.prompt, "prompt", "", "`name` of a prompt of the folder; query and document, which need not be there, also stand for the lengths of such texts")
	f.StringVar(&e.pooling, "pooling", "", "how hidden states become a vector where the folder does not say it: `mode` cls, lasttoken, max, mean, mean_sqrt_len_tokens or weightedmean; default: mean, or of a language model lasttoken")
	f.IntVar(&e.dim, "dim", 0, "cut vectors to this length and scale them to 1 again")
	f.IntVar(&e.length, "max-length", 0, "most tokens of a text")
	f.IntVar(&e.split, "split", -1, "split longer texts, with this many tokens of overlap, and average")
	f.BoolVar(&e.refuse, "refuse", false, "refuse longer texts, instead of cutting them off")
	f.IntVar(&e.threads, "threads", 0, "most threads; default: all")
	f.IntVar(&e.batch, "batch-tokens", 0, "most tokens in a batch")
	f.StringVar(&e.weights, "weights", "f32", weightsUsage)
	e.adapters = f.adapters()
	f.memoryLimit()
	f.asWritten()
}

// toFile reports whether the vectors go to a file.
func (e *embedding) toFile() bool { return e.out != "" && e.out != "-" }

// plan gives the format of the output, or an error if some flags contradict others.
func (e *embedding) plan(f *flags) (format, error) {
	format, err := formatOf(e.format, e.out)
	switch {
	case err != nil:
	case e.check && e.nearest != "", (e.check || e.nearest != "") && (e.toFile() || e.format != ""):
		err = usagef("-check and -nearest print no vectors: neither goes with the other, -o or -format")
	case e.check && !f.given("weights"):
		err = usagef("-check says what -weights costs, which is not given")
	case e.stream != "" && e.stream != "arrow":
		err = usagef("-stream %q, want arrow", e.stream)
	case e.stream != "" && (e.check || e.nearest != "" || e.toFile() || e.format != "" || f.given("input")):
		err = usagef("-stream goes with none of -check, -nearest, -o, -format and -input")
	case e.split >= 0 && e.refuse:
		err = usagef("-split and -refuse are two ways with longer texts")
	case e.k < 1:
		err = usagef("-k %d, want at least 1", e.k)
	case format.name == "npy" && !e.toFile(): // the number of rows at its beginning is known at the end only
		err = usagef("-format npy needs an output file: -o FILE")
	}
	return format, err
}

func (e *embedding) options() []text.Option {
	o := slices.Clone(e.adapted)
	for _, x := range []struct {
		n   int
		set func(int) text.Option
	}{{e.threads, text.Threads}, {e.batch, text.BatchTokens}, {e.length, text.MaxLength}, {e.dim, text.Dim}} {
		if x.n != 0 {
			o = append(o, x.set(x.n))
		}
	}
	if e.pooling != "" {
		o = append(o, text.Pooling(e.pooling))
	}
	if e.split >= 0 {
		o = append(o, text.SplitLong(e.split))
	} else if e.refuse {
		o = append(o, text.RefuseLong())
	}
	return o
}

// vectors embeds with the prompt that was asked for.
func (e *embedding) vectors(ctx context.Context, m *text.Embedder, texts []string) ([][]float32, error) {
	if e.prompt != "" {
		return m.EmbedPrompt(ctx, e.prompt, texts)
	}
	return m.Embed(ctx, texts)
}

// rows embeds chunk by chunk and hands them to write, encoded.
func (a *app) rows(m *text.Embedder, in *lines, e *embedding, format format, write func(data []byte, lines int) error) error {
	return in.eachChunk(chunkLines, func(first int, texts []string) error {
		vectors, err := e.vectors(a.ctx, m, texts)
		if err != nil {
			return fmt.Errorf("lines %d to %d: %w", first+1, in.N, err)
		}
		var data []byte
		for i, v := range vectors {
			data = format.row(data, first+i, texts[i], v)
		}
		return write(data, len(texts))
	})
}

// embedArrow answers record batches on the standard input with record batches that have vectors.
func (a *app) embedArrow(e *embedding, rest []string, weights []text.Option, field string) error {
	if len(rest) > 1 {
		return usagef("-stream reads the standard input, not %s", rest[1])
	}
	m, err := openModel(a, text.OpenEmbedder, rest[0], append(append(e.options(), weights...), text.Exact()))
	if err != nil {
		return err
	}
	task, err := bulk.Embed(m, e.prompt, bulk.Float32Vectors)
	if err != nil {
		return err
	}
	return bulk.Stream(a.ctx, task, field, a.reading(a.in), a.out)
}

// embedStream writes to the standard output.
func (a *app) embedStream(m *text.Embedder, in *lines, e *embedding, format format) error {
	if a.shown {
		in.progress.hide()
	}
	return a.rows(m, in, e, format, func(data []byte, _ int) error {
		if _, err := a.out.Write(data); err != nil {
			return err
		}
		return a.out.Flush()
	})
}

// embedFile writes a file, and goes on with one that was begun.
func (a *app) embedFile(m *text.Embedder, in *lines, e *embedding, format format, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	job, read, err := a.job(in, dir, e.paths)
	if err != nil {
		return err
	}
	job.Work = fmt.Sprintf("embed %s format=%s prompt=%q dim=%d max-length=%d split=%d refuse=%t batch=%d field=%q weights=%s", dir, format.name, e.prompt, m.Dim(), e.length, e.split, e.refuse, e.batch, in.field, e.weights)
	if e.pooling != "" {
		job.Work += " pooling=" + e.pooling
	}
	if len(e.paths) > 0 {
		job.Work += fmt.Sprintf(" adapters=%q", e.adapters.names)
	}
	b, err := openResumable(e.out, job, read, e.overwrite)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.skip(in); err != nil {
		return err
	}
	in.progress.resumed(in.N)
	in.seen = b.seen
	err = a.rows(m, in, e, format, func(data []byte, lines int) error {
		if b.Lines == 0 {
			data = append(format.header(0, m.Dim()), data...)
		}
		return b.write(data, lines)
	})
	if err != nil {
		if b.Lines == 0 {
			b.drop()
		} else if e.overwrite {
			a.left = fmt.Sprintf("; %d lines are done, the same command without -f goes on after them", b.Lines)
		} else {
			a.left = fmt.Sprintf("; %d lines are done, the same command goes on after them", b.Lines)
		}
		return err
	}
	return b.finish(format.header(b.Lines, m.Dim()))
}

// job describes a run by the model that it uses, and all files that it reads, by their names.
func (a *app) job(in *lines, dir string, adapters []string) (job, map[string]os.FileInfo, error) {
	read := map[string]os.FileInfo{}
	if in.file.info != nil {
		read["the input"] = in.file.info
	}
	files, err := modelfiles.List(dir, adapters...)
	if err != nil {
		return job{}, nil, err
	}
	for _, f := range files {
		read["the model's "+f.Name] = f.Info
	}
	sums, err := modelfiles.Digests(a.ctx, files)
	return job{Model: sums}, read, err
}

// printNearest prints the lines whose vectors have the largest cosines.
func (a *app) printNearest(m *text.Embedder, in *lines, e *embedding) error {
	query, err := m.EmbedQueries(a.ctx, []string{e.nearest})
	if err != nil {
		return err
	}
	type found struct {
		line   int
		text   string
		cosine float64
	}
	var best []found
	err = in.eachChunk(chunkLines, func(first int, texts []string) error {
		embedDocuments := m.EmbedDocuments
		if e.prompt != "" {
			embedDocuments = func(ctx context.Context, t []string) ([][]float32, error) { return e.vectors(ctx, m, t) }
		}
		vectors, err := embedDocuments(a.ctx, texts)
		if err != nil {
			return err
		}
		for i, v := range vectors {
			best = append(best, found{first + i + 1, texts[i], cosine(query[0], v)})
		}
		slices.SortStableFunc(best, func(x, y found) int { return cmp.Compare(y.cosine, x.cosine) })
		best = best[:min(len(best), e.k)]
		return nil
	})
	if err != nil {
		return err
	}
	for _, b := range best {
		if e.json {
			err = a.printJSON(map[string]any{"score": b.cosine, "index": b.line - 1, "text": b.text})
		} else {
			_, err = fmt.Fprintf(a.out, "%.4f\t%d\t%s\n", b.cosine, b.line, b.text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
