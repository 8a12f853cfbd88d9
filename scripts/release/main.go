// Command release writes the files of a release: for each platform an archive with the command, the
// licence of this project and those of all modules in the binary, and a software bill of materials,
// as CycloneDX 1.6 in JSON; and SHA256SUMS:
//
//	go run ./scripts/release -version v0.1.0 -out dist [PLATFORM...]
//
// The same tree, version and Go give the same bytes: paths are trimmed, cgo is off, files are in
// order, and all times are that of the commit, or 1980 outside Git.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platforms are the platforms in the README's table on which the command is useful.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

const self = "github.com/avoformer/avoformer"

func main() {
	version := flag.String("version", "", "the version, such as v0.1.0")
	out := flag.String("out", "dist", "the `folder` to write to")
	flag.Parse()
	if *version == "" {
		fmt.Fprintln(os.Stderr, "usage: release -version VERSION [-out FOLDER] [GOOS/GOARCH...]")
		os.Exit(2)
	}
	if flag.NArg() > 0 {
		platforms = flag.Args()
	}
	if err := release(*version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func release(version, out string) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	when := commitTime()
	var sums bytes.Buffer
	for _, platform := range platforms {
		goos, goarch, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("%q is not a platform such as linux/amd64", platform)
		}
		binary, err := build(version, goos, goarch)
		if err != nil {
			return err
		}
		info, err := buildinfo.Read(bytes.NewReader(binary))
		if err != nil {
			return err
		}
		files, err := contents(binary, info, goos)
		if err != nil {
			return err
		}
		base := fmt.Sprintf("avoformer_%s_%s_%s", strings.TrimPrefix(version, "v"), goos, goarch)
		name, pack := base+".tar.gz", tarGzip
		if goos == "windows" {
			name, pack = base+".zip", zipped
		}
		archive, err := pack(base, files, when)
		if err != nil {
			return err
		}
		bill, err := billOfMaterials(version, platform, info, when)
		if err != nil {
			return err
		}
		for file, data := range map[string][]byte{name: archive, base + ".cdx.json": bill} {
			if err := os.WriteFile(filepath.Join(out, file), data, 0o666); err != nil {
				return err
			}
		}
		fmt.Fprintf(&sums, "%x  %s\n%x  %s\n", sha256.Sum256(archive), name, sha256.Sum256(bill), base+".cdx.json")
		fmt.Printf("%s: %.1f MB\n", name, float64(len(archive))/1e6)
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), sums.Bytes(), 0o666)
}

// commitTime returns the time of the commit. Zip files cannot have times before 1980.
func commitTime() time.Time {
	out, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
	seconds, err2 := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil || err2 != nil {
		return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Unix(seconds, 0).UTC()
}

// build builds the command in the workspace.
func build(version, goos, goarch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "avoformer")
	// -buildid= removes the linker's build ID, which has hashes of paths. -buildvcs=false keeps the
	// state of the tree out of the binary.
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.release="+version, "-o", path, "./cmd/avoformer")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("go build for %s/%s: %w", goos, goarch, err)
	}
	return os.ReadFile(path)
}

// contents returns the files of an archive, by name.
func contents(binary []byte, info *debug.BuildInfo, goos string) ([]packed, error) {
	command := "avoformer"
	if goos == "windows" {
		command += ".exe"
	}
	files := []packed{{command, binary, 0o755}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, packed{name, data, 0o644})
	}
	for _, m := range others(info) {
		l, err := licencesOf(m)
		if err != nil {
			return nil, err
		}
		for _, text := range l {
			files = append(files, packed{"licences/" + m.Path + "/" + text.file, text.text, 0o644})
		}
	}
	slices.SortFunc(files, func(a, b packed) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// others returns the modules in a binary that do not belong to this project.
func others(info *debug.BuildInfo) []*debug.Module {
	return slices.DeleteFunc(slices.Clone(info.Deps), func(m *debug.Module) bool {
		return m.Path == self || strings.HasPrefix(m.Path, self+"/")
	})
}
