package asm

import (
	"strings"
	"testing"
)

// TestRecords breaks a record in each way that check detects.
func TestRecords(t *testing.T) {
	for _, k := range Catalog {
		if err := k.check(); err != nil {
			t.Error(err)
		}
	}
	n := turn("n", 0, "1")
	for _, test := range []struct {
		want string
		k    Kernel
	}{
		{"neither writes", Kernel{Params: []Param{in("x", "1", "n", ""), n}}},
		{"no parameter and no slice has the size m", Kernel{Params: []Param{out("x", "m", "n", ""), n}}},
		{"no parameter ldx", Kernel{Params: []Param{out("x", "n", "n", "ldx"), n}}},
		{"ldy is the stride of no operand", Kernel{Params: []Param{out("x", "n", "n", ""), n, Stride("ldy")}}},
		{"no parameter beta", Kernel{Params: []Param{accumulator("x", "n", "n", ""), n}}},
		{"no operand y", Kernel{Params: []Param{out("x", "n", "n", "").or("y"), n}}},
		{"no values for the size n", Kernel{Params: []Param{out("x", "n", "n", ""), turn("n", 0)}}},
		{"no value for alpha", Kernel{Params: []Param{out("x", "n", "n", ""), n, scalar("alpha")}}},
	} {
		if err := test.k.check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one with %q", err, test.want)
		}
	}
}
