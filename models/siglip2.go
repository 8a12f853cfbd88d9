package models

import (
	"math"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// SigLIP 2, as it takes images of any shape (NaFlex): Tschannen et al., 2025, "SigLIP 2:
// Multilingual Vision-Language Encoders with Improved Semantic Understanding, Localization, and
// Dense Features". Positions are resized to the patches of each image. Those of one size have
// model_type siglip.

func init() {
	Register(newSigLIP2, "siglip2")
	Register(newSigLIPText, "siglip2_text_model")
	Register(newSigLIP2Image, "siglip2_vision_model")
	Describe(Traits{Use: UseImages, NoVectors: textsWithImages}, "siglip2")
	Describe(Traits{Use: UseImages}, "siglip2_vision_model")
	Describe(Traits{NoVectors: textsWithImages}, "siglip2_text_model")
}

func newSigLIP2(c *Checkpoint) (*Model, error) { return c.siglip(siglip2Image) }

func newSigLIP2Image(c *Checkpoint) (*Model, error) { return c.siglipImageAlone(siglip2Image) }

// siglip2Image returns the tower of images that d describes, and what pools its hidden states.
func siglip2Image(d configuration.Document, l *transformer.Loader) (*block.ImageTower, *probe, error) {
	t, tower, head, err := siglip2Tower(d, l)
	if err != nil {
		return nil, nil, err
	}
	if !head {
		return nil, nil, d.Errorf("vision_use_head", "want true")
	}
	attend, err := newProbe(tower, d, l.At("head."))
	return t, attend, err
}

// siglip2Tower returns the tower of images that d describes, without what pools its hidden states,
// its sizes, and whether d says that a head pools them.
func siglip2Tower(d configuration.Document, l *transformer.Loader) (*block.ImageTower, block.TowerConfig, bool, error) {
	tower := siglipDefaults
	flexible := struct {
		Patches  int  `json:"num_patches"` // of the table of positions
		Patch    int  `json:"patch_size"`
		Channels int  `json:"num_channels"`
		Head     bool `json:"vision_use_head"`
	}{256, 16, 3, true}
	if err := block.DecodeAll(d, &tower, &flexible); err != nil {
		return nil, tower, false, err
	}
	side := int(math.Sqrt(float64(flexible.Patches)))
	if side*side != flexible.Patches {
		return nil, tower, false, d.Errorf("num_patches", "want a square")
	}
	if flexible.Patch > 1<<12 || flexible.Channels > 1<<12 || side > 1<<12 {
		return nil, tower, false, d.Errorf("patch_size", "want at most %d, also of num_channels and the root of num_patches", 1<<12)
	}
	layers, err := tower.Stack(d, l)
	if err != nil {
		return nil, tower, false, err
	}
	t := &block.ImageTower{Width: tower.Dim, Pixels: side * flexible.Patch, Side: side, Depth: tower.Layers, Layers: layers, Resize: resizeTriangle}
	patch, area := l.At("embeddings.patch_embedding."), flexible.Patch*flexible.Patch
	if shape, _ := patch.Shape("weight"); len(shape) == 4 { // llama.cpp's converter makes a convolution of it
		t.Patches = block.LoadPatches(patch, tower.Dim, flexible.Channels, flexible.Patch, flexible.Patch, true)
	} else {
		weight := patch.Tensor("weight", tower.Dim, area*flexible.Channels) // [D, height, width, channels]
		t.Patches = &block.Patches{Channels: flexible.Channels, Height: flexible.Patch, Width: flexible.Patch, Project: patch.LinearOf(area*flexible.Channels, tower.Dim, block.StepsFirst(weight, area, flexible.Channels), patch.Tensor("bias", tower.Dim))}
	}
	t.Positions = l.Tensor("embeddings.position_embedding.weight", flexible.Patches, tower.Dim)
	t.After = l.At("post_layernorm.").Norm(tower.Norm())
	return t, tower, flexible.Head, nil
}

// resizeTriangle resizes a table of positions, [down, across, dim], with weights that fall linearly
// with the distance, over as many of the table's places as become one, as PyTorch does bilinearly
// with antialias.
func resizeTriangle(table []float32, dim, down, across, toDown, toAcross int) []float32 {
	rows, columns := triangle(toDown, down), triangle(toAcross, across)
	between := make([]float64, toDown*across*dim) // [toDown, across, dim]
	for y, weights := range rows {
		to := between[y*across*dim:][:across*dim]
		for r, w := range weights {
			if w == 0 {
				continue
			}
			for i, v := range table[r*across*dim:][:across*dim] {
				to[i] += float64(w * float64(v))
			}
		}
	}
	dst := make([]float32, toDown*toAcross*dim)
	sum := make([]float64, dim)
	for y := range toDown {
		for x, weights := range columns {
			clear(sum)
			for c, w := range weights {
				if w == 0 {
					continue
				}
				for i, v := range between[(y*across+c)*dim:][:dim] {
					sum[i] += float64(w * v)
				}
			}
			for i, v := range sum {
				dst[(y*toAcross+x)*dim+i] = float32(v)
			}
		}
	}
	return dst
}

// triangle returns the weights, [to][n], of n places in each of to places, which add up to 1.
func triangle(to, n int) [][]float64 {
	all := make([][]float64, to)
	scale := float64(n) / float64(to)
	for i := range all {
		center, sum := float64((float64(i)+0.5)*scale)-0.5, 0.0
		all[i] = make([]float64, n)
		for j := range all[i] {
			all[i][j] = max(0, 1-math.Abs(float64(j)-center)/max(scale, 1))
			sum += all[i][j]
		}
		for j := range all[i] {
			all[i][j] /= sum
		}
	}
	return all
}
