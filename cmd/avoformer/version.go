// avoformer version: what this binary is.

package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/avoformer/avoformer/kernels"
)

// release is the version, set by the linker where a release is built in its tree.
var release string

// versionInfo is what version prints.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Kernels  string `json:"kernels"`
	CPUs     int    `json:"cpus"` // that Go uses, a container's quota regarded
}

func thisVersion() versionInfo {
	v := versionInfo{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Kernels: fmt.Sprint(kernels.Active()), CPUs: runtime.GOMAXPROCS(0)}
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
	_, err := fmt.Fprintf(a.out, "avoformer %s%s\n%s %s, kernels for %s, %d CPUs\n", v.Version, from, v.Go, v.Platform, v.Kernels, v.CPUs)
	return err
}
