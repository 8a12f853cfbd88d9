package tokenizer

import (
	"bytes"
	"errors"
	"maps"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// TestChatTemplates reads chat templates from where transformers finds them.
func TestChatTemplates(t *testing.T) {
	const config = "tokenizer_config.json"
	one := map[string]string{config: `{"chat_template": "one"}`}
	list := map[string]string{config: `{"chat_template": [{"name": "default", "template": "d"}, {"name": "rag", "template": "r"}]}`}
	with := func(files map[string]string, name, data string) map[string]string {
		files = maps.Clone(files)
		files[name] = data
		return files
	}
	for i, x := range []struct {
		files  map[string]string
		single string
		named  map[string]string
	}{
		{map[string]string{}, "", nil},
		{map[string]string{config: `{"chat_template": null}`}, "", nil},
		{one, "one", nil},
		{list, "d", map[string]string{"default": "d", "rag": "r"}},
		{map[string]string{config: `{"chat_template": [{"name": "rag", "template": "r"}]}`}, "", map[string]string{"rag": "r"}},
		{map[string]string{config: `{"chat_template": {"tool_use": "t"}}`}, "", map[string]string{"tool_use": "t"}},
		{with(one, "chat_template.jinja", "file"), "file", nil},
		{with(list, "chat_template.jinja", "file"), "file", nil},
		{with(one, "additional_chat_templates/rag.jinja", "r"), "", map[string]string{"rag": "r"}},
		{with(with(list, "chat_template.jinja", "file"), "additional_chat_templates/x.jinja", "x"), "file", map[string]string{"default": "file", "x": "x"}},
		{with(list, "additional_chat_templates/x.txt", "x"), "d", map[string]string{"default": "d", "rag": "r"}},
	} {
		s, err := readSettings(textFiles(x.files), nil)
		if err != nil || s.ChatTemplate != x.single || !maps.Equal(s.Templates, x.named) || (s.Templates == nil) != (x.named == nil) {
			t.Errorf("folder %d: %q and %q, %v, want %q and %q", i, s.ChatTemplate, s.Templates, err, x.single, x.named)
		}
	}
	for _, bad := range []string{`7`, `[7]`, `[{"name": "x"}]`, `[{"name": 1, "template": "x"}]`, `{"x": 1}`, `true`} {
		if _, err := readSettings(textFiles(map[string]string{config: `{"chat_template": ` + bad + `}`}), nil); !errors.Is(err, fault.ErrFormat) {
			t.Errorf("chat_template %s: error %v, want a fault.ErrFormat", bad, err)
		}
	}
}

func textFiles(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, data := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return fsys
}

// TestSpecialNames reads the tokens that templates get by name.
func TestSpecialNames(t *testing.T) {
	const config, older = "tokenizer_config.json", "special_tokens_map.json"
	for i, x := range []struct {
		files map[string]string
		want  map[string]string
	}{
		{map[string]string{config: `{"bos_token": "<s>", "image_token": "<image>", "add_bos_token": true}`}, map[string]string{"bos_token": "<s>", "image_token": "<image>"}},
		{map[string]string{config: `{"extra_special_tokens": {"boi": "<boi>", "image_token": "<i>"}}`}, map[string]string{"boi": "<boi>", "image_token": "<i>"}},
		{map[string]string{config: `{"bos_token": "a"}`, older: `{"bos_token": "b", "audio_token": {"content": "<au>"}, "eos_token": null}`}, map[string]string{"bos_token": "b", "audio_token": "<au>"}},
		{map[string]string{config: `{"bos_token": "a", "added_tokens_decoder": {}}`, older: `{"bos_token": "b", "audio_token": "<au>"}`}, map[string]string{"bos_token": "a"}},
	} {
		s, err := readSettings(textFiles(x.files), nil)
		if err != nil || !maps.Equal(s.Special, x.want) {
			t.Errorf("folder %d: %q, %v, want %q", i, s.Special, err, x.want)
		}
	}
}

// TestGGUFTemplates reads templates by name from the keys that llama.cpp's converter writes.
func TestGGUFTemplates(t *testing.T) {
	t.Parallel()
	const key = "tokenizer.chat_template"
	for _, x := range []struct {
		keys   []gguf.Pair
		single string
		named  map[string]string
		err    error
	}{
		{nil, "", nil, nil},
		{[]gguf.Pair{{Key: key, Value: "one"}}, "one", nil, nil},
		{[]gguf.Pair{{Key: key + "s", Value: []string{"tool_use", "rag"}}, {Key: key, Value: "d"}, {Key: key + ".tool_use", Value: "t"}, {Key: key + ".rag", Value: "r"}},
			"d", map[string]string{"default": "d", "tool_use": "t", "rag": "r"}, nil},
		{[]gguf.Pair{{Key: key + ".tool_use", Value: "t"}}, "", map[string]string{"tool_use": "t"}, nil},
		{[]gguf.Pair{{Key: key, Value: int32(1)}}, "", nil, fault.ErrType},
		{[]gguf.Pair{{Key: key, Value: "d"}, {Key: key + ".rag", Value: []string{"r"}}}, "", nil, fault.ErrType},
	} {
		var b bytes.Buffer
		if err := gguf.Write(&b, x.keys, nil); err != nil {
			t.Fatal(err)
		}
		f, err := gguf.NewFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		single, named, err := ggufTemplates(f)
		if !errors.Is(err, x.err) || single != x.single || !maps.Equal(named, x.named) || (named == nil) != (x.named == nil) {
			t.Errorf("%v: %q and %q, error %v; want %q and %q", x.keys, single, named, err, x.single, x.named)
		}
	}
}
