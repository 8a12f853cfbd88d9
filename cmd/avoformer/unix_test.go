package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	if err := json.Unmarshal([]byte(out), &v); err != nil || v != thisVersion() || v.Version == "" || v.CPUs < 1 {
		t.Errorf("%q: %+v, %v", out, v, err)
	}
}

func TestSuggestions(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string // in the message; after ! not
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
		if got := distance(c.a, c.b); got != c.want || distance(c.b, c.a) != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestCompletions: every command and flag is in them, and the shells that are here take them.
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

// TestBashCompletes asks bash itself what it would offer.
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
