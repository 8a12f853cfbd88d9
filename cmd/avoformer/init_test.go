package main

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestInit bounds the memory that packages allocate before main. Every command pays for it, and so
// does every program that imports them. Values that a command does not need are made at their first
// use (sync.OnceValue). The test counts bytes, because times differ from run to run.
func TestInit(t *testing.T) {
	c := process("version")
	c.Env = append(c.Env, "GODEBUG=inittrace=1")
	var trace strings.Builder
	c.Stderr = &trace
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	const own = "github.com/avoformer/avoformer/"
	most := map[string]int{ // bytes of the packages that allocate more than the others
		own + "models": 80 << 10, // the registry of architectures
		"github.com/apache/arrow-go/v18/arrow/compute": 600 << 10, // imported by all packages that read or write Parquet
	}
	const others = 48 << 10 // bytes of any other package
	sum := map[bool]int{}
	line := regexp.MustCompile(`(?m)^init (\S+) @.*, ([0-9]+) bytes, [0-9]+ allocs$`)
	found := line.FindAllStringSubmatch(trace.String(), -1)
	for _, m := range found {
		ours := strings.HasPrefix(m[1], own)
		bytes, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		sum[ours] += bytes
		if bound := cmp.Or(most[m[1]], others); bytes > bound {
			t.Errorf("the init of %s takes %d bytes, want at most %d", m[1], bytes, bound)
		}
	}
	if len(found) < 50 {
		t.Fatalf("%d packages have an init: %.300s", len(found), trace.String())
	}
	t.Logf("%d bytes of this project's packages, %d of others", sum[true], sum[false])
	if sum[true] > 256<<10 || sum[false] > 896<<10 {
		t.Errorf("packages take %d bytes, and those of others %d, want at most 256 and 896 KiB", sum[true], sum[false])
	}
}
