//go:build amd64 && !purego

package simd

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestCPUID compares CPUID with the information of the operating system, if it is Linux.
func TestCPUID(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip("no /proc/cpuinfo here")
	}
	field := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + `\s*: (.*)$`).FindSubmatch(info)
		if m == nil {
			t.Skipf("/proc/cpuinfo has no %s", name)
		}
		return string(m[1])
	}
	if got, want := Vendor(), field("vendor_id"); got != want {
		t.Errorf("Vendor() = %q, want %q", got, want)
	}
	family, model := FamilyModel()
	if got, want := strconv.Itoa(family), field("cpu family"); got != want {
		t.Errorf("family = %s, want %s", got, want)
	}
	if got, want := strconv.Itoa(model), field("model"); got != want {
		t.Errorf("model = %s, want %s", got, want)
	}
	for level, size := range Caches() {
		t.Logf("level %d: %d KiB", level, size>>10)
		if size < 0 || level == 1 && size > 1<<20 {
			t.Errorf("level %d: %d bytes", level, size)
		}
	}
}
