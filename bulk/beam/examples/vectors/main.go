// Command vectors converts Parquet files of texts to Parquet files of vectors with Apache Beam. It
// runs on prism, Beam's own runner, or with other flags on Flink, Spark or Dataflow.
//
//	go run ./bulk/beam/examples/vectors -model all-MiniLM-L6-v2 -input 'corpus/*.parquet' -output vectors
//
// For an input NAME it writes OUTPUT/NAME.parquet with the columns row, embedding, tokens and cut,
// in the order of the input's rows, and OUTPUT/NAME.dead.jsonl for rows without a vector. A file
// that cannot be opened, is not Parquet or lacks the column is one dead letter with row -1, and so
// is the rest of a file after damage. After other errors of reading or writing the bundle fails,
// and the runner tries it again. The results of one file are sorted in memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/avoformer/avoformer/bulk/beam/embed"
)

func init() {
	register.DoFn4x1[context.Context, fileio.ReadableFile, func(Row, []byte), func(Row, embed.Dead), error](&readFn{})
	register.Emitter2[Row, []byte]()
	register.Emitter2[Row, embed.Dead]()
	register.Function2x2(vectorByFile)
	register.Function2x2(deadByFile)
	register.DoFn3x1[context.Context, string, func(*vectorAt) bool, error](&writeFn{})
	register.DoFn3x1[context.Context, string, func(*deadAt) bool, error](&buryFn{})
	register.Iter1[vectorAt]()
	register.Iter1[deadAt]()
	beam.RegisterType(reflect.TypeFor[Row]())
	beam.RegisterType(reflect.TypeFor[vectorAt]())
	beam.RegisterType(reflect.TypeFor[deadAt]())
}

// Row is the place of a text.
type Row struct {
	File string
	Row  int64 // from 0; -1 is the file as a whole
}

// flags has the flags of this command. Beam adds its own.
type flags struct {
	model                         embed.Model
	prompt, input, output, column string
}

func main() {
	var f flags
	flag.StringVar(&f.model.Dir, "model", "", "`folder` of the model, on every worker")
	flag.StringVar(&f.model.WeightFormat, "weights", "", "`format` of the weights, such as int8; default: as the folder has them")
	flag.IntVar(&f.model.Threads, "threads", 0, "processors that the model uses at once; default: all")
	flag.StringVar(&f.prompt, "prompt", "", "`name` of the prompt of the folder; default: the folder's")
	flag.StringVar(&f.input, "input", "", "`pattern` of Parquet files, also gs://")
	flag.StringVar(&f.output, "output", "", "`folder` of the results, also gs://")
	flag.StringVar(&f.column, "column", "text", "the `name` of the column of texts")
	flag.Parse()
	beam.Init() // on a worker this does not return
	if err := run(context.Background(), f); err != nil {
		fmt.Fprintln(os.Stderr, "vectors:", err)
		os.Exit(1)
	}
}

// run runs the pipeline and prints its counters.
func run(ctx context.Context, f flags) error {
	if f.model.Dir == "" || f.input == "" || f.output == "" {
		return errors.New("-model, -input and -output are needed")
	}
	p, s := beam.NewPipelineWithRoot()
	build(s, f)
	result, err := beamx.RunWithMetrics(ctx, p)
	if err != nil {
		return err
	}
	for name, n := range counted(result) {
		fmt.Printf("%-8s %d\n", name, n)
	}
	return nil
}

// build builds the pipeline.
func build(s beam.Scope, f flags) {
	files := fileio.ReadMatches(s, fileio.MatchFiles(s, f.input), fileio.ReadUncompressed())
	files = beam.Reshuffle(s, files) // so that all workers read files
	texts, unread := beam.ParDo2(s.Scope("read"), &readFn{Column: f.column}, files)
	vectors, dead := embed.Prompted(s, f.model, f.prompt, texts)
	beam.ParDo0(s.Scope("write"), &writeFn{place{f.input, f.output}}, beam.GroupByKey(s, beam.ParDo(s, vectorByFile, vectors)))
	dead = beam.Flatten(s, unread, dead)
	beam.ParDo0(s.Scope("bury"), &buryFn{place{f.input, f.output}}, beam.GroupByKey(s, beam.ParDo(s, deadByFile, dead)))
}

// counted returns the counters of this pipeline and of avoformer's transforms.
func counted(result beam.PipelineResult) map[string]int64 {
	n := map[string]int64{}
	if result == nil {
		return n
	}
	for _, c := range result.Metrics().Query(func(m beam.MetricResult) bool { return m.Namespace() == "avoformer" }).Counters() {
		n[c.Name()] += c.Result()
	}
	return n
}
