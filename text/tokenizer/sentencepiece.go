package tokenizer

// SentencePiece's model files: a protocol buffer with pieces, scores and a character map
// (sentencepiece_model.proto).

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
)

// Types of pieces.
const (
	pieceNormal      = 1
	pieceUnknown     = 2
	pieceControl     = 3
	pieceUserDefined = 4
	pieceUnused      = 5
	pieceByte        = 6
)

// Types of models.
const (
	spmUnigram = 1
	spmBPE     = 2
)

type spmPiece struct {
	text  string
	score float64
	kind  int
}

// spmModel is the part of a file that affects tokenization.
type spmModel struct {
	pieces        []spmPiece
	kind          int
	byteFallback  bool
	spaceAsSuffix bool
	charsmap      []byte
	dummyPrefix   bool
	removeSpaces  bool
	keepSpaces    bool          // do not replace spaces with ▁
	specials      [3]spmSpecial // unknown, bos, eos
}

// spmSpecial is a special token of the trainer's settings; its id may be -1.
type spmSpecial struct {
	id   int
	text string
}

const (
	spmUnknown = iota
	spmBOS
	spmEOS
)

// field is a field of a protocol buffer message.
type field struct {
	number int
	varint uint64
	bytes  []byte
}

// eachField calls f for each field of a message.
func eachField(data []byte, f func(field) error) error {
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 || key>>3 == 0 || key>>3 > 1<<29 {
			return fmt.Errorf("%w: protocol buffer: no field where one should begin", fault.ErrFormat)
		}
		data = data[n:]
		x := field{number: int(key >> 3)}
		size := uint64(0)
		switch key & 7 {
		case 0:
			if x.varint, n = binary.Uvarint(data); n <= 0 {
				return fmt.Errorf("%w: protocol buffer: field %d ends early", fault.ErrFormat, x.number)
			}
			data = data[n:]
		case 1:
			size = 8
		case 2:
			if size, n = binary.Uvarint(data); n <= 0 {
				return fmt.Errorf("%w: protocol buffer: field %d ends early", fault.ErrFormat, x.number)
			}
			data = data[n:]
		case 5:
			size = 4
		default:
			return fmt.Errorf("%w: protocol buffer: field %d has wire type %d", fault.ErrFormat, x.number, key&7)
		}
		if size > uint64(len(data)) {
			return fmt.Errorf("%w: protocol buffer: field %d has %d bytes, %d are left", fault.ErrFormat, x.number, size, len(data))
		}
		x.bytes, data = data[:size], data[size:]
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

func (x *field) float() float64 {
	if len(x.bytes) != 4 {
		return 0
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(x.bytes)))
}

func parseSPM(data []byte) (*spmModel, error) {
	m := &spmModel{kind: spmUnigram, dummyPrefix: true, removeSpaces: true, specials: [3]spmSpecial{{0, "<unk>"}, {1, "<s>"}, {2, "</s>"}}}
	err := eachField(data, func(x field) error {
		switch x.number {
		case 1:
			return m.piece(x.bytes)
		case 2:
			return eachField(x.bytes, m.trainer)
		case 3:
			return eachField(x.bytes, m.normalizer)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(m.pieces) == 0 {
		return nil, fmt.Errorf("%w: SentencePiece model without pieces", fault.ErrFormat)
	}
	return m, nil
}

func (m *spmModel) piece(data []byte) error {
	p := spmPiece{kind: pieceNormal}
	err := eachField(data, func(x field) error {
		switch x.number {
		case 1:
			p.text = string(x.bytes)
		case 2:
			p.score = x.float()
		case 3:
			p.kind = int(x.varint)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case !utf8.ValidString(p.text):
		return fmt.Errorf("%w: piece %d is not UTF-8", fault.ErrFormat, len(m.pieces))
	case math.IsNaN(p.score) || math.IsInf(p.score, 0):
		return fmt.Errorf("%w: piece %d has the score %v", fault.ErrFormat, len(m.pieces), p.score)
	case p.kind < pieceNormal || p.kind > pieceByte:
		return fmt.Errorf("%w: piece %d is of type %d", fault.ErrConfig, len(m.pieces), p.kind)
	}
	m.pieces = append(m.pieces, p)
	return nil
}

func (m *spmModel) trainer(x field) error {
	switch x.number {
	case 3:
		m.kind = int(x.varint)
	case 24:
		m.spaceAsSuffix = x.varint != 0
	case 35:
		m.byteFallback = x.varint != 0
	case 40, 41, 42:
		m.specials[x.number-40].id = int(int32(x.varint))
	case 45, 46, 47:
		if !utf8.Valid(x.bytes) {
			return fmt.Errorf("%w: trainer_spec: field %d is not UTF-8", fault.ErrFormat, x.number)
		}
		m.specials[x.number-45].text = string(x.bytes)
	}
	return nil
}

func (m *spmModel) normalizer(x field) error {
	switch x.number {
	case 2:
		m.charsmap = x.bytes
	case 3:
		m.dummyPrefix = x.varint != 0
	case 4:
		m.removeSpaces = x.varint != 0
	case 5:
		m.keepSpaces = x.varint == 0
	}
	return nil
}

// check returns an error for settings that this package does not support.
func (m *spmModel) check(kind int) error {
	switch {
	case m.kind != kind:
		return fmt.Errorf("%w: SentencePiece model_type %d", fault.ErrConfig, m.kind)
	case m.spaceAsSuffix:
		return fmt.Errorf("%w: treat_whitespace_as_suffix", fault.ErrConfig)
	case m.keepSpaces:
		return fmt.Errorf("%w: escape_whitespaces is false", fault.ErrConfig)
	}
	return nil
}
