package tokenizer

// Chat templates, from chat_template of tokenizer_config.json, from separate files, and from keys
// of GGUF files.

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/transformer/gguf"
)

const (
	templateFile = "chat_template.jinja"       // of the default template
	templateDir  = "additional_chat_templates" // for files NAME.jinja
)

// readTemplates reads the separate files, or if there are none, the field chat_template.
func (s *settings) readTemplates(fsys fs.FS) error {
	if err := s.configTemplates(); err != nil {
		return err
	}
	files, err := templateFiles(fsys)
	if err != nil {
		return err
	}
	if source, ok := files["default"]; ok && len(files) == 1 {
		s.ChatTemplate, s.Templates = source, nil
	} else if len(files) > 0 {
		s.Templates = files
	}
	if s.Templates != nil {
		s.ChatTemplate = s.Templates["default"]
	}
	return nil
}

// configTemplates reads one template, or a list or an object of named templates.
func (s *settings) configTemplates() error {
	v, ok := s.fields.take("chat_template")
	if !ok {
		return nil
	}
	what := s.fields.what + ".chat_template"
	switch v[0] {
	case '"':
		s.ChatTemplate, _ = v.text()
		return nil
	case '[':
		s.Templates = map[string]string{}
		return v.each(func(_, v value) error {
			o, err := parseObject(what, v)
			if err != nil {
				return err
			}
			name := o.text("name")
			s.Templates[name] = o.text("template")
			return o.err
		})
	case '{':
		s.Templates = map[string]string{}
		o, err := parseObject(what, v)
		if err != nil {
			return err
		}
		for name := range o.fields {
			s.Templates[name] = o.text(name)
		}
		return o.err
	}
	return fmt.Errorf("%w: %s: %s", fault.ErrFormat, what, v)
}

// templateFiles returns the templates in separate files, by name.
func templateFiles(fsys fs.FS) (map[string]string, error) {
	paths, _ := fs.Glob(fsys, path.Join(templateDir, "*.jinja"))
	files := map[string]string{}
	for _, p := range append([]string{templateFile}, paths...) {
		data, err := regular.ReadFile(fsys, p)
		if p == templateFile && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(path.Base(p), ".jinja")
		if p == templateFile {
			name = "default"
		}
		files[name] = string(data)
	}
	return files, nil
}

// ggufTemplates reads the default template of a GGUF file, and the named ones. The key of a named
// template ends with its name, as in tokenizer.chat_template.tool_use.
func ggufTemplates(f *gguf.File) (one string, named map[string]string, err error) {
	const key = "tokenizer.chat_template"
	for _, k := range f.Keys() {
		name, ok := strings.CutPrefix(k, key+".")
		if k == key {
			name, ok = "default", true
		}
		if !ok {
			continue
		}
		source, err := f.Text(k)
		if err != nil {
			return "", nil, fmt.Errorf("%w: %w", fault.ErrFormat, err)
		}
		if named == nil {
			named = map[string]string{}
		}
		named[name] = source
	}
	one, ok := named["default"]
	if ok && len(named) == 1 {
		return one, nil, nil
	}
	return one, named, nil
}
