// Labels and vectors of images.

package text

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"io/fs"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/vision"
	"github.com/avoformer/avoformer/transformer"
)

// images is a folder with what its images are made into.
type images struct {
	*base
	processor *vision.Processor
	decoder   *vision.Decoder
}

func openImages(fsys fs.FS, r record, o Options) (images, error) {
	f, err := openFitting(fsys, r, o)
	if err != nil {
		return images{}, err
	}
	const file = "preprocessor_config.json"
	config, err := regular.ReadFile(fsys, file)
	if err != nil {
		return images{}, check.InFile(file, fault.ErrFolder, err)
	}
	p, err := vision.NewProcessor(config)
	if err != nil {
		return images{}, check.InFile(file, fault.ErrConfig, err)
	}
	for _, w := range p.Warnings {
		f.warning(file + ": " + w)
	}
	return images{f, p, vision.NewDecoder(f.options.MaxPixels)}, nil
}

// each encodes image files, several at a time where there are as many as threads, and hands the
// hidden states of each, [rows, D], to use.
func (m *images) each(ctx context.Context, files [][]byte, use func(ws *models.Workspace, i int, x []float32, batch models.Batch) error) error {
	at, err := m.queue.Each(ctx, len(files), func(ws *models.Workspace, i int) error {
		return m.one(ws, files[i], func(x []float32, batch models.Batch) error { return use(ws, i, x, batch) })
	})
	if err != nil && ctx.Err() == nil {
		return &InputError{at, err}
	}
	return err
}

func (m *images) one(ws *models.Workspace, data []byte, use func(x []float32, batch models.Batch) error) error {
	var pixels []float32 // [3, h, w]
	var w, h int
	err := m.decoder.Use(data, func(picture *vision.RGB) (err error) {
		pixels, w, h, err = m.processor.Pixels(picture)
		return err
	})
	if err != nil {
		return err
	}
	rows, err := m.model.Image.Rows(h, w)
	if err != nil {
		return err
	}
	x := ws.Alloc(rows * m.model.Image.Dim()) // [rows, D]; each releases it
	if err := m.model.Image.EncodeImages(ws, x, pixels, 1, h, w); err != nil {
		return err
	}
	return use(x, transformer.Uniform(1, rows))
}

// ImageClassifier gives images labels.
type ImageClassifier struct{ images }

// KindImageClassifier is the kind of an [ImageClassifier].
const KindImageClassifier Kind = "image-classifier"

func imageClassifier() record {
	return record{
		KindInfo: KindInfo{Type: "ImageClassifier", Task: "image-classification", Command: "classify", Images: true, Options: []string{"MaxPixels"}},
		kind:     KindImageClassifier, use: models.UseImageLabels, open: opening(openImageClassifier),
		lacks: "has no classifier of images",
	}
}

// OpenImageClassifier opens the model in a folder.
func OpenImageClassifier(dir string, o Options) (*ImageClassifier, error) {
	return openIn(dir, o, openImageClassifier)
}

func openImageClassifier(fsys fs.FS, o Options) (*ImageClassifier, error) {
	m, err := openImages(fsys, imageClassifier(), o)
	if err != nil {
		return nil, err
	}
	return &ImageClassifier{m}, nil
}

// Classify returns all labels of each image file with their probabilities, the best first. Files
// are JPEG, PNG, WebP, BMP, TIFF or GIF; of a GIF the first image counts.
func (c *ImageClassifier) Classify(ctx context.Context, files [][]byte) ([][]Label, error) {
	out := make([][]Label, len(files))
	err := c.logits(ctx, files, func(i int, y []float32) {
		softmax(y)
		out[i] = ranked(y, c.model.Config.Labels)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Logits returns the model's logits for each image file, [len(files)][labels], in the order of
// [ImageClassifier.Labels]: probabilities are its softmax.
func (c *ImageClassifier) Logits(ctx context.Context, files [][]byte) ([][]float32, error) {
	out := make([][]float32, len(files))
	if err := c.logits(ctx, files, func(i int, y []float32) { out[i] = y }); err != nil {
		return nil, err
	}
	return out, nil
}

// Labels returns the names of the labels, in the order of the model.
func (c *ImageClassifier) Labels() []string { return slices.Clone(c.model.Config.Labels) }

// logits hands those of each image to use, which may keep and change them.
func (c *ImageClassifier) logits(ctx context.Context, files [][]byte, use func(i int, y []float32)) error {
	return c.each(ctx, files, func(ws *models.Workspace, i int, x []float32, batch models.Batch) error {
		y := make([]float32, c.model.Heads[models.HeadImageClassifier].Out()) // [labels]
		if err := c.model.Heads[models.HeadImageClassifier].Forward(ws, y, x, models.Tokens{Batch: batch}); err != nil {
			return err
		}
		if err := check.Finite(y); err != nil {
			return err
		}
		use(i, y)
		return nil
	})
}

// ImageEmbedder turns images into vectors: the model's pooled output, such as CLIP's projection, or
// else the hidden state of the first token.
type ImageEmbedder struct{ images }

// KindImageEmbedder is the kind of an [ImageEmbedder].
const KindImageEmbedder Kind = "image-embedder"

func imageEmbedder() record {
	return record{
		KindInfo: KindInfo{Type: "ImageEmbedder", Task: "image-feature-extraction", Images: true, Options: []string{"MaxPixels"}},
		kind:     KindImageEmbedder, use: models.UseImages, open: opening(openImageEmbedder),
		lacks: "takes no images",
	}
}

// OpenImageEmbedder opens the model in a folder.
func OpenImageEmbedder(dir string, o Options) (*ImageEmbedder, error) {
	return openIn(dir, o, openImageEmbedder)
}

func openImageEmbedder(fsys fs.FS, o Options) (*ImageEmbedder, error) {
	m, err := openImages(fsys, imageEmbedder(), o)
	return &ImageEmbedder{m}, err
}

// Dim returns the number of elements of a vector.
func (e *ImageEmbedder) Dim() int {
	if e.model.Heads[models.HeadImagePooler] != nil {
		return e.model.Heads[models.HeadImagePooler].Out()
	}
	return e.model.Image.Dim()
}

// Embed returns the vector of each image file, of the kinds that [ImageClassifier] takes, as the
// model makes it: not scaled to length 1.
func (e *ImageEmbedder) Embed(ctx context.Context, files [][]byte) ([][]float32, error) {
	out := make([][]float32, len(files))
	err := e.each(ctx, files, func(ws *models.Workspace, i int, x []float32, batch models.Batch) error {
		out[i] = make([]float32, e.Dim())
		if e.model.Heads[models.HeadImagePooler] == nil {
			copy(out[i], x)
		} else if err := e.model.Heads[models.HeadImagePooler].Forward(ws, out[i], x, models.Tokens{Batch: batch}); err != nil {
			return err
		}
		return check.Finite(out[i])
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Warm computes a grey image.
func (p *ImageClassifier) Warm(ctx context.Context) error {
	_, err := p.Classify(ctx, [][]byte{grey()})
	return warmed(err)
}

// Warm computes a grey image.
func (p *ImageEmbedder) Warm(ctx context.Context) error {
	_, err := p.Embed(ctx, [][]byte{grey()})
	return warmed(err)
}

// grey returns the file of a small image.
func grey() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 32, 32))); err != nil {
		panic(err) // nothing keeps a buffer from being written
	}
	return b.Bytes()
}
