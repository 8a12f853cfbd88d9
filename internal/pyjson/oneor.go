package pyjson

// OneOr is a value or a list of values: many fields of configurations accept both. Null leaves it
// unchanged.
type OneOr[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (o *OneOr[T]) UnmarshalJSON(text []byte) error {
	switch {
	case len(text) > 0 && text[0] == '[':
		return Unmarshal(text, (*[]T)(o))
	case string(text) == "null":
		return nil
	}
	*o = make([]T, 1)
	return Unmarshal(text, &(*o)[0])
}
