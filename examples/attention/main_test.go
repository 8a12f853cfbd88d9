package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"log"
	"math"
	"strings"
	"testing"
)

func Example() {
	m, err := attentionMap("forty-one", -1, -1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.title)
	fmt.Println("English:", m.english)
	fmt.Println("French: ", m.french)
	for i, word := range m.french {
		best := 0
		for j, w := range m.weights[i] {
			if w > m.weights[i][best] {
				best = j
			}
		}
		fmt.Printf("%s looks most at %s\n", word, m.english[best])
	}
	// Output:
	// decoder layer 1, mean of 4 heads
	// English: [forty one <eos>]
	// French:  [quarante et un <eos>]
	// quarante looks most at forty
	// et looks most at one
	// un looks most at one
	// <eos> looks most at <eos>
}

func TestMap(t *testing.T) {
	for _, layerHead := range [][2]int{{-1, -1}, {0, 3}, {1, 0}} {
		m, err := attentionMap("ninety-seven thousand two hundred and eighty-one", layerHead[0], layerHead[1])
		if err != nil {
			t.Fatal(err)
		}
		if len(m.weights) != len(m.french) {
			t.Fatalf("%d rows of weights for %d words", len(m.weights), len(m.french))
		}
		for i, row := range m.weights {
			sum := 0.0
			for _, w := range row {
				sum += float64(w)
			}
			if len(row) != len(m.english) || !(math.Abs(sum-1) <= 1e-5) {
				t.Errorf("%d weights of %s add up to %v", len(row), m.french[i], sum)
			}
		}
		// The picture is well-formed XML, with a cell for each weight and each word.
		var svg bytes.Buffer
		m.draw(&svg)
		cells := strings.Count(svg.String(), "<title>")
		if want := len(m.french) * len(m.english); cells != want {
			t.Errorf("%d cells, want %d", cells, want)
		}
		d := xml.NewDecoder(&svg)
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, layerHead := range [][2]int{{2, 0}, {0, 4}} {
		if _, err := attentionMap("one", layerHead[0], layerHead[1]); err == nil {
			t.Errorf("no error for layer %d, head %d", layerHead[0], layerHead[1])
		}
	}
	if _, err := attentionMap("hello", -1, -1); err == nil {
		t.Error("no error for an unknown word")
	}
}
