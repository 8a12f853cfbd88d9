package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
)

// This file draws vectors that resemble those of embedders, as far as search is concerned: groups
// of topics within groups, directions of unequal weight, and length 1.

// maker draws vectors.
type maker struct {
	r      *rand.Rand
	topics [][]float32
}

// newMaker returns a maker whose topics are the same for every seed.
func newMaker(seed uint64) *maker {
	m := &maker{r: rand.New(rand.NewPCG(1, 1))}
	for range 5000 {
		m.topics = append(m.topics, m.noise(1))
	}
	for i := range m.topics {
		add(m.topics[i], m.topics[i%100], 0.7)
	}
	m.r = rand.New(rand.NewPCG(seed, 2))
	return m
}

// noise returns a vector of normal numbers, which are smaller in later dimensions.
func (m *maker) noise(scale float64) []float32 {
	v := make([]float32, *dim)
	for i := range v {
		v[i] = float32(scale * m.r.NormFloat64() / math.Pow(1+float64(i)/16, 0.3))
	}
	return v
}

func add(v, w []float32, scale float32) {
	for i := range v {
		v[i] += scale * w[i]
	}
}

func (m *maker) vectors(n int) [][]float32 {
	out := make([][]float32, n)
	for i := range out {
		out[i] = m.noise(1)
		add(out[i], m.topics[m.r.IntN(len(m.topics))], 1)
		unit(out[i])
	}
	return out
}

// near returns a vector close to v.
func near(v []float32, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 3))
	w := slices.Clone(v)
	for i := range w {
		w[i] += float32(r.NormFloat64() * 0.5 / math.Sqrt(float64(len(v))))
	}
	unit(w)
	return w
}

func unit(v []float32) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
}

func encode(vectors [][]float32) []byte {
	var b []byte
	for _, v := range vectors {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	return b
}

// makeVectors draws the vectors, and writes them to a file unless the file exists.
func makeVectors(name string) ([][]float32, error) {
	vectors := newMaker(1).vectors(*count)
	if info, err := os.Stat(name); err == nil && info.Size() == int64(*count**dim*4) {
		return vectors, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for _, v := range vectors {
		if _, err := w.Write(encode([][]float32{v})); err != nil {
			return nil, err
		}
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	return vectors, f.Close()
}
