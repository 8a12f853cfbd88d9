package report

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// Slug returns the CPU's name in a form for file names.
func (r *Run) Slug() string { return Slug(r.CPU) }

// Slug returns a CPU's name in a form for file names.
func Slug(cpu string) string {
	f := strings.FieldsFunc(strings.ToLower(cpu), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
	return strings.Join(f, "-")
}

// CPUName returns the system's name of the CPU, and adds the microarchitecture if it is known and
// the name does not contain it, and the number of CPUs of a virtual machine.
func CPUName() string {
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if name := nameOf(string(b)); name != "" {
			return name
		}
	}
	if out, err := exec.Command("sysctl", "-n", "machdep.cpu.brand_string").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return "unknown " + runtime.GOARCH + " CPU"
}

// nameOf returns the CPU's name from the text of /proc/cpuinfo.
func nameOf(info string) string {
	field := map[string]string{}
	cpus := 0
	for line := range strings.Lines(info) {
		k, v, _ := strings.Cut(line, ":")
		k, v = strings.TrimSpace(k), strings.TrimSpace(v)
		if k == "processor" {
			cpus++
		}
		if _, known := field[k]; !known {
			field[k] = v
		}
	}
	name := field["model name"]
	if name == "" {
		return ""
	}
	family, _ := strconv.Atoi(field["cpu family"])
	model, _ := strconv.Atoi(field["model"])
	if m := microarchitecture(field["vendor_id"], family, model); m != "" && !strings.Contains(name, m) {
		name += " (" + m + ")"
	}
	if strings.Contains(" "+field["flags"]+" ", " hypervisor ") {
		name += fmt.Sprintf(", %d vCPU", cpus)
	}
	return name
}

// microarchitectures are those of server processors, by family and ranges of models as CPUID
// reports them.
var microarchitectures = []struct {
	vendor              string
	family, first, last int
	name                string
}{
	{"AuthenticAMD", 0x17, 0x00, 0x2f, "Zen"}, {"AuthenticAMD", 0x17, 0x30, 0xaf, "Zen 2"},
	{"AuthenticAMD", 0x19, 0x00, 0x0f, "Zen 3"}, {"AuthenticAMD", 0x19, 0x20, 0x5f, "Zen 3"},
	{"AuthenticAMD", 0x19, 0x10, 0x1f, "Zen 4"}, {"AuthenticAMD", 0x19, 0x60, 0x7f, "Zen 4"}, {"AuthenticAMD", 0x19, 0xa0, 0xaf, "Zen 4"},
	{"AuthenticAMD", 0x1a, 0x00, 0x4f, "Zen 5"}, {"AuthenticAMD", 0x1a, 0x60, 0x7f, "Zen 5"},
	{"GenuineIntel", 6, 0x3f, 0x3f, "Haswell"}, {"GenuineIntel", 6, 0x4f, 0x4f, "Broadwell"}, {"GenuineIntel", 6, 0x55, 0x55, "Skylake"},
	{"GenuineIntel", 6, 0x6a, 0x6c, "Ice Lake"}, {"GenuineIntel", 6, 0x8f, 0x8f, "Sapphire Rapids"},
	{"GenuineIntel", 6, 0xcf, 0xcf, "Emerald Rapids"}, {"GenuineIntel", 6, 0xad, 0xae, "Granite Rapids"},
}

func microarchitecture(vendor string, family, model int) string {
	for _, m := range microarchitectures {
		if m.vendor == vendor && m.family == family && m.first <= model && model <= m.last {
			return m.name
		}
	}
	return ""
}
