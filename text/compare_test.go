package text

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/vision"
)

// TestCompare serves scripts in scripts/configs, which start it with AVOFORMER_COMPARE: each line of
// the standard input is a folder and texts in JSON, and the answer a line of JSON. Kind is empty for vectors, a folder of
// testdata for what it generates, and image for the pixels of an image, Dir, with a configuration, the first text, into a
// file, the second.
func TestCompare(t *testing.T) {
	if os.Getenv("AVOFORMER_COMPARE") == "" {
		t.Skip("make compare-sentences starts it")
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var request struct {
			Kind, Dir string
			Texts     []string
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			t.Fatal(err)
		}
		var result any
		switch request.Kind {
		case "":
			result = embedAll(request.Dir, request.Texts)
		case "image":
			result = pixelsOf(request.Dir, request.Texts[0], request.Texts[1])
		default:
			result = generateAll(t, request.Kind, request.Dir, request.Texts)
		}
		answer, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("@%s\n", answer)
	}
}

// embedded is what an Embedder makes of texts with each kind of prompt.
type embedded struct {
	Refused                     string   `json:"refused"`
	Named                       bool     `json:"named"` // the error is one of those for folders and inputs
	Warnings                    []string `json:"warnings"`
	Vectors, Queries, Documents [][]float32
}

// compared are the kinds of errors that folders and texts may have.
var compared = []error{
	fault.ErrFolder, fault.ErrInput, fault.ErrTooLong, fault.ErrConfig, fault.ErrFormat, fault.ErrWeights, fault.ErrFormat, fault.ErrTruncation, fault.ErrConfig,
	fault.ErrMissing, fault.ErrMisshapen, fault.ErrLeftOver, fault.ErrTooLong,
}

func embedAll(dir string, texts []string) (r embedded) {
	ctx := context.Background()
	e, err := OpenEmbedder(dir, Options{Model: models.Options{Warn: func(w string) { r.Warnings = append(r.Warnings, w) }}})
	if err == nil {
		r.Vectors, err = outputs(e.Embed(ctx, Texts(texts...), EmbedOptions{}))
	}
	if err == nil {
		r.Queries, err = outputs(e.Embed(ctx, Texts(texts...), EmbedOptions{Prompt: "query"}))
	}
	if err == nil {
		r.Documents, err = outputs(e.Embed(ctx, Texts(texts...), EmbedOptions{Prompt: "document"}))
	}
	if err != nil {
		r.Refused = err.Error()
		r.Named = slices.ContainsFunc(compared, func(kind error) bool { return errors.Is(err, kind) })
	}
	return r
}

// generated is what a folder makes of texts.
type generated struct {
	Refused   string   `json:"refused"`
	Generated []string `json:"generated"`
}

func generateAll(t *testing.T, kind, dir string, texts []string) (r generated) {
	run, err := generating(os.DirFS(dir), kind)
	for i := 0; err == nil && i < len(texts); i++ {
		var b strings.Builder
		for piece, failed := range run(t, texts[i]) {
			b.WriteString(piece.Text)
			err = failed
		}
		r.Generated = append(r.Generated, b.String())
	}
	if err != nil {
		r.Refused = err.Error()
	}
	return r
}

// imaged is the height and the width of pixels.
type imaged struct {
	Refused string `json:"refused"`
	Shape   [2]int `json:"shape"`
}

func pixelsOf(file, config, out string) (r imaged) {
	data, err := os.ReadFile(file)
	var p *vision.Processor
	if err == nil {
		p, err = vision.NewProcessor([]byte(config))
	}
	var picture *vision.RGB
	if err == nil {
		picture, err = vision.Decode(data, vision.MaxPixels)
	}
	var pixels []float32
	if err == nil {
		pixels, r.Shape[1], r.Shape[0], err = p.Pixels(picture)
	}
	var b []byte
	for _, x := range pixels {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	if err == nil {
		err = os.WriteFile(out, b, 0o600)
	}
	if err != nil {
		r.Refused = err.Error()
	}
	return r
}
