package doctags_test

import (
	"fmt"
	"io"
	"os"

	"github.com/avoformer/avoformer/text/doctags"
)

// A page with a heading and a table.
func ExampleMarkdown() {
	fmt.Print(doctags.Markdown("<doctag><section_header_level_1>Harvest</section_header_level_1><otsl><ched>Crop<ched>Tons<nl><fcel>Oats<fcel>12<nl></otsl></doctag>"))
	// Output:
	// ## Harvest
	//
	// | Crop | Tons |
	// | --- | --- |
	// | Oats | 12 |
}

// Pieces of a text, as a model generates them, become Markdown element by element.
func ExampleNewWriter() {
	w := doctags.NewWriter(os.Stdout)
	for _, piece := range []string{"<doctag><te", "xt>The first ", "line.</text>", "</doctag>"} {
		if _, err := io.WriteString(w, piece); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	// Output:
	// The first line.
}

// A decoder that leaves out special tokens has to keep those that are tags.
func ExampleIsTag() {
	fmt.Println(doctags.IsTag("<otsl>"), doctags.IsTag("<|im_end|>"))
	// Output:
	// true false
}
