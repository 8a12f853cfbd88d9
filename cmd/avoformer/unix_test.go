package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/near"
)

func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"--version"}, {"-version"}, {"version"}} {
		code, out, stderr := call(t, "", args...)
		if code != exitOK || stderr != "" || !strings.HasPrefix(out, "avoformer ") || !strings.Contains(out, "kernels for ") {
			t.Errorf("%v: exit code %d, %q, %q", args, code, out, stderr)
		}
	}
	_, out, _ := call(t, "", "version", "-json")
	var v versionInfo
	if err := json.Unmarshal([]byte(out), &v); err != nil || !reflect.DeepEqual(v, thisVersion()) || v.Version == "" || v.CPUs < 1 {
		t.Errorf("%q: %+v, %v", out, v, err)
	}
}

func TestSuggestions(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string // a text in the message
	}{
		{[]string{"embde"}, "did you mean avoformer embed?"},
		{[]string{"genrate"}, "did you mean avoformer generate?"},
		{[]string{"trans"}, "did you mean avoformer translate?"},
		{[]string{"x"}, "one of embed"},
		{[]string{"frobnicate"}, "one of embed"},
		{[]string{"embed", "-neerest", "x", "dir"}, "did you mean -nearest?"},
		{[]string{"embed", "--max_length", "1", "dir"}, "did you mean -max-length?"},
		{[]string{"embed", "-frobnicate", "dir"}, "not defined: -frobnicate; avoformer embed"},
		{[]string{"completion", "bsh"}, "did you mean bash?"},
	} {
		code, _, stderr := call(t, "", c.args...)
		if code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d, %q", c.args, code, stderr)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"ab", "ba", 1}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"embed", "embde", 1}} {
		if got := near.Distance(c.a, c.b); got != c.want || near.Distance(c.b, c.a) != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestCompletions: completions and the manual page have every command and flag, and the shells on
// this machine accept them.
func TestCompletions(t *testing.T) {
	for _, what := range append([]string{"man"}, shells...) {
		args := []string{"completion", what}
		if what == "man" {
			args = args[1:]
		}
		code, out, stderr := call(t, "", args...)
		if code != exitOK || stderr != "" {
			t.Fatalf("%v: exit code %d, %q", args, code, stderr)
		}
		plain := strings.ReplaceAll(out, `\-`, "-")
		for _, d := range describe() {
			if len(d.Flags) == 0 || !strings.Contains(plain, d.Name) {
				t.Errorf("%s lacks %s, or this its flags", what, d.Name)
			}
			for _, f := range d.Flags {
				if flag := map[bool]string{true: "-o ", false: "-"}[what == "fish"] + f.Name; !strings.Contains(plain, flag) {
					t.Errorf("%s lacks %s of %s", what, flag, d.Name)
				}
			}
		}
		name := filepath.Join(t.TempDir(), what)
		if err := os.WriteFile(name, []byte(out), 0o666); err != nil {
			t.Fatal(err)
		}
		check := []string{what, "-n", name}
		if what == "man" {
			check = []string{"mandoc", "-T", "lint", "-W", "error", name}
		}
		if _, err := exec.LookPath(check[0]); err != nil {
			t.Logf("%s is not here", check[0])
			continue
		}
		if said, err := exec.Command(check[0], check[1:]...).CombinedOutput(); err != nil || len(said) > 0 {
			t.Errorf("%v: %v, %s", check, err, said)
		}
	}
}

// TestBashCompletes asks bash itself for its completions.
func TestBashCompletes(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	_, script, _ := call(t, "", "completion", "bash")
	for words, want := range map[string]string{"avoformer emb": "embed", "avoformer embed -near": "-nearest", "avoformer help qu": "quantize", "avoformer serve -api": "-api-keys"} {
		w := strings.Fields(words)
		c := exec.Command("bash", "-c", script+"\nCOMP_WORDS=("+words+"); COMP_CWORD="+string(rune('0'+len(w)-1))+"; _avoformer; printf '%s\\n' \"${COMPREPLY[@]}\"")
		out, err := c.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %q, %v, want %q", words, out, err, want)
		}
	}
}

// TestJSON: with -json every command prints lines of JSON with these fields, except for the
// commands that always print for other programs.
func TestJSON(t *testing.T) {
	t.Setenv("AVOFORMER_TEST_COMMAND", "1")
	const texts = "hello world\nParis.\n"
	out := t.TempDir()
	tested := []string{"serve", "completion", "man"} // commands without -json
	for _, c := range []struct {
		in, args string
		fields   []string // fields of each line; the last entry is for all further lines
	}{
		{texts, "embed " + testdata + "embed", []string{"embedding index text"}},
		{texts, "embed -nearest Paris. " + testdata + "embed", []string{"index score text"}},
		{texts, "embed -check -weights f32,encoder.layer.1.*=int8 " + testdata + "embed", []string{"index least mean texts weights", "index least mean part texts weights"}},
		{texts, "rerank " + testdata + "rerank what?", []string{"index score text"}},
		{texts, "rerank -check -weights bf16 " + testdata + "rerank what?", []string{"index mean most texts weights"}},
		{texts, "classify " + testdata + "classify", []string{"labels text"}},
		{texts, "classify -check -weights bf16 " + testdata + "classify", []string{"index mean most same_label texts weights"}},
		{"", "bulk " + testdata + "embed embed testdata/texts -o " + out + "/vectors -refuse", []string{"cut dead failed files found made rows split tokens written"}},
		{"Hello\n\nBye\n", "generate -max-tokens 2 " + testdata + "generate", []string{"finish prompt_seconds prompt_tokens seconds text tokens tokens_per_second"}},
		{texts, "translate -max-tokens 2 " + testdata + "translate", []string{"index source text"}},
		{"", "transcribe " + testdata + "transcribe " + testdata + "transcribe/sound0.wav", []string{"file text"}},
		{"", "transcribe -times " + testdata + "transcribe-times " + testdata + "transcribe/sound0.wav", []string{"file segments"}},
		{"", "read " + pageModel + " ../../text/examples/models/page.png", []string{"file finish prompt_seconds prompt_tokens seconds text tokens tokens_per_second"}},
		{"", "info " + testdata + "image", []string{"architectures dim folder here labels layers memory model_type tokenizer uses weight_bytes weight_types weights"}},
		{"", "prepare -ready " + out + "/ready " + testdata + "embed", []string{"bytes file found"}},
		{"", "quantize ../../models/testdata/gguf/llama/f32.gguf -weights q8_0 -o " + out + "/q8_0.gguf", []string{"bytes bytes_before file weights"}},
		{"", "bench -rounds 1 -texts 1 -engines avoformer,torch -python /nowhere " + testdata + "embed",
			[]string{"engine first least_cosine long peak_mb rounds short texts_per_second threads tokens_per_second", "engine problem"}},
		{"", "bench -seconds 0.01 " + testdata + "generate", []string{"first peak_mb threads tokens_per_second"}},
		{"", "bench -seconds 0.01 " + testdata + "translate", []string{"first peak_mb texts_per_second threads"}},
		{"", "version", []string{"cpus features go kernels machine platform version"}},
	} {
		args := append(strings.Fields(c.args), "-json")
		tested = append(tested, args[0])
		code, out, stderr := call(t, c.in, args...)
		if code != exitOK || stderr != "" || out == "" {
			t.Errorf("%s: exit code %d, %q, %q", c.args, code, out, stderr)
		}
		for i, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
			var object map[string]any
			err := json.Unmarshal([]byte(line), &object)
			if fields := strings.Join(slices.Sorted(maps.Keys(object)), " "); err != nil || fields != c.fields[min(i, len(c.fields)-1)] {
				t.Errorf("%s: line %d is %s, %v: fields %s", c.args, i, line, err, fields)
			}
		}
	}
	for _, d := range describe() {
		if !slices.Contains([]string{"pull", "list", "rm"}, d.Name) && !slices.Contains(tested, d.Name) { // TestPull tests these three
			t.Errorf("-json of %s is not tested", d.Name)
		}
	}
}

// TestOneAnswer: with a prompt, a chat has one answer, and the command does not read the standard
// input.
func TestOneAnswer(t *testing.T) {
	for _, flags := range []string{"-chat", "-system=x", "-chat -json"} {
		in := strings.NewReader("Bye\n")
		var out, stderr bytes.Buffer
		args := append(strings.Fields("generate -max-tokens=2 "+testdata+"generate Hello"), strings.Fields(flags)...)
		if code := run(t.Context(), args, in, &out, &stderr); code != exitOK || in.Len() != 4 || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%s: exit code %d, %q, %q, %d bytes were not read", flags, code, &out, &stderr, in.Len())
		}
	}
	_, want, _ := call(t, "Hello\n", "generate", "-max-tokens=2", testdata+"generate")
	if code, got, stderr := call(t, "Hello\n", "generate", "-max-tokens=2", testdata+"generate", "-", "-chat"); code != exitOK || got != want {
		t.Errorf("-: exit code %d, %q, %q, a line of a chat gives %q", code, got, stderr, want)
	}
}
