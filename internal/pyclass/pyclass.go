// Package pyclass holds the fields, with their defaults, of the classes of transformers, peft and
// sentence-transformers that read the files of a model's folder. scripts/configs/classes.py writes
// the table, which is embedded. A class is parsed when it is needed.
package pyclass

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:generate make -C ../.. config-table

// Transformers is the version of transformers that the table describes.
const Transformers = "5.24.0"

// A Class is a class of a Python library. Its maps are shared and must not be changed.
type Class struct {
	Library string            // with its version
	Strict  bool              // unknown fields are errors
	Reads   Reading           // only for tokenizers
	Fields  map[string]string // with their defaults as JSON
	Aliases map[string]string // other names of fields, which take precedence over the fields' own names
	Parts   map[string]string // the model_types of fields that are objects
	Needed  []string          // fields that may not be null, and whose defaults are not empty
}

// Reading is the way in which a class of tokenizers reads tokenizer.json.
type Reading string

const (
	AsWritten      Reading = "as written"      // like Hugging Face's tokenizers
	VocabularyOnly Reading = "vocabulary only" // the vocabulary, the merges, the character map and the post-processor
	Without        Reading = "without"         // not at all: the class is written in Python
)

// Config returns the class of config.json for a model_type, or nil. Its fields do not include those
// in Table("config base").
func Config(modelType string) *Class { return find("config " + modelType) }

// ConfigTypes returns the model_types for which Config returns a class.
func ConfigTypes() []string {
	var types []string
	for name := range sections() {
		if kind, ok := strings.CutPrefix(name, "config "); ok && kind != "base" {
			types = append(types, kind)
		}
	}
	return slices.Sorted(slices.Values(types))
}

// File returns a class that reads a file next to config.json. It is empty for an unknown name.
func File(class string) Class {
	if c := find("file " + class); c != nil {
		return *c
	}
	return Class{}
}

// Tokenizer returns the class of tokenizers with a name, or nil. Its fields do not include those in
// Table("tokenizer base").
func Tokenizer(class string) *Class { return find("tokenizer " + class) }

// Table returns the values of a section that does not describe a class, by their names.
func Table(section string) map[string]string {
	c := find(section)
	if c == nil {
		panic("pyclass.Table: no section " + section)
	}
	return c.Fields
}

//go:embed classes.txt
var file string

// sections maps the name of each section to its lines.
var sections = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, section := range strings.Split(file, "\n[")[1:] {
		name, lines, _ := strings.Cut(section, "]\n")
		all[name] = lines
	}
	return all
})

var parsed sync.Map // classes by the names of their sections

func find(section string) *Class {
	if c, ok := parsed.Load(section); ok {
		return c.(*Class)
	}
	lines, ok := sections()[section]
	if !ok {
		return nil
	}
	c, _ := parsed.LoadOrStore(section, parse(lines))
	return c.(*Class)
}

func parse(lines string) *Class {
	c := &Class{Fields: map[string]string{}, Aliases: map[string]string{}, Parts: map[string]string{}}
	for line := range strings.Lines(lines) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		relation, value, _ := strings.Cut(rest, " ")
		switch {
		case name == "@library":
			c.Library = rest
		case name == "@strict":
			c.Strict = true
		case name == "@reads":
			c.Reads = Reading(rest)
		case name == "@needed":
			c.Needed = strings.Fields(rest)
		case relation == "=":
			c.Fields[name] = value
		case relation == "->":
			c.Aliases[name] = value
		case relation == "is":
			c.Parts[name] = value
		}
	}
	return c
}
