// This file has the command version, which describes this binary.

package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
)

// release is the version, which the linker sets for a release.
var release string

// versionInfo is the output of version.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Kernels  string `json:"kernels"`
	// Features are the features beyond the tier that kernels use. Refused are features that the
	// operating system does not permit.
	Features []string  `json:"features"`
	Refused  []string  `json:"refused,omitempty"`
	CPUs     int       `json:"cpus"` // the number that Go uses: GOMAXPROCS
	Machine  onMachine `json:"machine"`
}

// onMachine is the share of the machine that the process may use.
type onMachine struct {
	CPUs    int     `json:"cpus"`
	Cores   int     `json:"cores"`
	Nodes   int     `json:"nodes"`
	Quota   float64 `json:"quota,omitempty"` // CPUs that the cgroup permits; 0: no limit
	Threads int     `json:"threads"`         // the default for products
}

func thisMachine() onMachine {
	m := replica.Machine()
	return onMachine{len(m.CPUs), len(m.Cores), len(m.Nodes), m.Quota, replica.Threads()}
}

func thisVersion() versionInfo {
	v := versionInfo{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Kernels: fmt.Sprint(kernels.Active()), CPUs: runtime.GOMAXPROCS(0), Machine: thisMachine()}
	used, refused := machine.Features()
	v.Features, v.Refused = append([]string{}, used...), refused
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Version = info.Main.Version
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = s.Value
			case "vcs.time":
				v.Time = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	v.Version = cmp.Or(release, v.Version, "(devel)")
	return v
}

func version(a *app, args []string) error {
	f := a.flags("version")
	asJSON := f.json("a line")
	if _, err := f.parse(args, 0, 0); err != nil {
		return err
	}
	v := thisVersion()
	if *asJSON {
		return a.printJSON(v)
	}
	from := ""
	if v.Commit != "" {
		from = " (" + v.Commit[:min(12, len(v.Commit))] + ", " + v.Time
		if v.Modified {
			from += ", modified"
		}
		from += ")"
	}
	on := v.Kernels
	if len(v.Features) > 0 {
		on += " with " + strings.Join(v.Features, " ")
	}
	if len(v.Refused) > 0 {
		on += " (the system refuses " + strings.Join(v.Refused, " ") + ")"
	}
	m := replica.Machine()
	_, err := fmt.Fprintf(a.out, "avoformer %s%s\n%s %s, kernels for %s\n%s: %d threads\n", v.Version, from, v.Go, v.Platform, on, &m, v.Machine.Threads)
	return err
}
