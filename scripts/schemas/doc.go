// Package schemas is only a test: texts that package grammar generates for JSON schemas drawn at
// random must be valid according to an independent validator. It is a separate module, so that
// users of package grammar do not inherit the validator.
package schemas
