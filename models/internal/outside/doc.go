// Package outside holds tests of architectures that another module registers.
package outside
