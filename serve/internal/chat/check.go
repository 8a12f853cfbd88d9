// Validation of answers whose schema no grammar holds.

package chat

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// check validates texts by a JSON schema, on any goroutine.
type check struct {
	sync.Mutex
	schema *jsonschema.Schema
	budget *budget
}

// steps is how many schemas one text is compared with: a schema of a few lines can ask for more than a lifetime's.
const steps = 200_000

var errSteps = errors.New("it takes too long to validate")

// budget is part of every schema, and counts its uses.
type budget struct{ left int }

func (b *budget) Validate(*jsonschema.ValidatorContext, any) {
	if b.left--; b.left < 0 {
		panic(errSteps)
	}
}

// sealed opens no reference to anything outside the schema.
type sealed struct{}

func (sealed) Load(url string) (any, error) {
	return nil, fmt.Errorf("%.100q is not in the schema", url)
}

func newCheck(schema []byte) (*check, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		return nil, err
	}
	b := new(budget)
	c := jsonschema.NewCompiler()
	c.UseLoader(sealed{})
	c.RegisterVocabulary(&jsonschema.Vocabulary{URL: "urn:avoformer:budget", Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
		return b, nil
	}})
	c.AssertVocabs()
	if err := c.AddResource("urn:avoformer:schema", doc); err != nil {
		return nil, err
	}
	s, err := c.Compile("urn:avoformer:schema")
	if err != nil {
		return nil, err
	}
	return &check{schema: s, budget: b}, nil
}

// verify returns the first thing that a text breaks of the schema.
func (c *check) verify(text string) (err error) {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return errors.New("it is not JSON, or was cut off")
	}
	defer func() {
		if r := recover(); r == errSteps {
			err = errSteps
		} else if r != nil {
			panic(r)
		}
	}()
	c.Lock()
	defer c.Unlock()
	c.budget.left = steps
	if err := c.schema.Validate(value); err != nil {
		return errors.New(first(err))
	}
	return nil
}

// first returns the innermost error, in one line.
func first(err error) string {
	e, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err.Error()
	}
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	_, said, _ := strings.Cut(e.Error(), "\n")
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(said), "-"))
}
