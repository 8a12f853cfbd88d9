package native

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/bench/internal/source"
	"github.com/avoformer/avoformer/internal/peerenv"
)

// PrefixVariable is the environment variable with further places for the search, separated as in
// PATH. Each is a prefix with lib, include or bin below it, such as a Python virtual environment.
const PrefixVariable = "AVOFORMER_BENCH_PREFIX"

// Required are the families without which a comparison is incomplete.
var Required = []string{"openblas", "onednn", "onnxruntime"}

// A Library is a library that was found on this machine. It has not been started yet.
type Library struct {
	Name   string // the family; "onednn-sycl" for oneDNN on a SYCL runtime
	Path   string
	prefix string // only for oneDNN: the prefix of headers and libraries
	env    []string
}

// kinds lists, for each family, the places below a prefix where its shared library may be.
var kinds = []struct {
	family string
	globs  []string
}{
	{"openblas", []string{"lib/python3*/site-packages/scipy_openblas32/lib/libscipy_openblas.so", "lib*/libopenblas.so*",
		"lib/*/openblas-pthread/libopenblas.so.0", "lib/*/libopenblas.so.0"}},
	{"blis", []string{"lib*/libblis*.so*", "lib/*/blis-pthread/libblis.so.*"}},
	{"mkl", []string{"lib*/libmkl_rt.so*", "lib/intel64/libmkl_rt.so*", "lib/*/libmkl_rt.so*"}},
	{"onednn", []string{"lib*/libdnnl.so", "lib/*/libdnnl.so"}},
	{"onnxruntime", []string{"lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*", "lib*/libonnxruntime.so*", "lib/*/libonnxruntime.so*"}},
	{"torch", []string{"lib/python3*/site-packages/torch/version.py", "lib/python3/dist-packages/torch/version.py"}},
}

func prefixes() []string {
	list := filepath.SplitList(os.Getenv(PrefixVariable))
	if dir, err := source.Dir(); err == nil {
		list = append(list, filepath.Join(dir, ".peers"))
	}
	list = append(list, os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX"))
	oneapi, _ := filepath.Glob("/opt/intel/oneapi/*/latest")
	list = append(list, oneapi...)
	list = append(list, "/usr/local", "/usr")
	return slices.DeleteFunc(list, func(p string) bool { return p == "" })
}

// Find lists the libraries on this machine, one entry per file.
func Find() []Library { return append(find(prefixes()), goPeers()...) }

func find(prefixes []string) []Library {
	var found []Library
	seen := map[string]bool{}
	for _, prefix := range prefixes {
		prefix, err := filepath.Abs(prefix)
		if err != nil {
			continue
		}
		for _, kind := range kinds {
			for _, glob := range kind.globs {
				paths, _ := filepath.Glob(filepath.Join(prefix, glob))
				for _, path := range paths {
					real, err := filepath.EvalSymlinks(path)
					if err != nil || seen[real] {
						continue
					}
					seen[real] = true
					found = append(found, library(kind.family, path, prefix))
				}
			}
		}
	}
	return found
}

// goPeers are Go libraries in builds of their own. They cannot be started without this module's
// sources or without a Go toolchain.
func goPeers() []Library {
	list := []Library{{Name: "gonum-noasm", Path: "-tags=noasm"}}
	if runtime.GOARCH == "amd64" {
		list = append(list, Library{Name: "archsimd", Path: "-tags="})
	}
	return list
}

func library(family, path, prefix string) Library {
	l := Library{Name: family, Path: path, prefix: prefix}
	switch family {
	case "mkl":
		l.env = []string{"LD_LIBRARY_PATH=" + filepath.Dir(path)}
	case "onednn":
		l.env = []string{"LD_LIBRARY_PATH=" + filepath.Dir(path)}
		if l.define("DNNL_CPU_RUNTIME", "dnnl_config.h") == "DNNL_RUNTIME_SYCL" {
			l.Name = "onednn-sycl"
			l.env = append(l.env, "OCL_ICD_FILENAMES="+filepath.Join(filepath.Dir(path), "libintelocl.so"), "ONEAPI_DEVICE_SELECTOR=opencl:cpu", "BENCH_PIN=1")
		}
	}
	return l
}

// headers returns the folder of dnnl.hpp, or "".
func (l Library) headers() string {
	for _, dir := range []string{"include", "include/oneapi/dnnl"} {
		dir = filepath.Join(l.prefix, dir)
		if _, err := os.Stat(filepath.Join(dir, "dnnl.hpp")); err == nil {
			return dir
		}
	}
	return ""
}

// define returns the value of a macro in one of oneDNN's headers.
func (l Library) define(name, file string) string {
	for _, dir := range []string{"include/oneapi/dnnl", "include"} {
		b, _ := os.ReadFile(filepath.Join(l.prefix, dir, file))
		if m := regexp.MustCompile(`#define ` + name + ` (\S+)`).FindSubmatch(b); m != nil {
			return string(m[1])
		}
	}
	return ""
}

// command builds the program that drives the library and returns how to run it.
func (l Library) command(threads int) ([]string, error) {
	n := strconv.Itoa(threads)
	switch family(l.Name) {
	case "gonum", "archsimd":
		program, err := buildGo(l.Name, l.Path)
		return []string{program, l.Name, n}, err
	case "torch":
		script, err := extract("torch_peer.py")
		if err != nil {
			return nil, err
		}
		python := filepath.Join(l.prefix, "bin", "python3")
		return []string{python, script, n}, nil
	case "onednn":
		if l.headers() == "" {
			return nil, fmt.Errorf("no dnnl.hpp for %s", l.Path)
		}
		lib := filepath.Dir(l.Path)
		program, err := build("CXX", []string{"c++", "g++", "clang++"}, "dnnl.cpp",
			"-I"+l.headers(), "-L"+lib, "-ldnnl", "-Wl,-rpath,"+lib, "-Wl,--allow-shlib-undefined")
		return []string{program, n}, err
	case "onnxruntime":
		program, err := build("CC", []string{"cc", "gcc", "clang"}, "ort.c", "-ldl")
		return []string{program, l.Path, n}, err
	}
	program, err := build("CC", []string{"cc", "gcc", "clang"}, "blas.c", "-ldl")
	return []string{program, l.Path, n}, err
}

// cacheDir returns the folder of programs that are kept between runs. Its name depends on the
// sources of the programs.
func cacheDir(parts ...string) (string, error) {
	h := sha256.New()
	err := fs.WalkDir(sources, "src", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := sources.ReadFile(path)
		h.Write(b)
		return err
	})
	if err != nil {
		return "", err
	}
	fmt.Fprint(h, parts)
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	dir := filepath.Join(base, "avoformer-bench", fmt.Sprintf("%x", h.Sum(nil)[:8]))
	return dir, os.MkdirAll(dir, 0o755)
}

// extract writes the embedded sources out and returns the path of one of them.
func extract(name string) (string, error) {
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	entries, err := sources.ReadDir("src")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		b, err := sources.ReadFile("src/" + e.Name())
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), b, 0o644); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, name), nil
}

func compiler(variable string, names []string) (string, error) {
	if cc := os.Getenv(variable); cc != "" {
		return cc, nil
	}
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no compiler (%s)", strings.Join(names, ", "))
}

func build(variable string, names []string, source string, flags ...string) (string, error) {
	cc, err := compiler(variable, names)
	if err != nil {
		return "", err
	}
	dir, err := cacheDir(append([]string{cc, source}, flags...)...)
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, strings.TrimSuffix(source, filepath.Ext(source)))
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	path, err := extract(source)
	if err != nil {
		return "", err
	}
	temporary := fmt.Sprintf("%s.%d", program, os.Getpid())
	argv := append([]string{"-O2", path, "-o", temporary}, flags...)
	if out, err := exec.Command(cc, argv...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cc, err, out)
	}
	return program, os.Rename(temporary, program)
}

// buildGo builds cmd/gopeer with a flag; the go command's own cache makes repeating it cheap.
func buildGo(name, flag string) (string, error) {
	dir, err := cacheDir(name, flag, runtime.Version())
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "gopeer-"+name)
	cmd, err := source.Go("build", flag, "-o", program, "./cmd/gopeer")
	if err != nil {
		return "", err
	}
	if name == "archsimd" {
		cmd.Env = append(cmd.Env, "GOEXPERIMENT=simd")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
}

// Options choose among the libraries that were found.
type Options struct {
	Only []string                         // families, or nil for all
	All  bool                             // every version found, not only the newest of each family
	ISA  string                           // limit the libraries to this instruction set, a key of held; "": they choose
	Say  func(format string, args ...any) // called with messages about libraries that are used or skipped

	under []string // look only below these prefixes
}

// StartAll starts the libraries on this machine, without the variables of the environment that slow
// them down (package peerenv), and prints their names. missing lists the required families of which
// it found no library.
func StartAll(threads int, o Options) (peers []*Peer, missing []string) {
	have := map[string]bool{}
	byName := map[string][]*Peer{}
	var names []string
	libraries := find(o.under)
	if o.under == nil {
		libraries = Find()
	}
	for _, l := range libraries {
		if l.Name == "archsimd" && threads > 1 {
			continue // the library has no threads
		}
		if o.Only != nil && !slices.Contains(o.Only, family(l.Name)) && !slices.Contains(o.Only, l.Name) {
			continue
		}
		if o.ISA != "" && slices.Contains(held[o.ISA].without, family(l.Name)) {
			o.Say("skipped: %s, which cannot be held to %s", l.Name, o.ISA)
			continue
		}
		p, err := l.Start(threads, o.ISA)
		if err != nil {
			o.Say("skipped: %v", err)
			continue
		}
		if byName[l.Name] == nil {
			names = append(names, l.Name)
		}
		if slices.ContainsFunc(byName[l.Name], func(q *Peer) bool { return q.version == p.version }) {
			p.Close()
			continue
		}
		byName[l.Name] = append(byName[l.Name], p)
	}
	for _, name := range names {
		list := byName[name]
		slices.SortStableFunc(list, func(a, b *Peer) int { return -compareVersions(a.version, b.version) })
		for i, p := range list {
			if i > 0 && !o.All {
				o.Say("skipped: %s %s, an older version than %s", name, p.version, list[0].version)
				p.Close()
				continue
			}
			o.Say("peer: %s %s", name, p.version)
			peers = append(peers, p)
			have[family(name)] = true
		}
	}
	if len(peers) > 0 {
		for _, note := range peerenv.Here().Notes() {
			o.Say("%s", note)
		}
	}
	for _, f := range Required {
		if !have[f] && !slices.Contains(held[o.ISA].without, f) {
			o.Say("missing: %s", f)
			missing = append(missing, f)
		}
	}
	return peers, missing
}

var number = regexp.MustCompile(`\d+`)

// compareVersions orders by the numbers in the texts.
func compareVersions(a, b string) int {
	ints := func(s string) (v []int) {
		s, _, _ = strings.Cut(s, " ")
		for _, n := range number.FindAllString(s, -1) {
			i, _ := strconv.Atoi(n)
			v = append(v, i)
		}
		return v
	}
	return slices.Compare(ints(a), ints(b))
}
