package kv

import (
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// This file multiplies a few queries by keys and values of less than 32 bits, which are read where
// they are stored. Unless address next is 0, the kernels also fetch the same number of bytes from
// there.

// lanes divides the length of rows for AddValues.
const lanes = 16

// Scores sets s[i*lds+j] to alpha times the product of query i, at q[i*ldq], and key j, for m
// queries and the keys of some panels. The first key is the given row of the page.
func (p *Pages) Scores(isa simd.ISA, page, head, row, panels, m int, alpha float32, q []float32, ldq int, s []float32, lds int, next uintptr) {
	slab, i := p.at(page, head, row)
	at, n, panel, ahead := i*p.Dim, panels*p.Panel, p.Panel*p.Dim, slab.distance(i, next)
	switch p.Format {
	case weights.F16:
		simd.AttnScoresFloat16(isa, m, panels, p.Panel, p.Dim, alpha, q, ldq, slab.halves[at:at+n*p.Dim], panel, s, lds, ahead)
	case weights.BF16:
		simd.AttnScoresBFloat16(isa, m, panels, p.Panel, p.Dim, alpha, q, ldq, slab.halves[at:at+n*p.Dim], panel, s, lds, ahead)
	case weights.Int8:
		simd.AttnScoresInt8(isa, m, panels, p.Panel, p.Dim, alpha, q, ldq, slab.bytes[at:at+n*p.Dim], panel, slab.scales[i:i+n], s, lds, ahead)
	}
}

// AddsValues reports whether AddValues supports these values.
func (p *Pages) AddsValues() bool {
	return p.Format != weights.F32 && p.Panel == 1 && p.Dim%lanes == 0
}

// AddValues adds n rows of a head, from the given row of the page on, to m outputs: row j times
// w[i*ldw+j] to o[i*ldo].
func (p *Pages) AddValues(isa simd.ISA, o []float32, ldo int, w []float32, ldw, m, page, head, row, n int, next uintptr) {
	slab, i := p.at(page, head, row)
	at, to, ahead := i*p.Dim, (i+n)*p.Dim, slab.distance(i, next)
	switch p.Format {
	case weights.F16:
		simd.AttnValuesFloat16(isa, m, n, p.Dim, o, ldo, w, ldw, slab.halves[at:to], p.Dim, ahead)
	case weights.BF16:
		simd.AttnValuesBFloat16(isa, m, n, p.Dim, o, ldo, w, ldw, slab.halves[at:to], p.Dim, ahead)
	case weights.Int8:
		simd.AttnValuesInt8(isa, m, n, p.Dim, o, ldo, w, ldw, slab.bytes[at:to], p.Dim, slab.scales[i:i+n], ahead)
	}
}
