package main

import (
	"strings"
	"testing"
)

const log = `----------------
IN: loop
0x00001000:  4f9a1007  fmla     v7.4s, v0.4s, v26.s[0]
0x00001004:  4f9b100a  fmla     v10.4s, v0.4s, v27.s[0]
0x00001008:  54ffffca  b.ge     #0x1000

Trace 0: 0x7f52 [0000000001009331/0000000000001000/00000001/00000200] loop
Trace 0: 0x7f52 [0000000001009331/0000000000001000/00000001/00000200] loop
----------------
IN: rest
0x0000100c:  d65f03c0  ret

Trace 0: 0x7f60 [0000000001009331/000000000000100c/00000001/00000200] rest
Trace 0: 0x7f52 [0000000001009331/0000000000001000/00000001/00000200] loop
`

func TestCountTrace(t *testing.T) {
	got, err := countTrace(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	if want := (count{9, 6}); got["loop"] != want {
		t.Errorf("loop: %v, want %v", got["loop"], want)
	}
	if want := (count{1, 0}); got["rest"] != want {
		t.Errorf("rest: %v, want %v", got["rest"], want)
	}
	for _, bad := range []string{"", "Trace 0: 0x1 [0/0000000000002000/0/0] f\n", "Trace 0\n", "IN: f\n0x00001000:\n"} {
		if _, err := countTrace(strings.NewReader(bad)); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}
