package block

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// Vectors of texts and images in one space.

// Joint makes vectors of texts and images, of length 1 in one space.
type Joint struct {
	Text        tokenEncoder
	Image       imageEncoder
	TextHead    rowHead
	ImageHead   rowHead
	Scale, Bias float32
}

// Dim returns the width of the vectors.
func (j *Joint) Dim() int { return j.TextHead.Out() }

// EmbedTexts sets dst, [sequences, Dim], to the vectors of texts, which end with the token that
// their tokenizer puts there.
func (j *Joint) EmbedTexts(ws *transformer.Workspace, dst []float32, in transformer.Tokens) error {
	defer ws.Release(ws.Mark())
	x := ws.Alloc(in.Batch.Rows() * j.Text.Dim())    // [rows, D]
	if err := j.Text.Encode(ws, x, in); err != nil { // [rows, D]
		return err
	}
	if err := j.TextHead.Forward(ws, dst, x, in); err != nil { // [sequences, Dim]
		return err
	}
	NormalizeRows(dst, j.Dim())
	return nil
}

// EmbedImages sets dst, [images, Dim], to the vectors of pixels, [images, channels, height, width].
func (j *Joint) EmbedImages(ws *transformer.Workspace, dst, pixels []float32, images, height, width int) error {
	rows, err := j.Image.Rows(height, width)
	if err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	x := ws.Alloc(images * rows * j.Image.Dim())                                       // [images, rows, D]
	if err := j.Image.EncodeImages(ws, x, pixels, images, height, width); err != nil { // [images, rows, D]
		return err
	}
	if err := j.ImageHead.Forward(ws, dst, x, transformer.Tokens{Batch: transformer.Uniform(images, rows)}); err != nil { // [images, Dim]
		return err
	}
	NormalizeRows(dst, j.Dim())
	return nil
}

// Compare sets dst, [images, texts], to the logits of each image and text belonging together: the
// products of their vectors, [images, Dim] and [texts, Dim], scaled.
func (j *Joint) Compare(ws *transformer.Workspace, dst, images, texts []float32) error {
	dim := j.Dim()
	m, n := len(images)/dim, len(texts)/dim
	if len(images) != m*dim || len(texts) != n*dim || len(dst) != m*n {
		return check.Errorf(fault.ErrShape, "%d elements for vectors of images of %d and of texts of %d, each of %d", len(dst), len(images), len(texts), dim)
	}
	ws.Threads.Gemm(kernels.NoTrans, kernels.Trans, m, n, dim, j.Scale, images, dim, texts, dim, 0, dst, n) // [images, texts]
	for i := range dst {
		dst[i] += j.Bias
	}
	return nil
}

// tokenEncoder, imageEncoder and rowHead are what models.Encoder, models.ImageEncoder and
// models.Head are.
type (
	tokenEncoder interface {
		Dim() int
		Encode(ws *transformer.Workspace, dst []float32, in transformer.Tokens) error
	}
	imageEncoder interface {
		Dim() int
		Rows(height, width int) (int, error)
		EncodeImages(ws *transformer.Workspace, dst, pixels []float32, images, height, width int) error
	}
	rowHead interface {
		Out() int
		Forward(ws *transformer.Workspace, dst, x []float32, in transformer.Tokens) error
	}
)
