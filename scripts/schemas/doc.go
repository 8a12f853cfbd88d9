// Package schemas has only tests. One of them checks with an independent validator that the texts
// that package grammar generates for random JSON schemas are valid. It is a separate module, so
// that users of package grammar do not depend on the validator.
package schemas
