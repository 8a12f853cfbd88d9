// This file has flags with several numbers.

package main

import (
	"errors"
	"strconv"
	"strings"
)

// numbers is a flag of positive numbers, separated by commas.
type numbers []int

func (n *numbers) String() string {
	all := make([]string, len(*n))
	for i, x := range *n {
		all[i] = strconv.Itoa(x)
	}
	return strings.Join(all, ",")
}

// Set parses the value of the flag.
func (n *numbers) Set(value string) error {
	*n = nil
	for part := range strings.SplitSeq(value, ",") {
		x, err := strconv.Atoi(part)
		if err != nil || x < 1 {
			return errors.New("want numbers of at least 1, separated by commas")
		}
		*n = append(*n, x)
	}
	return nil
}
