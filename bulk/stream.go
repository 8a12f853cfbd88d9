// Record batches of Arrow's IPC stream, answered one by one.

package bulk

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// maxBatch bounds a record batch of a stream, in bytes: as much is allocated as its header claims.
const maxBatch = 256 << 20

// Stream answers each record batch of an Arrow IPC stream with its columns, those of the task, and "tokens", "cut",
// "windows" and "error": why a row has no result, its other values then being null, or null. The batch is written before
// the next is read, and flushed if out has a method Flush. Texts are in the column of strings called field; "" is "text".
func Stream(ctx context.Context, task Task, field string, in io.Reader, out io.Writer) (err error) {
	defer caught(&err)
	orElse(&field, "text")
	r, err := ipc.NewReaderFromMessageReader(ipc.NewMessageReader(in, ipc.WithBodySizeLimit(maxBatch)))
	if err != nil {
		return check.Errorf(fault.ErrInput, "%w", err)
	}
	defer r.Release()
	s, err := newStream(r.Schema(), task, field)
	if err != nil {
		return err
	}
	w := ipc.NewWriter(out, ipc.WithSchema(s.schema))
	for r.Next() {
		answer, err := s.answer(ctx, r.RecordBatch())
		if err != nil {
			return err
		}
		err = w.Write(answer)
		answer.Release()
		if buffered, ok := out.(interface{ Flush() error }); ok && err == nil {
			err = buffered.Flush()
		}
		if err != nil {
			return err
		}
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return check.Errorf(fault.ErrInput, "%w", err)
	}
	return w.Close()
}

// stream is what all batches have in common.
type stream struct {
	task   Task
	text   int           // the number of the column of texts
	made   *arrow.Schema // of the columns that are added
	schema *arrow.Schema // of the answers
}

func newStream(given *arrow.Schema, task Task, field string) (*stream, error) {
	at := given.FieldIndices(field)
	if len(at) != 1 {
		return nil, check.Errorf(fault.ErrInput, "the stream has not exactly one column %q: %v", field, given)
	}
	if t := given.Field(at[0]).Type.ID(); t != arrow.STRING && t != arrow.LARGE_STRING {
		return nil, check.Errorf(fault.ErrInput, "the column %q holds %v, not strings", field, given.Field(at[0]).Type)
	}
	columns := append(slices.Concat(task.Columns, counted), Column{Name: "error", Kind: String})
	made := arrowSchema(columns).Fields()
	for i := range made {
		made[i].Nullable = true // where there is an error
		if given.HasField(made[i].Name) {
			return nil, check.Errorf(fault.ErrOption, "a column %q is passed on, and made", made[i].Name)
		}
	}
	meta := given.Metadata()
	return &stream{task, at[0], arrow.NewSchema(made, nil), arrow.NewSchema(append(given.Fields(), made...), &meta)}, nil
}

// answer returns a batch with the columns that are added.
func (s *stream) answer(ctx context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	column := batch.Column(s.text).(array.StringLike)
	wrong := make([]error, batch.NumRows())
	var texts []string
	for i := range wrong {
		if column.IsNull(i) {
			wrong[i] = errNull
		} else {
			texts = append(texts, column.Value(i))
		}
	}
	results, err := s.task.Each(ctx, texts)
	if err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, s.made)
	defer b.Release()
	for _, err := range wrong {
		values := make([]any, s.made.NumFields())
		if err == nil {
			r := results[0]
			results = results[1:]
			if err = r.Err; err == nil {
				values = append(r.append(nil), nil)
			}
		}
		if err != nil {
			values[len(values)-1] = err.Error()
		}
		for i, v := range values {
			appendArrow(b.Field(i), v)
		}
	}
	made := b.NewRecordBatch()
	defer made.Release()
	return array.NewRecordBatch(s.schema, slices.Concat(batch.Columns(), made.Columns()), batch.NumRows()), nil
}
