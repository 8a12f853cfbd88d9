package models

import (
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// Vectors of texts and images in one space.

// joint makes vectors of texts and images, of length 1 in one space.
type joint struct {
	text        tokenEncoder
	image       imageEncoder
	textHead    rowHead
	imageHead   rowHead
	scale, bias float32
}

// Dim is the width of the vectors.
func (j *joint) Dim() int { return j.textHead.Out() }

// EmbedTexts sets dst, [sequences, Dim], to the vectors of texts, which end with the
// token that their tokenizer puts there.
func (j *joint) EmbedTexts(ws *Workspace, dst []float32, in Tokens) error {
	defer ws.Release(ws.Mark())
	x := ws.Alloc(in.Batch.Rows() * j.text.Dim())    // [rows, D]
	if err := j.text.Encode(ws, x, in); err != nil { // [rows, D]
		return err
	}
	if err := j.textHead.Forward(ws, dst, x, in); err != nil { // [sequences, Dim]
		return err
	}
	normalizeRows(dst, j.Dim())
	return nil
}

// EmbedImages sets dst, [images, Dim], to the vectors of pixels, [images, channels,
// height, width].
func (j *joint) EmbedImages(ws *Workspace, dst, pixels []float32, images, height, width int) error {
	rows, err := j.image.Rows(height, width)
	if err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	x := ws.Alloc(images * rows * j.image.Dim())                                       // [images, rows, D]
	if err := j.image.EncodeImages(ws, x, pixels, images, height, width); err != nil { // [images, rows, D]
		return err
	}
	if err := j.imageHead.Forward(ws, dst, x, Tokens{Batch: transformer.Uniform(images, rows)}); err != nil { // [images, Dim]
		return err
	}
	normalizeRows(dst, j.Dim())
	return nil
}

// Compare sets dst, [images, texts], to the logits of each image and text belonging
// together: the products of their vectors, [images, Dim] and [texts, Dim], scaled.
func (j *joint) Compare(ws *Workspace, dst, images, texts []float32) error {
	dim := j.Dim()
	m, n := len(images)/dim, len(texts)/dim
	if len(images) != m*dim || len(texts) != n*dim || len(dst) != m*n {
		return check.Errorf(transformer.ErrShape, "%d elements for vectors of images of %d and of texts of %d, each of %d", len(dst), len(images), len(texts), dim)
	}
	ws.Threads.Gemm(kernels.NoTrans, kernels.Trans, m, n, dim, j.scale, images, dim, texts, dim, 0, dst, n) // [images, texts]
	for i := range dst {
		dst[i] += j.bias
	}
	return nil
}

// tokenEncoder, imageEncoder and rowHead are what models.Encoder, models.ImageEncoder and models.Head are.
type (
	tokenEncoder interface {
		Dim() int
		Encode(ws *Workspace, dst []float32, in Tokens) error
	}
	imageEncoder interface {
		Dim() int
		Rows(height, width int) (int, error)
		EncodeImages(ws *Workspace, dst, pixels []float32, images, height, width int) error
	}
	rowHead interface {
		Out() int
		Forward(ws *Workspace, dst, x []float32, in Tokens) error
	}
)
