package pytorch_test

import (
	"bytes"
	"fmt"
	"log"
	"os"

	"github.com/avoformer/avoformer/transformer/pytorch"
)

// A file of torch.save is read, and no code in it is executed.
func Example() {
	f, err := pytorch.Open("testdata/zip.bin") // such as pytorch_model.bin
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	name := f.Names()[0]
	info, _ := f.Info(name)
	x, err := f.Float32(name)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(name, info.DType, info.Shape, len(x) == info.Len())

	data, err := os.ReadFile("testdata/legacy.bin") // as PyTorch wrote them before 1.6
	if err != nil {
		log.Fatal(err)
	}
	parsed, err := pytorch.Parse(data)
	if err != nil {
		log.Fatal(err)
	}
	_, err = pytorch.NewFile(bytes.NewReader(data), int64(len(data)-1))
	fmt.Println(parsed.Names()[0], err != nil)
	// Output:
	// bfloat16 bfloat16 [3 4] true
	// bfloat16 true
}
