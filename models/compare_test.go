package models_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/models"
)

// TestCompare serves scripts/configs/compare.py, which starts it with AVOFORMER_COMPARE: each line
// of the standard input is a folder like those of TestFolders, or a model's folder, a tab and an
// adapter's folder that has what is expected, and the answer a line of JSON.
func TestCompare(t *testing.T) {
	if os.Getenv("AVOFORMER_COMPARE") == "" {
		t.Skip("make compare WHAT=models starts it")
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		answer, err := json.Marshal(compareOne(lines.Text()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("@%s\n", answer)
	}
}

// comparison is what came of a folder.
type comparison struct {
	Refused  string   `json:"refused"` // why the folder does not open, or the inputs do not fit
	Differs  []string `json:"differs"`
	Warnings []string `json:"warnings"`
	cleanup  []func()
}

// refusal ends a comparison.
type refusal string

func (c *comparison) Helper()                  {}
func (c *comparison) Cleanup(f func())         { c.cleanup = append(c.cleanup, f) }
func (c *comparison) Context() context.Context { return context.Background() }
func (c *comparison) Errorf(format string, args ...any) {
	c.Differs = append(c.Differs, fmt.Sprintf(format, args...))
}
func (c *comparison) Fatal(args ...any)                 { panic(refusal(fmt.Sprint(args...))) }
func (c *comparison) Fatalf(format string, args ...any) { panic(refusal(fmt.Sprintf(format, args...))) }

func compareOne(dir string) (c *comparison) {
	c = &comparison{}
	defer func() {
		for _, f := range c.cleanup {
			f()
		}
		switch r := recover().(type) {
		case nil:
		case refusal:
			c.Refused = string(r)
		default:
			panic(r)
		}
	}()
	dir, with, adapted := strings.Cut(dir, "\t")
	of := dir
	if adapted {
		of = with
	}
	expected := modelstest.OpenExpected(c, of)
	o := models.Options{Images: expected.ReadsImages()}
	if adapted {
		o.Adapters = []models.Adapter{{Path: with}}
	}
	m, err := models.Open(dir, o)
	if err != nil {
		c.Fatal(err)
	}
	c.Warnings = m.Warnings
	expected.All(m)
	return c
}
