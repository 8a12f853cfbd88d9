// This file has the command read, which prints images of pages as Markdown.

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/text"
)

// mostOfPage is the usual limit for the tokens of a page. The model's context is another limit.
const mostOfPage = 8192

func readPages(a *app, args []string) error {
	f := a.flags("read")
	var o text.PageOptions
	f.IntVar(&o.MaxTokens, "max-tokens", mostOfPage, "most tokens of a page")
	f.Float64Var(&o.RepetitionPenalty, "repetition-penalty", 0, "above 1 makes tokens that occurred before less likely")
	f.StringVar(&o.Prompt, "prompt", "", "`text` that the model is asked; default: to convert the page")
	f.BoolVar(&o.DocTags, "doctags", false, "print what the model writes, DocTags, in place of Markdown")
	projector := f.projector()
	asJSON := f.json("a line for each page: file, text, finish, prompt_tokens, tokens, prompt_seconds, seconds, tokens_per_second")
	common := f.decoder()
	rest, err := f.parse(args, 2, -1)
	if err != nil {
		return err
	}
	pages, err := pagesOf(rest[1:])
	if err != nil {
		return err
	}
	held, err := common.options()
	if err != nil {
		return err
	}
	held.Model.Images, held.Model.Projector = true, *projector
	g, err := openModel(a, text.OpenGenerator, rest[0], held)
	if err != nil {
		return err
	}
	for i, page := range pages {
		image, err := readFile(page)
		if err != nil {
			return err
		}
		if !a.silent && len(pages) > 1 {
			a.tell("page %d of %d: %s", i+1, len(pages), page)
		}
		var as map[string]any
		if *asJSON {
			as = map[string]any{"file": page}
		}
		if _, err := a.printAnswer(as, g.Page(a.ctx, image, o)); err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
	}
	return nil
}

// readFile returns the bytes of a regular file.
func readFile(name string) ([]byte, error) {
	return regular.ReadFile(os.DirFS(filepath.Dir(name)), filepath.Base(name))
}

// pageFiles are the extensions of image files.
var pageFiles = []string{".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif"}

// pagesOf returns the files of pages: the named files, and the images in named folders, sorted by
// name.
func pagesOf(names []string) (pages []string, err error) {
	for _, name := range names {
		if strings.EqualFold(filepath.Ext(name), ".pdf") {
			return nil, usagef("%s is a PDF file: pdftoppm -r 144 -png %s page writes images of its pages", name, name)
		}
		of, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !of.IsDir() {
			pages = append(pages, name)
			continue
		}
		entries, err := os.ReadDir(name) // sorted
		if err != nil {
			return nil, err
		}
		before := len(pages)
		for _, e := range entries {
			if e.Type()&fs.ModeDir == 0 && slices.Contains(pageFiles, strings.ToLower(filepath.Ext(e.Name()))) {
				pages = append(pages, filepath.Join(name, e.Name()))
			}
		}
		if len(pages) == before {
			return nil, fmt.Errorf("%s has no images of pages: files with names that end with %s", name, strings.Join(pageFiles, ", "))
		}
	}
	return pages, nil
}
