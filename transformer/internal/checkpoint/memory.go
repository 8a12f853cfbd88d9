package checkpoint

import (
	"runtime"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// This file says what memory the weights take before they are read.

// memory is what the scopes of a checkpoint hand out.
type memory struct {
	taken  int64    // bytes of tensors that were read, and of what was packed of them
	limit  int64    // of taken; 0: none
	packed []packed // by Finish; tables are beside them
	buffer int64    // the most that a job takes
}

// packed is a matrix that Finish packs.
type packed struct {
	scope   Scope
	tensor  string // which decides about the format
	in, out int
	copy    bool // a second one, for many rows
}

// A Choice decides about formats, as what Pack takes does.
type Choice = func(name string, stored kernels.Format, table bool) kernels.Format

// Limit makes Tensor fail once the tensors read take more than n bytes; 0: no limit.
func (s Scope) Limit(n int64) { s.memory.limit = n }

// take counts bytes that a tensor takes, and reports whether they are within the limit.
func (s Scope) take(bytes int) bool {
	s.memory.taken += int64(bytes)
	if m := s.memory; m.limit > 0 && m.taken > m.limit {
		s.Fail(check.Errorf(fault.ErrMemory, "tensors that are read before all others take %d bytes at least, the limit is %d", m.taken, m.limit))
		return false
	}
	return true
}

// packs records a matrix that Finish will pack.
func (s Scope) packs(in int, parts []Part, weight *Matrix) {
	out, whole := 0, 0
	for _, p := range parts {
		out += p.Rows
		whole = max(whole, p.Of*in)
	}
	s.memory.packed = append(s.memory.packed, packed{scope: s, tensor: parts[0].Name + "weight", in: in, out: out})
	if s.Transposed {
		s.memory.buffer = max(s.memory.buffer, 4*int64(whole))
	} else {
		s.memory.buffer = max(s.memory.buffer, 1<<17, 4*64*int64(in))
	}
}

// Bytes returns the memory of all that the checkpoint's scopes handed out: once Finish has returned, and the most while it
// reads. choose is in place of what Pack was given; nil: what that was.
func (s Scope) Bytes(choose Choice) (held, peak int64) {
	if choose != nil {
		defer s.Pack(s.choose)
		s.Pack(choose)
	}
	held = s.memory.taken
	for _, p := range s.memory.packed {
		format := p.scope.packed(p.tensor, false)
		if p.copy {
			first := format
			if format = s.many(p.scope.Prefix+p.tensor, first, false); format == first {
				continue
			}
		}
		held += int64(kernels.PackedBytes(format, p.out, p.in))
	}
	for _, t := range s.tables {
		if !t.absent {
			held += t.bytes()
		}
	}
	return held, held + int64(runtime.GOMAXPROCS(0))*s.memory.buffer
}

// bytes returns the memory of a table.
func (u *unread) bytes() int64 {
	n := int64(u.rows) * int64(u.dim)
	switch format := u.format(); {
	case !u.tied && format == kernels.FormatF32:
		return 4 * n
	case !u.tied && (format == kernels.FormatBF16 || format == kernels.FormatF16):
		return 2 * n
	default:
		return int64(kernels.PackedBytes(format, u.rows, u.dim))
	}
}
