// Attention draws the attention of the translator as an SVG heat map: how much attention it pays to
// each English word for each French word.
//
//	$ go run ./examples/attention -o attention.svg "ninety-seven thousand two hundred and eighty-one"
//
// The weights are those of the decoder's cross-attention, averaged over its heads. -layer and -head
// choose other weights.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"html"
	"io"
	"log"
	"os"
	"strings"

	"github.com/avoformer/avoformer/examples/numbers"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/models/classic"
	"github.com/avoformer/avoformer/transformer"
)

func main() {
	out := flag.String("o", "attention.svg", "file to write, - for standard output")
	layer := flag.Int("layer", -1, "layer of the decoder, from 0; -1 is the last")
	head := flag.Int("head", -1, "head, from 0; -1 averages them")
	flag.Parse()
	text := "ninety-seven thousand two hundred and eighty-one"
	if flag.NArg() > 0 {
		text = strings.Join(flag.Args(), " ")
	}
	m, err := attentionMap(text, *layer, *head)
	if err != nil {
		log.Fatal(err)
	}
	var svg bytes.Buffer
	m.draw(&svg)
	if *out == "-" {
		_, err = os.Stdout.Write(svg.Bytes())
	} else {
		err = os.WriteFile(*out, svg.Bytes(), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// heatMap holds attention weights, and the words that they belong to.
type heatMap struct {
	title   string
	english []string    // columns
	french  []string    // rows
	weights [][]float32 // [len(french)][len(english)]
}

// attentionMap translates text and gathers the weights of cross-attention.
func attentionMap(text string, layer, head int) (*heatMap, error) {
	t, err := numbers.Load()
	if err != nil {
		return nil, err
	}
	source, err := t.Tokens(text)
	if err != nil {
		return nil, err
	}
	decoder := t.Model.Transformer.Decoder
	if layer < 0 {
		layer = len(decoder.Layers) - 1
	}
	if layer >= len(decoder.Layers) {
		return nil, fmt.Errorf("layer %d, want less than %d", layer, len(decoder.Layers))
	}
	heads := decoder.Layers[layer].Cross.Heads
	if head >= heads {
		return nil, fmt.Errorf("head %d, want less than %d", head, heads)
	}
	m := &heatMap{title: fmt.Sprintf("decoder layer %d, mean of %d heads", layer, heads)}
	if head >= 0 {
		m.title = fmt.Sprintf("decoder layer %d, head %d", layer, head)
	}
	for _, id := range source {
		m.english = append(m.english, t.Source[id])
	}

	ws := new(transformer.Workspace)
	memory := models.Memory{X: make([]float32, len(source)*t.Model.SourceEmbedding.Dim), Batch: transformer.Uniform(1, len(source))}
	if err := t.Model.Encode(ws, memory.X, source, memory.Batch, nil); err != nil {
		return nil, err
	}
	// Each step of decoding has one query. Its weights, [1, heads, 1, source], show the words that
	// the model attends to while it chooses the next word.
	name := fmt.Sprintf("transformer.decoder.layers.%d.multihead_attn.weights", layer)
	ws.Trace = func(n string, values []float32, _ ...int) {
		if n != name {
			return
		}
		row := classic.AverageHeads(values, 1, heads)
		if head >= 0 {
			row = append([]float32{}, values[head*len(source):(head+1)*len(source)]...)
		}
		m.weights = append(m.weights, row)
	}
	target, err := generation.Collect(generation.Generate(context.Background(), generation.StartLM(ws, t.Model.Decoder(), &memory, 1), []int{t.BOS()}, generation.SamplerConfig{}, t.Limits()))
	if err != nil {
		return nil, err
	}
	for _, id := range target {
		m.french = append(m.french, t.Target[id])
	}
	if len(m.weights) > len(m.french) {
		m.french = append(m.french, "<eos>")
	}
	return m, nil
}

// draw writes the map as SVG, with a row for each French word and a column for each English word.
// Darker cells mean more attention.
func (m *heatMap) draw(w io.Writer) {
	const cell, left, top, margin = 34, 120, 100, 16
	width := left + cell*len(m.english) + 70
	height := top + cell*len(m.french) + 70
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="14">`+"\n", width, height, width, height)
	fmt.Fprintf(w, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	for j, word := range m.english {
		x, y := left+cell*j+cell/2+5, top-8
		fmt.Fprintf(w, `<text x="%d" y="%d" transform="rotate(-50 %d %d)">%s</text>`+"\n", x, y, x, y, html.EscapeString(word))
	}
	for i, word := range m.french {
		y := top + cell*i
		fmt.Fprintf(w, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", left-8, y+cell/2+5, html.EscapeString(word))
		for j, weight := range m.weights[i] {
			x := left + cell*j
			fmt.Fprintf(w, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s" stroke="#ddd"><title>%s ← %s: %.3f</title></rect>`+"\n",
				x, y, cell, cell, color(weight), html.EscapeString(word), html.EscapeString(m.english[j]), weight)
			if weight >= 0.1 { // print the percentage if it is not close to 0
				ink := "#123"
				if weight > 0.55 {
					ink = "white"
				}
				fmt.Fprintf(w, `<text x="%d" y="%d" text-anchor="middle" font-size="11" fill="%s">%.0f</text>`+"\n", x+cell/2, y+cell/2+4, ink, 100*weight)
			}
		}
	}
	y := top + cell*len(m.french)
	fmt.Fprintf(w, `<text x="%d" y="%d" font-size="12" fill="#555">attention in percent</text>`+"\n", margin, y+28)
	fmt.Fprintf(w, `<text x="%d" y="%d" font-size="12" fill="#555">%s</text>`+"\n", margin, y+46, html.EscapeString(m.title))
	fmt.Fprintln(w, "</svg>")
}

// color returns a color between white, for 0, and dark blue, for 1.
func color(weight float32) string {
	mix := func(from, to float32) int { return int(from + (to-from)*min(max(weight, 0), 1) + 0.5) }
	return fmt.Sprintf("#%02x%02x%02x", mix(255, 8), mix(255, 48), mix(255, 107))
}
