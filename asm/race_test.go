package asm

import (
	"strings"
	"testing"
)

// TestRaceReports fails for a kernel whose memory the race detector would not
// be told of.
func TestRaceReports(t *testing.T) {
	for _, k := range Catalog {
		calls, unknown := raceReports(k)
		if unknown != "" {
			t.Errorf("%s: no entry in strided for the operand %s", k.Name, unknown)
			continue
		}
		if !k.pure() && !strings.Contains(calls, "raceWrite") {
			t.Errorf("%s: writes none of its operands, by written and writtenBy", k.Name)
		}
	}
}

// pure reports whether the kernel only returns a value.
func (k Kernel) pure() bool { return hasResult(k.Signature) && !strings.Contains(k.Signature, "dst") }
