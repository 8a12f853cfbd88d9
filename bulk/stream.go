// This file computes record batches of an Arrow IPC stream one by one.

package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// maxBatch limits the bytes of a record batch in a stream, because the library allocates as much as
// the header claims.
const maxBatch = 256 << 20

// Stream answers each record batch of an Arrow IPC stream with a batch of its columns, the columns
// of the task, and "tokens", "cut", "windows" and "error". If a row has no result, "error" has the
// reason, and its other new values are null; otherwise "error" is null. Stream writes the answer
// before it reads the next batch, and flushes it if out has a method Flush. field is the column of
// texts; "" means "text". Texts may be strings or bytes, large or as views, in a dictionary or
// run-end encoded.
func Stream(ctx context.Context, task Task, field string, in io.Reader, out io.Writer) (err error) {
	defer caught(&err)
	orElse(&field, "text")
	r, err := ipc.NewReaderFromMessageReader(ipc.NewMessageReader(in, ipc.WithBodySizeLimit(maxBatch)), ipc.WithAllocator(bounded{memory.DefaultAllocator}))
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

// bounded allocates at most maxBatch bytes at once, because compressed buffers state their own
// decompressed length.
type bounded struct{ memory.Allocator }

func (b bounded) Allocate(n int) []byte {
	if n < 0 || n > maxBatch {
		panic(fmt.Sprintf("a buffer of %d bytes, the limit is %d", n, maxBatch))
	}
	return b.Allocator.Allocate(n)
}

func (b bounded) Reallocate(n int, old []byte) []byte {
	if n < 0 || n > maxBatch {
		panic(fmt.Sprintf("a buffer of %d bytes, the limit is %d", n, maxBatch))
	}
	return b.Allocator.Reallocate(n, old)
}

// stream has the data that all batches share.
type stream struct {
	task   Task
	text   int           // index of the column of texts
	made   *arrow.Schema // schema of the added columns
	schema *arrow.Schema // schema of the answers
}

func newStream(given *arrow.Schema, task Task, field string) (*stream, error) {
	at := given.FieldIndices(field)
	if len(at) != 1 {
		return nil, check.Errorf(fault.ErrInput, "want exactly one column %q in the stream: %v", field, given)
	}
	if !holdsText(given.Field(at[0]).Type) {
		return nil, check.Errorf(fault.ErrInput, "the column %q holds %v, not strings", field, given.Field(at[0]).Type)
	}
	columns := append(slices.Concat(task.Columns, counted), Column{Name: "error", Kind: String})
	made := arrowSchema(columns).Fields()
	for i := range made {
		made[i].Nullable = true // null if there is an error
		if given.HasField(made[i].Name) {
			return nil, check.Errorf(fault.ErrOption, "the column %q is passed on, and also a result", made[i].Name)
		}
	}
	meta := given.Metadata()
	return &stream{task, at[0], arrow.NewSchema(made, nil), arrow.NewSchema(append(given.Fields(), made...), &meta)}, nil
}

// holdsText reports whether textsOf supports a type.
func holdsText(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType, *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType, *arrow.NullType:
		return true
	case *arrow.DictionaryType:
		return holdsText(t.ValueType)
	case *arrow.RunEndEncodedType:
		return holdsText(t.Encoded())
	case arrow.ExtensionType:
		return holdsText(t.StorageType())
	}
	return false
}

// textsOf returns a function that returns the text of row i, and false if that is null.
func textsOf(column arrow.Array) func(i int) (string, bool) {
	at := func(value func(i int) string) func(i int) (string, bool) {
		return func(i int) (string, bool) {
			if column.IsNull(i) {
				return "", false
			}
			return value(i), true
		}
	}
	switch c := column.(type) {
	case array.StringLike:
		return at(c.Value)
	case interface{ Value(i int) []byte }:
		return at(func(i int) string { return string(c.Value(i)) })
	case *array.Dictionary:
		values := textsOf(c.Dictionary())
		return func(i int) (string, bool) {
			if c.IsNull(i) {
				return "", false
			}
			return values(c.GetValueIndex(i))
		}
	case *array.RunEndEncoded:
		values := textsOf(c.Values())
		return func(i int) (string, bool) { return values(c.GetPhysicalIndex(i)) }
	case array.ExtensionArray:
		return textsOf(c.Storage())
	}
	return func(int) (string, bool) { return "", false } // of the type null
}

// answer returns a batch with the added columns.
func (s *stream) answer(ctx context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	column := textsOf(batch.Column(s.text))
	wrong := make([]error, batch.NumRows())
	var texts []string
	for i := range wrong {
		if text, ok := column(i); ok {
			texts = append(texts, text)
		} else {
			wrong[i] = errNull
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
