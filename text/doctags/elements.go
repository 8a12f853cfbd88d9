package doctags

import (
	"fmt"
	"slices"
	"strings"
)

// The elements: what begins and what ends them, and what becomes of each.

// A kind of elements says what becomes of their text.
type kind string

const (
	kindText    kind = "text"
	kindHeading kind = "heading"
	kindItem    kind = "item"
	kindList    kind = "list"
	kindTable   kind = "table"
	kindCaption kind = "caption"
	kindPicture kind = "picture"
	kindFormula kind = "formula"
	kindCode    kind = "code"
	kindInline  kind = "inline"
	kindBox     kind = "box"
	kindPart    kind = "part"    // has elements, and text of its own
	kindOutside kind = "outside" // of the page's text
)

var kinds = map[string]kind{
	"text": kindText, "paragraph": kindText, "footnote": kindText, "reference": kindText, "title": kindHeading, "caption": kindCaption,
	"list_item": kindItem, "unordered_list": kindList, "ordered_list": kindList, "otsl": kindTable, "document_index": kindTable,
	"picture": kindPicture, "chart": kindPicture, "formula": kindFormula, "code": kindCode, "inline": kindInline,
	"checkbox_selected": kindBox, "checkbox_unselected": kindBox, "page_header": kindOutside, "page_footer": kindOutside,
	"doctag": kindPart, "doctags": kindPart, "group": kindPart, "form": kindPart, "key_value_region": kindPart, "key": kindText, "value": kindText,
	"smiles": kindCode,
}

// alone are the tags without an end.
var alone = map[string]bool{"page_break": true}

// cells are the tags that begin a cell of a table.
var cells = map[string]bool{"fcel": true, "ecel": true, "ched": true, "rhed": true, "srow": true, "lcel": true, "ucel": true, "xcel": true}

const heading = "section_header_level_"

// element returns the kind of the elements with a name, "" if there are none.
func element(name string) kind {
	if level, ok := strings.CutPrefix(name, heading); ok && len(level) == 1 && level[0] >= '1' && level[0] <= '9' {
		return kindHeading
	}
	return kinds[name]
}

// isPlace reports whether a tag is a place on the page.
func isPlace(name string) bool {
	digits, ok := strings.CutPrefix(name, "loc_")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// isClass reports whether a tag within a picture says what it shows, such as line_chart.
func isClass(name string) bool { return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") == "" }

// isLanguage reports whether a tag names a language of code, such as _Python_.
func isLanguage(name string) bool {
	return len(name) > 2 && name[0] == '_' && name[len(name)-1] == '_' && !strings.ContainsAny(name, " /")
}

// A frame is an element that has begun.
type frame struct {
	name     string
	kind     kind
	text     strings.Builder
	caption  strings.Builder
	language string    // of code
	items    int       // of a list, that have begun
	written  bool      // of an item: its first paragraph
	rows     [][]*cell // of a table
}

// last returns the cell that began last in the last row, nil if there is none.
func (f *frame) last() *cell {
	if n := len(f.rows); n > 0 && len(f.rows[n-1]) > 0 {
		return f.rows[n-1][len(f.rows[n-1])-1]
	}
	return nil
}

// cell begins a cell, or the next row.
func (f *frame) cell(tag string) {
	if tag == "nl" {
		if len(f.rows) > 0 {
			f.rows = append(f.rows, nil)
		}
		return
	}
	if len(f.rows) == 0 {
		f.rows = append(f.rows, nil)
	}
	last := len(f.rows) - 1
	f.rows[last] = append(f.rows[last], &cell{tag: tag})
}

// mostOpen is the most elements within each other. Further ones are left out, and their text
// belongs to the last.
const mostOpen = 32

// tag takes a tag, and reports whether it is one.
func (w *Writer) tag(name string, closes bool) bool {
	top := w.open[len(w.open)-1]
	switch kind := element(name); {
	case kind != "" && closes:
		w.close(name)
	case kind != "":
		w.begin(name, kind)
	case closes:
		return false
	case isPlace(name) || alone[name] || top.kind == kindPicture && isClass(name):
	case isLanguage(name):
		if top.kind != kindCode {
			return false
		}
		top.language = strings.Trim(name, "_")
	case cells[name] || name == "nl":
		if top.kind != kindTable {
			return false
		}
		top.cell(name)
	default:
		return false
	}
	return true
}

// begin begins an element. The text before an element ends there, and so does that of a paragraph
// or an item before a list, a table or a picture in it.
func (w *Writer) begin(name string, kind kind) {
	if len(w.open) == mostOpen {
		return
	}
	breaks := kind == kindList || kind == kindTable || kind == kindPicture || kind == kindBox
	switch top := w.open[len(w.open)-1]; {
	case len(w.open) == 1 || top.kind == kindPart || breaks && (top.kind == kindText || top.kind == kindInline):
		w.paragraph(top)
	case breaks:
		w.item(top)
	}
	if kind == kindItem {
		for i := len(w.open) - 1; i > 0; i-- {
			if w.open[i].kind == kindList {
				w.open[i].items++
				break
			}
		}
	}
	w.open = append(w.open, &frame{name: name, kind: kind})
}

// close ends the last element with a name, and those that have begun within it.
func (w *Writer) close(name string) {
	for i := len(w.open) - 1; i > 0; i-- {
		if w.open[i].name == name {
			for len(w.open) > i {
				w.end()
			}
			return
		}
	}
}

// text takes text that is not a tag.
func (w *Writer) text(s string) {
	top := w.open[len(w.open)-1]
	s = strings.ReplaceAll(s, asIs, "")
	if top.kind != kindTable {
		top.text.WriteString(s)
	} else if c := top.last(); c != nil {
		c.text.WriteString(s)
	}
}

// end ends the last element.
func (w *Writer) end() {
	top := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	var outer *frame
	if len(w.open) > 0 {
		outer = w.open[len(w.open)-1]
	}
	if outer != nil && outer.takes(top) {
		return
	}
	switch top.kind {
	case kindOutside:
	case kindList:
		w.paragraph(top)
		w.listing = w.listing && slices.ContainsFunc(w.open, func(f *frame) bool { return f.kind == kindList }) // the next list is another one
	case kindHeading:
		w.heading(top)
	case kindItem:
		w.item(top)
	case kindTable:
		w.block(paragraph(top.caption.String()))
		w.block(table(top.rows))
	case kindPicture:
		w.block(paragraph(top.caption.String()))
		w.block(paragraph(top.text.String()))
		w.block("<!-- image -->")
	case kindFormula:
		if s := strings.TrimSpace(top.text.String()); s != "" {
			w.block("$$" + s + "$$")
		}
	case kindCode:
		w.block(paragraph(top.caption.String()))
		w.code(top)
	case kindBox:
		w.line(strings.TrimSpace(box(top) + oneLine(top.text.String())))
	default:
		w.paragraph(top)
	}
}

// takes takes what an element within f says, and reports whether that is all that becomes of the
// element.
func (f *frame) takes(inner *frame) bool {
	s := strings.TrimSpace(inner.text.String())
	switch {
	case inner.kind == kindCaption && (f.kind == kindTable || f.kind == kindPicture || f.kind == kindCode):
		f.caption.WriteString(" " + s)
		return true
	case f.kind == kindOutside:
		return true
	case f.kind != kindInline && f.kind != kindTable && f.kind != kindItem && f.kind != kindHeading && f.kind != kindText && f.kind != kindCaption:
		return false
	}
	switch inner.kind {
	case kindFormula:
		s = raw("$" + s + "$")
	case kindCode:
		s = raw(span(s))
	case kindText, kindInline, kindCaption, kindHeading:
	default:
		return false
	}
	if f.kind == kindTable {
		if c := f.last(); c != nil {
			c.text.WriteString(" " + s)
		}
		return true
	}
	f.text.WriteString(" " + s + " ")
	return true
}

// paragraph writes the text that a frame has so far.
func (w *Writer) paragraph(f *frame) {
	w.block(paragraph(f.text.String()))
	f.text.Reset()
}

// heading writes a heading: that of a document has level 1, those of sections follow.
func (w *Writer) heading(f *frame) {
	level := 1
	if n, ok := strings.CutPrefix(f.name, heading); ok {
		level = min(int(n[0]-'0')+1, 6)
	}
	if s := oneLine(f.text.String()); s != "" {
		w.block(strings.Repeat("#", level) + " " + s)
	}
}

// item writes the text that an item of a list has so far.
func (w *Writer) item(f *frame) {
	if f.kind != kindItem {
		return
	}
	s := oneLine(f.text.String())
	f.text.Reset()
	if s == "" {
		return
	}
	depth, mark := 0, "- "
	for _, o := range w.open {
		if o.kind == kindList {
			depth++
			if mark = "- "; o.name == "ordered_list" {
				mark = fmt.Sprintf("%d. ", o.items)
			}
		}
	}
	const indent = 4
	if f.written { // a further paragraph, in the item as long as the list goes on
		in := w.listing
		if in {
			s = strings.Repeat(" ", indent*depth) + s
		}
		w.block(s)
		w.listing = in
		return
	}
	f.written = true
	w.line(strings.Repeat(" ", indent*max(depth-1, 0)) + mark + s)
}

// code writes code between fences, which are longer than those in it.
func (w *Writer) code(f *frame) {
	s := strings.Trim(f.text.String(), "\n")
	if strings.TrimSpace(s) == "" {
		return
	}
	fence := strings.Repeat("`", max(3, ticks(s)+1))
	language := ""
	if f.language != "unknown" {
		language = strings.ToLower(f.language)
	}
	w.block(fence + language + "\n" + s + "\n" + fence)
}

func box(f *frame) string {
	if f.name == "checkbox_selected" {
		return "- [x] "
	}
	return "- [ ] "
}
