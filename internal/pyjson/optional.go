package pyjson

// An Optional distinguishes an absent field from one that is null, where Python compares with None.
type Optional[T any] struct {
	Present, Null bool
	Value         T // the zero value if absent or null
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *Optional[T]) UnmarshalJSON(text []byte) error {
	*o = Optional[T]{Present: true, Null: string(text) == "null"}
	if o.Null {
		return nil
	}
	return Unmarshal(text, &o.Value)
}

// Or returns o, or the given value if the field is absent.
func (o Optional[T]) Or(absent T) Optional[T] {
	if o.Present {
		return o
	}
	return Optional[T]{Present: true, Value: absent}
}

// Given reports whether there is a value.
func (o Optional[T]) Given() bool { return o.Present && !o.Null }
