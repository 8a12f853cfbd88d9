// This file tests the documents for users: their commands run, their programs build and run, and
// the names of packages that they mention exist. The small models of tests take the names of the
// hub's models.

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/models"
)

// pages are the documents for users whose commands the tests run.
var pages = []string{"../README", "models", "embedding", "search", "reranking", "chat", "serving", "bulk", "stores", "precision", "comparison", "faq", "migrating", "programs"}

// A block is the text between two lines of ``` on a page. info is the rest of the first of these
// lines.
type block struct {
	line       int
	info, text string
}

// notRun matches the info string of commands that are checked but not run. It has the reason.
var notRun = regexp.MustCompile(`^(sh|python) \(not run: [^)]+\)$`)

// counted matches the line that generate prints about its answer.
var counted = regexp.MustCompile(`(?m)^avoformer: \d+ tokens,.* after a prompt of \d+ in .*$`)

// pageBlocks returns the text of a page and its blocks.
func pageBlocks(t *testing.T, page string) (string, []block) {
	t.Helper()
	data, err := os.ReadFile("../../doc/" + page + ".md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	var open *block
	for i, line := range strings.SplitAfter(string(data), "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &block{line: i + 1, info: strings.TrimSpace(info)}
		case fence:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.text += line
		}
	}
	if open != nil {
		t.Fatalf("%s.md:%d: a block without an end", page, open.line)
	}
	return string(data), blocks
}

// TestPagesRun runs the commands of pages with sh. A small model replaces each model that they
// name.
func TestPagesRun(t *testing.T) {
	if runtime.GOOS == "windows" || testenv.Emulated() {
		t.Skip("needs sh, and starts a process for each command")
	}
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			_, blocks := pageBlocks(t, page)
			dir := workplace(t)
			for _, b := range blocks {
				switch {
				case notRun.MatchString(b.info), b.info == "go":
				case b.info != "sh":
					t.Errorf("%s.md:%d: a block of %q, want sh, go or %v", page, b.line, b.info, notRun)
				case !strings.Contains(b.text, "avoformer "):
					t.Errorf("%s.md:%d: no avoformer command", page, b.line)
				default:
					c := asProcess(exec.Command("sh", "-e", "-c", b.text))
					c.Dir, c.Env = dir, append(c.Env, "HF_HUB_OFFLINE=1", "HF_HUB_CACHE="+filepath.Join(dir, "hub"), "PATH="+dir+"/bin:"+os.Getenv("PATH"))
					if out, err := c.CombinedOutput(); err != nil || strings.Contains(counted.ReplaceAllString(string(out), ""), "avoformer: ") {
						t.Errorf("%s.md:%d: %v\n%s%s", page, b.line, err, b.text, out)
					}
				}
			}
		})
	}
}

// TestEveryPage: each page with commands is in pages.
func TestEveryPage(t *testing.T) {
	found, err := filepath.Glob("../../doc/*.md")
	if err != nil || len(found) < len(pages) {
		t.Fatalf("%d pages, %v", len(found), err)
	}
	for _, file := range found {
		page := strings.TrimSuffix(filepath.Base(file), ".md")
		_, blocks := pageBlocks(t, page)
		commands := func(b block) bool { return strings.HasPrefix(b.info, "sh") }
		if slices.ContainsFunc(blocks, commands) && !slices.Contains(pages, page) {
			t.Errorf("%s.md has commands that no test runs: it belongs to pages", page)
		}
	}
}

// workplace returns a folder with the files that pages name, and this test's binary as
// bin/avoformer.
func workplace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const models = "../../text/examples/models/"
	for name, from := range map[string]string{
		"all-MiniLM-L6-v2": models + "embed", "bge-reranker-base": models + "rerank", "Qwen3-0.6B": models + "chat", "Qwen3-4B": models + "chat",
		"bert-tiny-finetuned-sms-spam-detection": models + "spam",
		"model.gguf":                             "../../models/testdata/gguf/gemma3/f32.gguf",
		"gemma-4-E2B-it":                         "../../models/testdata/images/gemma4",
		"photo.jpg":                              "../../models/testdata/images/gemma4/a.png",
		"granite-docling-258M":                   models + "page",
		"page.png":                               models + "page.png",
	} {
		from, err := filepath.Abs(from)
		check(err)
		check(os.Symlink(from, filepath.Join(dir, name)))
	}
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for name, from := range map[string]string{"sentence-transformers--all-MiniLM-L6-v2": "embed", "Qwen--Qwen3-0.6B": "chat"} { // in the form in which pull leaves them
		repo := filepath.Join(dir, "hub", "models--"+name)
		check(os.MkdirAll(filepath.Join(repo, "refs"), 0o777))
		check(os.WriteFile(filepath.Join(repo, "refs", "main"), []byte(commit), 0o666))
		check(os.CopyFS(filepath.Join(repo, "snapshots", commit), os.DirFS(models+from)))
	}
	prompted := filepath.Join(dir, "Qwen3-Embedding-0.6B")
	check(os.CopyFS(prompted, os.DirFS(models+"embed")))
	check(os.WriteFile(filepath.Join(prompted, "config_sentence_transformers.json"), []byte(`{"prompts": {"query": "what is ", "document": ""}}`), 0o666))
	lines, err := os.ReadFile(models + "sentences.txt")
	check(err)
	check(os.WriteFile(filepath.Join(dir, "lines.txt"), lines, 0o666)) // a page may overwrite it
	self, err := os.Executable()
	check(err)
	check(os.Mkdir(filepath.Join(dir, "bin"), 0o777))
	check(os.Symlink(self, filepath.Join(dir, "bin", "avoformer")))
	return dir
}

// TestPageFlags: the commands of pages, including those that are not run, and their flags exist.
func TestPageFlags(t *testing.T) {
	flags := map[string][]string{}
	for _, d := range describe() {
		flags[d.Name] = strings.Fields(d.options())
	}
	flags["help"] = nil
	for _, page := range pages {
		text, blocks := pageBlocks(t, page)
		for _, m := range regexp.MustCompile("`(avoformer [^`\n]*)`").FindAllStringSubmatchIndex(text, -1) {
			blocks = append(blocks, block{line: 1 + strings.Count(text[:m[0]], "\n"), info: "sh", text: text[m[2]:m[3]]})
		}
		found := 0
		for _, b := range blocks {
			if !strings.HasPrefix(b.info, "sh") {
				continue
			}
			for _, m := range regexp.MustCompile(`(?m)(?:^|[|(;&=a-z0-9] ?)avoformer ([a-z]+)([^#\n|)]*)`).FindAllStringSubmatch(b.text, -1) {
				found++
				known, ok := flags[m[1]]
				if !ok {
					t.Errorf("%s.md:%d: no command %q", page, b.line, m[1])
				}
				for _, word := range strings.Fields(m[2]) {
					if name, _, _ := strings.Cut(word, "="); len(name) > 1 && name[0] == '-' && name != "-h" && !slices.Contains(known, name) {
						t.Errorf("%s.md:%d: %s has no flag %s", page, b.line, m[1], name)
					}
				}
			}
		}
		if found == 0 {
			t.Errorf("%s.md: no commands found", page)
		}
	}
}

// TestPageNames looks up the names that pages mention, such as `text.OpenEmbedder` and
// `Index.Save`, in the sources of packages.
func TestPageNames(t *testing.T) {
	exported := map[string]bool{}
	for _, dir := range []string{"text", "text/answer", "text/tokenizer", "search", "search/bm25", "search/maxsim", "search/sparse", "search/store", "hub", "fault", "grammar", "serve", "kernels", "kernels/machine", "models", "generation", "transformer"} {
		declared(t, "../../"+dir, exported)
	}
	for _, page := range pages {
		text, _ := pageBlocks(t, page)
		names := regexp.MustCompile(`\b(text|answer|search|bm25|maxsim|sparse|store|hub|fault|grammar|serve|machine|kernels|models)\.[A-Z]\w*`).FindAllString(text, -1)
		for _, m := range regexp.MustCompile("`([A-Z]\\w*\\.[A-Z]\\w*)").FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		for _, name := range names {
			if !exported[name] {
				t.Errorf("%s.md: there is no %s", page, name)
			}
		}
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// TestPageModels: all model types in the table of the page about models can be opened.
func TestPageModels(t *testing.T) {
	text, _ := pageBlocks(t, "models")
	_, section, found := strings.Cut(text, "\n## What opens\n")
	if !found {
		t.Fatal("models.md has no part What opens")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	opens := map[string]bool{}
	for _, name := range models.ModelTypes() {
		opens[strings.TrimSuffix(strings.TrimSuffix(name, "_text_model"), "_vision_model")] = true // single towers
		opens[name] = true
	}
	rows := 0
	for _, row := range strings.Split(section, "\n") {
		if cells := strings.Split(row, "|"); len(cells) == 4 {
			rows++
			for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
				if !opens[m[1]] {
					t.Errorf("models.md has %s, which the library does not open", m[1])
				}
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d rows", rows)
	}
}

// declared adds the names of a package in the form package.Name, and the names of methods and
// fields in the form Type.Name.
func declared(t *testing.T, dir string, names map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files, %v", dir, err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		add := func(in string, ids ...*ast.Ident) {
			for _, id := range ids {
				names[in+"."+id.Name] = true
			}
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				in := f.Name.Name
				if d.Recv != nil {
					in = strings.TrimLeft(types.ExprString(d.Recv.List[0].Type), "*")
				}
				add(in, d.Name)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ValueSpec:
						add(f.Name.Name, s.Names...)
					case *ast.TypeSpec:
						add(f.Name.Name, s.Name)
						if of, ok := s.Type.(*ast.StructType); ok {
							for _, field := range of.Fields.List {
								add(s.Name.Name, field.Names...)
							}
						}
					}
				}
			}
		}
	}
}

// TestPagePrograms builds the programs of pages and runs them.
func TestPagePrograms(t *testing.T) {
	if testing.Short() || testenv.Emulated() || runtime.GOOS == "windows" {
		t.Skip("builds programs")
	}
	for _, page := range pages {
		_, blocks := pageBlocks(t, page)
		for _, b := range blocks {
			if b.info != "go" || !strings.HasPrefix(b.text, "package main") {
				continue
			}
			t.Run(page, func(t *testing.T) {
				dir := workplace(t)
				source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "main")
				if err := os.WriteFile(source, []byte(b.text), 0o666); err != nil {
					t.Fatal(err)
				}
				if out, err := exec.Command("go", "build", "-o", program, source).CombinedOutput(); err != nil {
					t.Fatalf("%s.md:%d: %v\n%s", page, b.line, err, out)
				}
				if strings.Contains(b.text, "serve.New(") {
					return // the program runs until it is interrupted
				}
				c := exec.Command(program)
				c.Dir = dir
				if out, err := c.CombinedOutput(); err != nil || len(out) == 0 {
					t.Errorf("%s.md:%d: %v\n%s", page, b.line, err, out)
				} else {
					t.Logf("%s", out)
				}
			})
		}
	}
}
