// Command quantizers converts numbers to blocks for compare.py:
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"github.com/avoformer/avoformer/kernels"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "quantizers:", err)
		os.Exit(1)
	}
}

func run() error {
	in := bufio.NewReader(os.Stdin)
	for {
		var name string
		var numbers, weights int
		if _, err := fmt.Fscanf(in, "%s %d %d\n", &name, &numbers, &weights); err != nil {
			return nil // the end of the requests
		}
		f, err := kernels.ParseFormat(name)
		if err != nil {
			return err
		}
		x, importance := make([]float32, numbers), make([]float32, weights)
		for _, dst := range [][]float32{x, importance} {
			if err := binary.Read(in, binary.LittleEndian, dst); len(dst) > 0 && err != nil {
				return err
			}
		}
		elements, bytes := f.Block()
		blocks := make([]byte, numbers/elements*bytes)
		begin := time.Now()
		if weights == 0 {
			f.Quantize(blocks, x)
		}
		for row := 0; row < numbers && weights > 0; row += weights {
			f.QuantizeBy(blocks[row/elements*bytes:][:weights/elements*bytes], x[row:][:weights], importance)
		}
		took := binary.LittleEndian.AppendUint64(nil, uint64(time.Since(begin).Nanoseconds()))
		if _, err := os.Stdout.Write(append(took, blocks...)); err != nil {
			return err
		}
	}
}
