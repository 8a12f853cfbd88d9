// This file has the command embed, which prints vectors of lines.

package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/internal/modelfiles"
	"github.com/avoformer/avoformer/text"
)

func embed(a *app, args []string) error {
	var e embedding
	f := a.flags("embed")
	f.StringVar(&e.out, "o", "", "output `file`; without -f, a run that was interrupted continues where it stopped")
	f.BoolVar(&e.overwrite, "f", false, "start again from the first line, and replace the output file")
	f.StringVar(&e.format, "format", "", "jsonl, csv, npy or f32; default: by the extension of the output file, otherwise jsonl")
	f.StringVar(&e.stream, "stream", "", "arrow: read record batches of Arrow's IPC stream from the standard input, with the texts in the column -field, and write each batch with its vectors")
	input := f.input()
	f.StringVar(&e.nearest, "nearest", "", "print the lines closest to this `text` instead")
	f.IntVar(&e.k, "k", 10, "how many lines -nearest prints")
	f.BoolVar(&e.json, "json", false, "-nearest and -check print JSON as well, a line for each: score, index from 0, text; weights, part, texts, mean, least, index")
	e.modelFlags(f)
	f.BoolVar(&e.check, "check", false, "print only how much results with -weights differ from those with f32 on these texts, and which parts of the model differ most")
	rest, err := f.parse(args, 1, 2)
	if err != nil {
		return err
	}
	format, err := e.plan(f)
	if err != nil {
		return err
	}
	if e.adapted, err = e.adapters.list(); err != nil {
		return err
	}
	o, err := e.options()
	if err != nil {
		return err
	}
	if e.stream != "" {
		return a.embedArrow(&e, rest, o, *input.field)
	}
	in, err := input.open(arg(rest, 1))
	if err != nil {
		return err
	}
	defer in.Close()
	m, err := openModel(a, text.OpenEmbedder, rest[0], o)
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

// rows embeds one chunk after the other, and calls write with the encoded vectors.
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

// embedArrow reads record batches from the standard input, and writes them with vectors.
func (a *app) embedArrow(e *embedding, rest []string, o text.Options, field string) error {
	if len(rest) > 1 {
		return usagef("-stream reads the standard input, not %s", rest[1])
	}
	m, err := openModel(a, text.OpenEmbedder, rest[0], o)
	if err != nil {
		return err
	}
	task, err := bulk.Embed(m, e.prompt, bulk.Float32Vectors)
	if err != nil {
		return err
	}
	return bulk.Stream(a.ctx, task, field, a.reading(a.in), a.out)
}

// embedStream writes vectors to the standard output.
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

// embedFile writes a file, or continues a file that an earlier run began.
func (a *app) embedFile(m *text.Embedder, in *lines, e *embedding, format format, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	read, err := filesRead(in, dir, pathsOf(e.adapted))
	if err != nil {
		return err
	}
	var job job
	if job.Fingerprint, err = m.Fingerprint(a.ctx); err != nil {
		return err
	}
	job.Work = fmt.Sprintf("embed %s format=%s prompt=%q dim=%d max-length=%d split=%d refuse=%t batch=%d field=%q weights=%s", dir, format.name, e.prompt, m.Dim(), e.length, e.split, e.refuse, e.batch, in.field, e.weights)
	if e.pooling != "" {
		job.Work += " pooling=" + e.pooling
	}
	if len(e.adapted) > 0 {
		job.Work += fmt.Sprintf(" adapters=%v", e.adapters)
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
			a.left = fmt.Sprintf("; %d lines are done, the same command without -f continues after them", b.Lines)
		} else {
			a.left = fmt.Sprintf("; %d lines are done, the same command continues after them", b.Lines)
		}
		return err
	}
	return b.finish(format.header(b.Lines, m.Dim()))
}

// filesRead returns the files that a run reads, by their names: the input, and the files of the
// model and its adapters.
func filesRead(in *lines, dir string, adapters []string) (map[string]os.FileInfo, error) {
	read := map[string]os.FileInfo{}
	if in.file.info != nil {
		read["the input"] = in.file.info
	}
	files, err := modelfiles.List(dir, adapters...)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		read["the model's "+f.Name] = f.Info
	}
	return read, nil
}

// printNearest prints the lines whose vectors have the largest cosines.
func (a *app) printNearest(m *text.Embedder, in *lines, e *embedding) error {
	queries, err := m.Embed(a.ctx, text.Texts(e.nearest), text.EmbedOptions{Prompt: "query"})
	if err != nil {
		return err
	}
	query := queries.Outputs[0]
	prompt := cmp.Or(e.prompt, "document")
	type found struct {
		line   int
		text   string
		cosine float64
	}
	var best []found
	err = in.eachChunk(chunkLines, func(first int, texts []string) error {
		vectors, err := m.Embed(a.ctx, text.Texts(texts...), text.EmbedOptions{Prompt: prompt})
		if err != nil {
			return err
		}
		for i, v := range vectors.Outputs {
			best = append(best, found{first + i + 1, texts[i], cosine(query, v)})
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
