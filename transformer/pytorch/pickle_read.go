package pytorch

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/avoformer/avoformer/fault"
)

// The arguments of operations, as they lie in a pickle.

func (u *unpickler) byte() (byte, error) {
	b, err := u.r.ReadByte()
	if err != nil {
		return 0, cut(err)
	}
	u.read++
	return b, nil
}

// bytes reads n bytes, as many as are really there. They are valid until the next call.
func (u *unpickler) bytes(n int) (raw []byte, err error) {
	switch {
	case n < 0 || n > maxPickle:
		return nil, fmt.Errorf("%w: %d bytes in a pickle", fault.ErrFormat, n)
	case n <= len(u.short):
		raw = u.short[:n]
		_, err = io.ReadFull(u.r, raw)
	default:
		raw, err = io.ReadAll(io.LimitReader(u.r, int64(n)))
	}
	if err == nil && len(raw) < n || err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	if err != nil {
		return nil, cut(err)
	}
	u.read += int64(n)
	return raw, nil
}

// cut returns the error of a file that ends early, or of reading it.
func cut(err error) error {
	if err == io.EOF {
		return fmt.Errorf("%w: a pickle ends early", fault.ErrFormat)
	}
	return fmt.Errorf("pytorch: %w", err)
}

// uint reads an unsigned integer of n bytes, at most 4.
func (u *unpickler) uint(n int) (uint64, error) {
	raw, err := u.bytes(n)
	if err != nil {
		return 0, err
	}
	v := uint64(0)
	for i, b := range raw {
		v |= uint64(b) << (8 * i)
	}
	return v, nil
}

// long reads an integer in two's complement after the number of its bytes.
func (u *unpickler) long() (int64, error) {
	n, err := u.uint(1)
	if err != nil {
		return 0, err
	}
	raw, err := u.bytes(int(n))
	if err != nil {
		return 0, err
	}
	if len(raw) > 8 {
		return 0, fmt.Errorf("%w: an integer of %d bytes", fault.ErrFormat, len(raw))
	}
	var v uint64
	for i, b := range raw {
		v |= uint64(b) << (8 * i)
	}
	if bits := 8 * len(raw); bits > 0 && bits < 64 && raw[len(raw)-1] >= 0x80 {
		v |= ^uint64(0) << bits
	}
	return int64(v), nil
}

func (u *unpickler) float() (float64, error) {
	raw, err := u.bytes(8)
	if err != nil {
		return 0, err
	}
	return math.Float64frombits(binary.BigEndian.Uint64(raw)), nil
}

// text reads a string after the number of its bytes, which has size bytes.
func (u *unpickler) text(size int) (string, error) {
	n, err := u.uint(size)
	if err != nil {
		return "", err
	}
	raw, err := u.bytes(int(n))
	return string(raw), err
}

// line reads up to a line feed.
func (u *unpickler) line() (string, error) {
	const most = 1 << 10
	var line []byte
	for {
		b, err := u.byte()
		switch {
		case err != nil:
			return "", err
		case b == '\n':
			return string(line), nil
		case len(line) == most:
			return "", fmt.Errorf("%w: a name of over %d bytes", fault.ErrFormat, most)
		}
		line = append(line, b)
	}
}

func (u *unpickler) protocol() error {
	n, err := u.uint(1)
	if err == nil && (n < 2 || n > 5) {
		return fmt.Errorf("%w: pickle protocol %d, want 2 to 5", fault.ErrUnsupported, n)
	}
	return err
}

func (u *unpickler) global() (global, error) {
	module, err := u.line()
	if err != nil {
		return global{}, err
	}
	name, err := u.line()
	return global{module, name}, err
}

// The stack.
