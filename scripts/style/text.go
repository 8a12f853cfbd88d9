package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A prose is a paragraph, a comment or a message. It is checked as a whole, since a phrase may run
// over several lines.
type prose struct {
	line  int // the number of the first line
	lines []string
}

// check returns the phrases in p, in the order of habits.
func (p prose) check() []finding {
	starts, all := make([]int, len(p.lines)), ""
	for i, l := range p.lines {
		starts[i] = len(all)
		all += strings.Join(strings.Fields(code.ReplaceAllString(l, "_")), " ") + " "
	}
	var found []finding
	for _, h := range habits {
		for _, at := range h.pattern.FindAllStringIndex(all, -1) {
			phrase := strings.TrimSpace(all[at[0]:at[1]])
			if h.fine != nil && h.fine.MatchString(all[max(0, at[0]-20):at[1]]) {
				continue
			}
			i, exact := slices.BinarySearch(starts, at[0])
			if !exact {
				i--
			}
			around := strings.TrimSpace(all[max(0, at[0]-40):at[0]] + "[" + phrase + "] " + all[at[1]:min(len(all), at[1]+40)])
			found = append(found, finding{line: p.line + i, phrase: around, habit: h})
		}
	}
	return found
}

// code is a span of code in Markdown, whose words are names.
var code = regexp.MustCompile("`[^`]*`")

// reader returns the function that splits a file with that name into prose, or nil for other files.
func reader(file string) func(file string, data []byte) ([]prose, error) {
	switch path.Ext(file) {
	case ".go":
		return fromGo
	case ".md":
		return fromMarkdown
	case ".sh", ".py", ".awk":
		return fromScript
	}
	if path.Base(file) == "Makefile" {
		return fromScript
	}
	return nil
}

// fromGo returns the comments of a Go file and, unless it is a test, its string literals with
// spaces.
func fromGo(file string, data []byte) ([]prose, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []prose
	for _, group := range f.Comments {
		p := prose{line: set.Position(group.Pos()).Line}
		for _, c := range group.List {
			for _, l := range strings.Split(c.Text, "\n") {
				p.lines = append(p.lines, strings.Trim(l, "/* \t"))
			}
		}
		all = append(all, p)
	}
	if strings.HasSuffix(file, "_test.go") {
		return all, nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && strings.Contains(l.Value, " ") {
			text, err := strconv.Unquote(l.Value)
			if err == nil {
				all = append(all, prose{line: set.Position(l.Pos()).Line, lines: strings.Split(text, "\n")})
			}
		}
		return true
	})
	return all, nil
}

// item matches the beginning of an item of a list.
var item = regexp.MustCompile(`^ *(?:-|\d+\.) `)

// fromMarkdown returns the paragraphs and the rows of tables of a page, without its blocks of code.
func fromMarkdown(_ string, data []byte) ([]prose, error) {
	var all []prose
	var p prose
	end := func() {
		if p.lines != nil {
			all = append(all, p)
		}
		p = prose{}
	}
	inCode := false
	for i, l := range strings.Split(string(data), "\n") {
		switch fence := strings.HasPrefix(strings.TrimSpace(l), "```"); {
		case fence:
			inCode = !inCode
			end()
		case inCode:
		case strings.TrimSpace(l) == "":
			end()
		default:
			if strings.HasPrefix(l, "|") || item.MatchString(l) {
				end()
			}
			if p.lines == nil {
				p.line = i + 1
			}
			p.lines = append(p.lines, l)
		}
	}
	end()
	return all, nil
}

// fromScript returns the comments that begin with # in a file of shell, Python, awk or make.
// Successive lines are one comment.
func fromScript(_ string, data []byte) ([]prose, error) {
	var all []prose
	last := -1
	for i, l := range strings.Split(string(data), "\n") {
		before, text, ok := strings.Cut(l, "# ")
		if !ok || strings.HasSuffix(before, "$") {
			continue
		}
		text = strings.TrimPrefix(text, "# ")
		if last >= 0 && last == i-1 && strings.TrimSpace(before) == "" {
			all[len(all)-1].lines = append(all[len(all)-1].lines, text)
		} else {
			all = append(all, prose{line: i + 1, lines: []string{text}})
		}
		last = i
	}
	return all, nil
}
