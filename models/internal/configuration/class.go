package configuration

// class is a configuration class of transformers.
type class struct {
	Fields  map[string]string // and their defaults, in JSON
	Aliases map[string]string // other names of fields, which go before the names of their own
	Parts   map[string]string // classes of fields that are objects
}
