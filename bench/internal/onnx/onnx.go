// Package onnx writes the small ONNX models on which ONNX Runtime computes a benchmark's cases.
//
// A model is a protocol buffer of a handful of message kinds; the field numbers below are those of
// onnx.proto.
package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/avoformer/avoformer/bench/internal/workload"
)

// message is an encoded protocol buffer message.
type message []byte

func (m *message) varint(field int, v uint64) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3)
	*m = binary.AppendUvarint(*m, v)
}

func (m *message) bytes(field int, b []byte) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|2)
	*m = binary.AppendUvarint(*m, uint64(len(b)))
	*m = append(*m, b...)
}

func (m *message) string(field int, s string) { m.bytes(field, []byte(s)) }

func (m *message) float(field int, f float32) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|5)
	*m = binary.LittleEndian.AppendUint32(*m, math.Float32bits(f))
}

const (
	elemFloat = 1
	elemInt8  = 3
	attrFloat = 1
	attrInt   = 2
	microsoft = "com.microsoft"
)

// graph collects a GraphProto: node 1, name 2, initializer 5, input 11, output 12.
type graph struct {
	m      message
	in     [][]float32
	shapes strings.Builder
}

// attrs maps an attribute's name to an int or a float32.
type attrs map[string]any

// node adds op(inputs) -> output; a domain comes before the operator's name, as in
// "com.microsoft:Gelu".
func (g *graph) node(op string, a attrs, output string, inputs ...string) {
	var n message
	for _, in := range inputs {
		n.string(1, in)
	}
	n.string(2, output)
	if domain, name, ok := strings.Cut(op, ":"); ok {
		n.string(7, domain)
		op = name
	}
	n.string(4, op)
	for name, v := range a {
		var m message
		m.string(1, name)
		switch v := v.(type) {
		case int:
			m.varint(3, uint64(v))
			m.varint(20, attrInt)
		case float32:
			m.float(2, v)
			m.varint(20, attrFloat)
		}
		n.bytes(5, m)
	}
	g.m.bytes(1, n)
}

// constant adds an initializer.
func (g *graph) constant(name string, x []float32, dims ...int) {
	g.initializer(name, elemFloat, workload.Encode(x), dims)
}

func (g *graph) initializer(name string, elem uint64, raw []byte, dims []int) {
	var t message
	for _, d := range dims {
		t.varint(1, uint64(d))
	}
	t.varint(2, elem)
	t.string(8, name)
	t.bytes(9, raw)
	g.m.bytes(5, t)
}

// quantized adds the k x n matrix x as int8, symmetric by columns, and its scales.
func (g *graph) quantized(name, scales string, x []float32, k, n int) {
	s, raw := make([]float32, n), make([]byte, k*n)
	for j := range n {
		for p := range k {
			s[j] = max(s[j], float32(math.Abs(float64(x[p*n+j])))/127)
		}
		for p := range k {
			raw[p*n+j] = byte(int8(math.RoundToEven(float64(x[p*n+j] / s[j]))))
		}
	}
	g.initializer(name, elemInt8, raw, []int{k, n})
	g.constant(scales, s, n)
}

func (g *graph) value(field int, name string, dims []int) {
	var shape, tensor, typ, v message
	for _, d := range dims {
		var dim message
		dim.varint(1, uint64(d))
		shape.bytes(1, dim)
	}
	tensor.varint(1, elemFloat)
	tensor.bytes(2, shape)
	typ.bytes(1, tensor)
	v.string(1, name)
	v.bytes(2, typ)
	g.m.bytes(field, v)
}

// input adds the next input, named i0, i1, ..., and its data.
func (g *graph) input(x []float32, dims ...int) {
	g.value(11, fmt.Sprintf("i%d", len(g.in)), dims)
	g.in = append(g.in, x)
	g.line('i', dims)
}

// output declares the result y.
func (g *graph) output(dims ...int) {
	g.value(12, "y", dims)
	g.line('o', dims)
}

func (g *graph) line(kind byte, dims []int) {
	fmt.Fprintf(&g.shapes, "%c", kind)
	for _, d := range dims {
		fmt.Fprintf(&g.shapes, " %d", d)
	}
	fmt.Fprintln(&g.shapes)
}

// A Model is what ONNX Runtime needs for a case.
type Model struct {
	Bytes  []byte
	Shapes string      // one line per input ("i 128 768"), then the output ("o 128 768")
	In     [][]float32 // the inputs in the model's layout
	Decode func([]float32) []float32
}

func (g *graph) model(opset int) *Model {
	g.m.string(2, "case")
	var m message
	m.varint(1, 8) // IR version
	for domain, version := range map[string]int{"": opset, microsoft: 1} {
		var o message
		o.string(1, domain)
		o.varint(2, uint64(version))
		m.bytes(8, o)
	}
	m.bytes(7, g.m)
	return &Model{Bytes: m, Shapes: g.shapes.String(), In: g.in, Decode: func(x []float32) []float32 { return x }}
}

// Variants lists the operators through which a case can be computed.
func Variants(c workload.Case) []string {
	switch c.Op {
	case workload.SDPA, workload.SDPADecode:
		return []string{"unfused", "attention23", "mha"}
	case workload.EncoderLayer:
		return []string{"attention", "mha"}
	}
	return []string{"model"}
}

// Build writes the model of a case, or returns nil if there is no model for it.
func Build(d *workload.Data, variant string) *Model {
	g := &graph{}
	s := d.Dims
	opset := 17
	switch {
	case d.Int8 && d.Op == workload.GemmPacked: // A is quantized in the call, with one scale
		m, n, k := s[0], s[1], s[2]
		g.input(d.In[0], m, k)
		g.quantized("b", "s", d.In[1], k, n)
		g.node(microsoft+":DynamicQuantizeMatMul", nil, "y", "i0", "b", "s")
		g.output(m, n)
		return g.model(opset)
	case d.Int8:
		return nil
	}
	switch d.Op {
	case workload.GemmNN, workload.GemmNT:
		m, n, k := s[0], s[1], s[2]
		g.input(d.In[0], m, k)
		if d.Op == workload.GemmNN {
			g.input(d.In[1], k, n)
			g.node("MatMul", nil, "y", "i0", "i1")
		} else {
			g.input(d.In[1], n, k)
			g.node("Gemm", attrs{"transB": 1}, "y", "i0", "i1")
		}
		g.output(m, n)
	case workload.GemmPacked:
		m, n, k := s[0], s[1], s[2]
		g.input(d.In[0], m, k)
		g.constant("b", d.In[1], k, n)
		g.node("MatMul", nil, "y", "i0", "b")
		g.output(m, n)
	case workload.LinearBiasGELU:
		m, n, k := s[0], s[1], s[2]
		g.input(d.In[0], m, k)
		g.constant("b", d.In[1], k, n)
		g.constant("c", d.In[2], n)
		g.node("MatMul", nil, "t", "i0", "b")
		g.node(microsoft+":BiasGelu", nil, "y", "t", "c")
		g.output(m, n)
	case workload.BatchGemmNN, workload.BatchGemmNT:
		h, m, n, k := s[0], s[1], s[2], s[3]
		g.input(d.In[0], h, m, k)
		if d.Op == workload.BatchGemmNN {
			g.input(d.In[1], h, k, n)
			g.node("MatMul", nil, "y", "i0", "i1")
		} else {
			g.input(d.In[1], h, n, k)
			g.node(microsoft+":FusedMatMul", attrs{"transB": 1}, "y", "i0", "i1")
		}
		g.output(h, m, n)
	case workload.Softmax:
		g.input(d.In[0], s...)
		g.node("Softmax", attrs{"axis": 1}, "y", "i0")
		g.output(s...)
	case workload.LayerNorm:
		g.input(d.In[0], s...)
		g.constant("w", d.In[1], s[1])
		g.constant("b", d.In[2], s[1])
		g.node("LayerNormalization", attrs{"axis": 1, "epsilon": float32(1e-5)}, "y", "i0", "w", "b")
		g.output(s...)
	case workload.GELU:
		g.input(d.In[0], s...)
		g.node(microsoft+":Gelu", nil, "y", "i0")
		g.output(s...)
	case workload.Exp:
		g.input(d.In[0], s...)
		g.node("Exp", nil, "y", "i0")
		g.output(s...)
	case workload.SDPA, workload.SDPADecode:
		return attention(g, d, variant)
	case workload.EncoderLayer:
		encoder(g, d, variant)
	default:
		return nil
	}
	return g.model(opset)
}

// attention has three forms: three operators, ONNX's own Attention, both on [B,H,L,D], and the
// contributed MultiHeadAttention on [B,L,H·D].
func attention(g *graph, d *workload.Data, variant string) *Model {
	b, h, lq, lk, w := d.Dims[0], d.Dims[1], d.Dims[2], d.Dims[3], d.Dims[4]
	if variant == "mha" {
		g.input(swapHeads(d.In[0], b, h, lq, w), b, lq, h*w)
		g.input(swapHeads(d.In[1], b, h, lk, w), b, lk, h*w)
		g.input(swapHeads(d.In[2], b, h, lk, w), b, lk, h*w)
		g.node(microsoft+":MultiHeadAttention", attrs{"num_heads": h}, "y", "i0", "i1", "i2")
		g.output(b, lq, h*w)
		m := g.model(17)
		m.Decode = func(y []float32) []float32 { return swapHeads(y, b, lq, h, w) }
		return m
	}
	g.input(d.In[0], b, h, lq, w)
	g.input(d.In[1], b, h, lk, w)
	g.input(d.In[2], b, h, lk, w)
	g.output(b, h, lq, w)
	if variant == "attention23" {
		g.node("Attention", nil, "y", "i0", "i1", "i2")
		return g.model(23)
	}
	g.node(microsoft+":FusedMatMul", attrs{"transB": 1, "alpha": float32(1 / math.Sqrt(float64(w)))}, "s", "i0", "i1")
	g.node("Softmax", attrs{"axis": 3}, "p", "s")
	g.node("MatMul", nil, "y", "p", "i2")
	return g.model(17)
}

// swapHeads exchanges the two middle dimensions of x [b,p,q,w].
func swapHeads(x []float32, b, p, q, w int) []float32 {
	y := make([]float32, len(x))
	for i := range b {
		for j := range p {
			for k := range q {
				copy(y[((i*q+k)*p+j)*w:][:w], x[((i*p+j)*q+k)*w:][:w])
			}
		}
	}
	return y
}

// encoder is a post-norm layer in the operators that ONNX Runtime's own optimizer makes of one:
// attention with packed projections, or three projections and MultiHeadAttention.
func encoder(g *graph, d *workload.Data, variant string) {
	b, l, n, h, f := d.Dims[0], d.Dims[1], d.Dims[2], d.Dims[3], d.Dims[4]
	in := d.In
	g.input(in[0], b, l, n)
	g.constant("bqkv", in[2], 3*n)
	if variant == "attention" {
		g.constant("wqkv", in[1], n, 3*n)
		g.node(microsoft+":Attention", attrs{"num_heads": h}, "att", "i0", "wqkv", "bqkv")
	} else {
		for i, name := range []string{"q", "k", "v"} {
			w := make([]float32, 0, n*n)
			for r := range n {
				w = append(w, in[1][r*3*n+i*n:][:n]...)
			}
			g.constant("w"+name, w, n, n)
			g.node("MatMul", nil, name, "i0", "w"+name)
		}
		g.node(microsoft+":MultiHeadAttention", attrs{"num_heads": h}, "att", "q", "k", "v", "bqkv")
	}
	g.constant("wo", in[3], n, n)
	g.constant("w1", in[7], n, f)
	g.constant("c1", in[8], f)
	g.constant("w2", in[9], f, n)
	for name, i := range map[string]int{"bo": 4, "g1": 5, "b1": 6, "c2": 10, "g2": 11, "b2": 12} {
		g.constant(name, in[i], n)
	}
	eps := attrs{"epsilon": float32(1e-12)}
	g.node("MatMul", nil, "o", "att", "wo")
	g.node(microsoft+":SkipLayerNormalization", eps, "n1", "o", "i0", "g1", "b1", "bo")
	g.node("MatMul", nil, "h", "n1", "w1")
	g.node(microsoft+":BiasGelu", nil, "hg", "h", "c1")
	g.node("MatMul", nil, "h2", "hg", "w2")
	g.node(microsoft+":SkipLayerNormalization", eps, "y", "h2", "n1", "g2", "b2", "c2")
	g.output(b, l, n)
}
