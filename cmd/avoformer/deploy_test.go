package main

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/avoformer/avoformer/internal/tftest"
)

// serveFlags returns the flags of serve, and the options that they set.
func serveFlags(t *testing.T) (*flags, *serving) {
	t.Helper()
	f, s := new(app).flags("serve"), new(serving)
	s.register(f)
	return f, s
}

// TestServingDocument: the document has every flag of serve, and no others.
func TestServingDocument(t *testing.T) {
	data, err := os.ReadFile("../../doc/serving.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(data), "\n## Flags\n")
	table, _, _ = strings.Cut(table, "\n## ")
	named := map[string]bool{}
	for _, row := range strings.Split(table, "\n") {
		if first := strings.Split(row, "|"); len(first) > 1 {
			for _, m := range regexp.MustCompile("`-([a-z-]+)`").FindAllStringSubmatch(first[1], -1) {
				named[m[1]] = true
			}
		}
	}
	f, _ := serveFlags(t)
	f.VisitAll(func(x *flag.Flag) {
		if !named[x.Name] && x.Name != "quiet" {
			t.Errorf("doc/serving.md lacks -%s", x.Name)
		}
		delete(named, x.Name)
	})
	for name := range named {
		t.Errorf("doc/serving.md has -%s, which serve lacks", name)
	}
}

// TestDeployed: serve accepts the arguments of the examples in deploy/, and stops before the
// platform would kill it.
func TestDeployed(t *testing.T) {
	for _, c := range []struct{ file, args, patience string }{
		{"Dockerfile", `(?m)^ENTRYPOINT \["/avoformer", "serve", (.*)\]$`, ""},
		{"avoformer.service", `(?m)^ExecStart=/usr/local/bin/avoformer serve (.*)$`, `(?m)^TimeoutStopSec=(\d+)s$`},
		{"kubernetes.yaml", `(?m)^ +args: \[(.*)\]$`, `terminationGracePeriodSeconds: (\d+)`},
	} {
		data, err := os.ReadFile("../../deploy/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(c.args).FindSubmatch(data)
		if found == nil {
			t.Errorf("%s: no arguments of serve", c.file)
			continue
		}
		f, s := serveFlags(t)
		dirs, err := f.parse(strings.Fields(strings.NewReplacer(`"`, "", ",", " ").Replace(string(found[1]))), 0, 1)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
		}
		if err := s.plan(new(app), dirs); err != nil && !strings.Contains(err.Error(), "keys") && c.patience != "" {
			t.Errorf("%s: %v", c.file, err)
		}
		if c.patience == "" {
			continue
		}
		m := regexp.MustCompile(c.patience).FindSubmatch(data)
		if m == nil {
			t.Fatalf("%s: nothing like %s", c.file, c.patience)
		}
		if patience, err := time.ParseDuration(string(m[1]) + "s"); err != nil || patience <= s.pause+s.grace {
			t.Errorf("%s: ended after %s, -pause and -grace are %s", c.file, patience, s.pause+s.grace)
		}
	}
}

// TestServeCache: the flags for the memory of keys and values set the options of generators, for
// one model or for all.
func TestServeCache(t *testing.T) {
	f, s := serveFlags(t)
	tftest.NoError(t, f.FlagSet.Parse([]string{"-cache-memory", "30", "-cache-kept", "7", "-cache-kept", "other=3"}))
	tftest.NoError(t, s.plan(new(app), []string{testdata + "generate", "other=" + testdata + "generate", testdata + "embed"}))
	for i, want := range [][2]int64{{30 << 20, 7 << 20}, {30 << 20, 3 << 20}, {}} {
		if o := s.models[i].Options; o.CacheMemory != want[0] || o.CacheKept != want[1] {
			t.Errorf("model %d: CacheMemory %d, CacheKept %d, want %d", i, o.CacheMemory, o.CacheKept, want)
		}
	}
	for _, flag := range []string{"cache-kept", "mtp"} {
		f, s = serveFlags(t)
		tftest.NoError(t, f.FlagSet.Parse([]string{"-" + flag, "many"}))
		if err := s.plan(new(app), []string{testdata + "generate"}); err == nil || !strings.Contains(err.Error(), "-"+flag+` "many"`) {
			t.Errorf("-%s: error %v", flag, err)
		}
	}
}
