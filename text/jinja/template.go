// Rendering.

package jinja

import "time"

// Render renders the template with variables: anything that encoding/json takes. The keys of a
// json.RawMessage keep their order, as Python's do; those of a map are sorted. Errors match
// [fault.ErrTemplate], and [fault.ErrTemplateRaised] if the template itself refuses.
func (t *Template) Render(variables map[string]any) (string, error) {
	e := &env{run: &run{now: t.now}}
	for name, v := range variables {
		x, err := fromGo(v)
		if err != nil {
			return "", err
		}
		e.set(name, x)
	}
	var out output
	if _, err := execAll(t.body, e, &out); err != nil {
		return "", err
	}
	return out.String(), nil
}

// WithClock returns the template with another clock for strftime_now than [time.Now].
func (t *Template) WithClock(now func() time.Time) *Template { return &Template{t.body, now} }
