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

// TestCompare serves scripts in scripts/configs, which start it with AVOFORMER_COMPARE: each line
// of the standard input is a folder and texts in JSON, and the answer a line of JSON. Kind is a
// class of sentence-transformers for what it makes of the texts, a folder of testdata for what it
// generates, and image for the pixels of an image, Dir, with a configuration, the first text, into
// a file, the second.
func TestCompare(t *testing.T) {
	if os.Getenv("AVOFORMER_COMPARE") == "" {
		t.Skip("make compare WHAT=sentences starts it")
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var request struct {
			Kind, Dir, Query string
			Texts            []string
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			t.Fatal(err)
		}
		var result any
		switch request.Kind {
		case "SentenceTransformer", "SparseEncoder", "MultiVectorEncoder":
			result = embedAll(request.Kind, request.Dir, request.Texts)
		case "CrossEncoder":
			result = scoreAll(request.Dir, request.Query, request.Texts)
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

// compared is what a folder makes of texts, by what it is.
type compared struct {
	Refused  string         `json:"refused"`
	Named    bool           `json:"named"` // the error is one of those for folders and inputs
	Warnings []string       `json:"warnings"`
	Results  map[string]any `json:"results"`
}

func (r *compared) begin() Options {
	r.Results = map[string]any{}
	return Options{Model: models.Options{Warn: func(w string) { r.Warnings = append(r.Warnings, w) }}}
}

func (r *compared) refuse(err error) {
	if err != nil {
		r.Refused = err.Error()
		r.Named = slices.ContainsFunc(folderErrors, func(kind error) bool { return errors.Is(err, kind) })
	}
}

// folderErrors are the kinds of errors that folders and texts may have.
var folderErrors = []error{
	fault.ErrFolder, fault.ErrInput, fault.ErrTooLong, fault.ErrConfig, fault.ErrFormat, fault.ErrWeights, fault.ErrTruncation, fault.ErrMissing, fault.ErrMisshapen, fault.ErrLeftOver,
}

// embedAll returns vectors of texts, of queries and of documents.
func embedAll(class, dir string, texts []string) (r compared) {
	e, err := OpenEmbedder(dir, r.begin())
	for _, of := range []struct{ what, prompt string }{{"Vectors", ""}, {"Queries", "query"}, {"Documents", "document"}} {
		if err == nil {
			r.Results[of.what], err = embedded(e, class, texts, EmbedOptions{Prompt: of.prompt})
		}
	}
	if class == "MultiVectorEncoder" && err == nil {
		similar := make([][]float32, len(texts))
		for i, q := range r.Results["Queries"].([][][]float32) {
			for _, d := range r.Results["Documents"].([][][]float32) {
				similar[i] = append(similar[i], e.Interact(q, d))
			}
		}
		r.Results["Similar"] = similar
	}
	r.refuse(err)
	return r
}

// embedded returns the vectors of a class: a sparse one as pairs of an index and a value.
func embedded(e *Embedder, class string, texts []string, o EmbedOptions) (any, error) {
	ctx := context.Background()
	switch class {
	case "SparseEncoder":
		vectors, err := outputs(e.EmbedSparse(ctx, Texts(texts...), o))
		pairs := make([][][2]float32, len(vectors))
		for i, v := range vectors {
			pairs[i] = [][2]float32{}
			for _, w := range v {
				pairs[i] = append(pairs[i], [2]float32{float32(w.Index), w.Value})
			}
		}
		return pairs, err
	case "MultiVectorEncoder":
		return outputs(e.EmbedMultiVector(ctx, Texts(texts...), o))
	}
	return outputs(e.Embed(ctx, Texts(texts...), o))
}

// scoreAll returns the scores of texts for a query, with each prompt of the folder and without one.
func scoreAll(dir, query string, texts []string) (r compared) {
	c, err := OpenReranker(dir, r.begin())
	if err == nil {
		for _, prompt := range append(c.Prompts(), "") {
			if err == nil {
				r.Results["Scores "+prompt], err = outputs(c.Score(context.Background(), query, texts, RerankOptions{Prompt: prompt}))
			}
		}
	}
	r.refuse(err)
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

// imaged says what parts there are of an image.
type imaged struct {
	Refused string   `json:"refused"`
	Grid    [2]int   `json:"grid"`   // of tiles
	Shapes  [][2]int `json:"shapes"` // height and width of each part
}

func pixelsOf(file, config, out string) (r imaged) {
	data, err := os.ReadFile(file)
	var p *vision.Processor
	if err == nil {
		p, err = vision.NewProcessor([]byte(config))
	}
	var m *vision.RGB
	if err == nil {
		m, err = vision.Decode(data, vision.MaxPixels)
	}
	var picture *vision.Picture
	if err == nil {
		picture, err = p.Picture(m)
	}
	var pixels []float32
	if err == nil {
		r.Grid = [2]int{picture.Rows, picture.Columns}
		for part := range picture.Parts() {
			x, w, h := picture.Pixels(part)
			pixels, r.Shapes = append(pixels, x...), append(r.Shapes, [2]int{h, w})
		}
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
