// This file opens and closes models on request.

package engine

import "context"

// Load opens a model if it is not open.
func (e *Engine) Load(ctx context.Context, name string) error {
	m, err := e.find(ctx, name)
	if err != nil {
		return err
	}
	_, release, err := e.open(ctx, m)
	if err != nil {
		return err
	}
	release()
	return nil
}

// Unload closes a model if it is open and unused, and reports whether it is closed. The next
// request opens it again.
func (e *Engine) Unload(ctx context.Context, name string) (closed bool, err error) {
	m, err := e.find(ctx, name)
	if err != nil {
		return false, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if m.pipeline != nil && m.users == 0 {
		e.close(m)
	}
	return m.pipeline == nil, nil
}

// find returns the model with a name, and sets the model of the record.
func (e *Engine) find(ctx context.Context, name string) (*model, error) {
	m, ok := e.names[name]
	if !ok {
		return nil, Errorf(UnknownModel, "no model %.200q is served here", name).At("model")
	}
	r := RecordOf(ctx)
	r.Model, r.Kind = m.Name, m.Kind
	return m, nil
}
