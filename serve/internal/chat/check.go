// This file validates answers whose schema a grammar does not enforce completely.

package chat

import (
	"errors"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/grammar"
)

// check returns the first violation of a schema by a text.
func check(v *grammar.Validator, text string) error {
	err := v.Validate(text)
	e, ok := errors.AsType[*fault.Error](err)
	switch {
	case !ok:
		return err
	case errors.Is(err, fault.ErrSyntax):
		return errors.New("it is not JSON, or was cut off")
	}
	return e.Err
}
