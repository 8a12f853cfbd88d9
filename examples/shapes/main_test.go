package main

import (
	"log"
	"os"
)

func Example() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// input                         [64 10 512]
	// query after projection       [64 10 512]
	// key   after projection       [64 10 512]
	// value after projection       [64 10 512]
	// query, key, value, split      [64 8 10 64]
	// scores                        [64 8 10 10]
	// attention weights             [64 8 10 10]
	// output of the heads           [64 8 10 64]
	// heads concatenated            [64 10 512]
	// output after projection       [64 10 512]
	//
	// one call of package transformer agrees within 1e-5: true
}
