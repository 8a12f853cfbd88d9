package llamacpp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// retype returns a GGUF file in which the named tensors, matrices, have another type, whose blocks
// are as long as theirs and no larger.
func retype(t *testing.T, file []byte, to gguf.Type, names ...string) []byte {
	t.Helper()
	file = bytes.Clone(file)
	for _, name := range names {
		at := bytes.Index(file, append(binary.LittleEndian.AppendUint64(nil, uint64(len(name))), name...))
		if at < 0 {
			t.Fatalf("no tensor %s", name)
		}
		kind := file[at+8+len(name)+4+2*8:][:4] // after the number of dimensions, and two of them
		if from := gguf.Type(binary.LittleEndian.Uint32(kind)); from.Block() != to.Block() || from.Bytes(256) < to.Bytes(256) {
			t.Fatalf("%s is of type %v", name, from)
		}
		binary.LittleEndian.PutUint32(kind, uint32(to))
	}
	return file
}

// TestGGUFMemory wants a warning of weights that become float32 since there is no format for their
// blocks, before they are read; and none of those that do because of options, or that stay in
// blocks.
func TestGGUFMemory(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("no kernel runs")
	}
	whole := tftest.Must(os.ReadFile(modelstest.Testdata("gguf/k/q4_k.gguf")))(t)
	path := filepath.Join(t.TempDir(), "model.gguf")
	open := func(data []byte, o models.Options) (warned, kept []string, err error) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		o.Warn = func(w string) { warned = append(warned, w) }
		m, err := models.Open(path, o)
		if err != nil {
			return warned, nil, err
		}
		return warned, m.Warnings, nil
	}
	names := []string{"token_embd.weight", "blk.0.attn_k.weight", "blk.0.ffn_up.weight", "output.weight"}
	some := retype(t, whole, gguf.Q2_K, names...)
	wide := models.Options{WeightFormats: []models.NamedFormat{{Pattern: "*", Format: kernels.FormatF32}}}
	narrow := models.Options{WeightFormats: []models.NamedFormat{{Pattern: "*", Format: kernels.FormatQ8_0}}}

	file := tftest.Must(gguf.Open(modelstest.Testdata("gguf/k/q4_k.gguf")))(t)
	defer file.Close()
	elements := 0
	for _, name := range names {
		info, _ := file.Info(name)
		elements += info.Len()
	}
	want := []string{fmt.Sprintf("Q2_K: %d bytes in the file take %d in memory, as float32", elements/256*84, 4*elements)}
	for name, c := range map[string]struct {
		data    []byte
		options models.Options
		want    []string
	}{
		"blocks with a format":       {whole, models.Options{}, nil},
		"float32 by options":         {whole, wide, nil},
		"no format":                  {some, models.Options{}, want},
		"no format, and float32":     {some, wide, want},
		"no format, but one that is": {some, narrow, nil},
	} {
		warned, kept, err := open(c.data, c.options)
		if err != nil || !slices.Equal(warned, c.want) || !slices.Equal(kept, c.want) {
			t.Errorf("%s: warned of %q, the model says %q, error %v; want %q", name, warned, kept, err, c.want)
		}
	}

	// What is left over is found once weights have been read: a warning that comes all the same
	// came before.
	broken := bytes.ReplaceAll(some, []byte("\x00output.weight"), []byte("\x00outPUT.weight"))
	if warned, _, err := open(broken, models.Options{}); !errors.Is(err, fault.ErrLeftOver) || len(warned) != 1 || !strings.HasPrefix(warned[0], "Q2_K: ") {
		t.Errorf("warned of %q before the error %v, want a warning of Q2_K", warned, err)
	}
}
