// Package schemas is a test alone: what package grammar lets through for JSON schemas drawn at random is
// valid by an independent validator. It is a module of its own so that nobody who uses package
// grammar inherits the validator.
package schemas
