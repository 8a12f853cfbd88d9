package main

import (
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
)

const pageModel = "../../text/examples/models/page" // reads pages of letters in a grid

// glyphs has some of the letters in scripts/tiny/pages.py, as rows of 5 pixels.
var glyphs = map[rune]string{
	'A': ".###. #...# #...# ##### #...# #...# #...#", 'B': "####. #...# #...# ####. #...# #...# ####.", 'C': ".###. #...# #.... #.... #.... #...# .###.",
	'E': "##### #.... #.... ####. #.... #.... #####", 'X': "#...# #...# .#.#. ..#.. .#.#. #...# #...#", '0': ".###. #...# #..## #.#.# ##..# #...# .###.",
	'7': "##### ....# ...#. ..#.. ..#.. ..#.. ..#..", '9': ".###. #...# #...# .#### ....# ...#. .##..",
}

// drawPage writes an image with lines of letters, which are twice as large as the glyphs.
func drawPage(t *testing.T, name string, lines ...string) {
	t.Helper()
	const cell = 16
	m := image.NewGray(image.Rect(0, 0, 4*cell, 4*cell))
	for i := range m.Pix {
		m.Pix[i] = 255
	}
	for row, line := range lines {
		for column, c := range line {
			for y, dots := range strings.Fields(glyphs[c]) {
				for x, dot := range dots {
					if dot == '#' {
						for i := range 4 {
							m.SetGray(column*cell+3+2*x+i%2, row*cell+1+2*y+i/2, color.Gray{})
						}
					}
				}
			}
		}
	}
	f := tftest.Must(os.Create(name))(t)
	defer f.Close()
	tftest.NoError(t, png.Encode(f, m))
}

// TestRead: pages become Markdown, as single files and in a folder.
func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := filepath.Join(dir, "page-1.png"), filepath.Join(dir, "page-2.PNG")
	drawPage(t, first, "AXE", "BC", "70", " 9")
	drawPage(t, second, "BE", "CAXE", "0979")
	tftest.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600))
	tftest.NoError(t, os.Mkdir(filepath.Join(dir, "more.png"), 0o700))
	const one, two = "## AXE\n\n| B | C |\n| --- | --- |\n| 7 | 0 |\n|  | 9 |\n", "## BE\n\n| C | A | X | E |\n| --- | --- | --- | --- |\n| 0 | 9 | 7 | 9 |\n"

	if code, out, stderr := call(t, "", "read", pageModel, first); code != exitOK || out != one+"\n" || !strings.Contains(stderr, "tokens") || strings.Contains(stderr, "page 1") {
		t.Errorf("a page: %d, %q, %q", code, out, stderr)
	}
	if code, out, stderr := call(t, "", "read", pageModel, dir); code != exitOK || out != one+"\n"+two+"\n" || !strings.Contains(stderr, "page 1 of 2: "+first) || !strings.Contains(stderr, "page 2 of 2: "+second) {
		t.Errorf("a folder: %d, %q, %q", code, out, stderr)
	}
	if code, out, _ := call(t, "", "read", "-doctags", pageModel, first); code != exitOK || out != "<doctag><section_header_level_1>AXE</section_header_level_1><otsl><ched>B<ched>C<nl><fcel>7<fcel>0<nl><ecel><fcel>9<nl></otsl></doctag>\n" {
		t.Errorf("DocTags: %d, %q", code, out)
	}
	code, out, stderr := call(t, "", "read", "-json", "-max-tokens", "12", pageModel, second)
	var page struct {
		File, Text, Finish string
		Tokens             int
	}
	if err := json.Unmarshal([]byte(out), &page); code != exitOK || err != nil || page.File != second || page.Text != "## BE\n\n| C | A | X |\n| --- | --- | --- |\n" || page.Finish != "length" || page.Tokens != 12 {
		t.Errorf("JSON of a page that is cut: %d, %q, %q", code, out, stderr)
	}
}

// TestReadRefused: files that are not pages, and models that do not read pages, are errors that say
// what to do.
func TestReadRefused(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	page := filepath.Join(empty, "page.txt")
	tftest.NoError(t, os.WriteFile(page, []byte("text"), 0o600))
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "pdftoppm -r 144 -png a.PDF page", []string{pageModel, "a.PDF"}},
		{exitFailed, "has no images of pages", []string{pageModel, empty}},
		{exitFailed, "page.txt: ", []string{pageModel, page}},
		{exitFailed, "no such file", []string{pageModel, filepath.Join(empty, "x.png")}},
		{exitUsage, "lacks the token <otsl>", []string{"../../models/testdata/images/idefics3", page}},
		{exitUsage, "the images of llama are not supported", []string{"../../text/examples/models/chat", page}},
	} {
		if code, out, stderr := call(t, "", append([]string{"read"}, c.args...)...); code != c.code || !strings.Contains(stderr, c.want) || out != "" {
			t.Errorf("%q: %d, %q, %q, want %d and %q", c.args, code, out, stderr, c.code, c.want)
		}
	}
	if _, out, _ := call(t, "", "info", pageModel); !strings.Contains(out, "images       generate -image, read; the encoder of images takes 0.3 MB") {
		t.Errorf("info: %q", out)
	}
}
