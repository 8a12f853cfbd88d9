// Command proxy writes a module proxy of the modules in this tree, in the form that they will have
// once tagged, so that the effect of a tag can be tried before the tag exists.
//
//	go run . -dir /tmp/proxy -version v0.1.0 ../.. ../../text ../../cmd/avoformer
//	GOPROXY=file:///tmp/proxy go get github.com/avoformer/avoformer/text
//
// A module has the files that Git tracks or would track if they were added, as they are in the
// working tree, without the files of modules within it.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	dir := flag.String("dir", "", "the `folder` to write to")
	version := flag.String("version", "", "the version of all modules, such as v0.1.0")
	flag.Parse()
	if *dir == "" || *version == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: proxy -dir DIR -version VERSION MODULE...")
		os.Exit(2)
	}
	for _, root := range flag.Args() {
		if err := publish(*dir, *version, root); err != nil {
			fmt.Fprintf(os.Stderr, "proxy: %s: %v\n", root, err)
			os.Exit(1)
		}
	}
}

// publish writes the files of a proxy for the module in the folder root.
func publish(dir, version, root string) error {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	parsed, err := modfile.Parse("go.mod", mod, nil)
	if err != nil {
		return err
	}
	if len(parsed.Replace) > 0 {
		return fmt.Errorf("go.mod has a replace, which has no effect except in the main module")
	}
	m := module.Version{Path: parsed.Module.Mod.Path, Version: version}
	if err := module.Check(m.Path, m.Version); err != nil {
		return err
	}
	files, err := tracked(root)
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := zip.Create(&archive, m, files); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	at := filepath.Join(dir, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(at, 0o777); err != nil {
		return err
	}
	for name, data := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": mod, version + ".zip": archive.Bytes()} {
		if err := os.WriteFile(filepath.Join(at, name), data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// tracked returns the files under root that Git tracks or would track. zip.Create leaves out those
// of nested modules.
func tracked(root string) ([]zip.File, error) {
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	var files []zip.File
	for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join(root, name)); err == nil && info.Mode().IsRegular() { // otherwise it was removed
			files = append(files, file{root, name})
		}
	}
	return files, nil
}

// A file is a file of a module.
type file struct{ root, name string }

func (f file) Path() string                 { return f.name }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.Join(f.root, f.name)) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(f.root, f.name)) }
