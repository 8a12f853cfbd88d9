// This file has the flag for replicas of a model's execution, and its options.

package main

import (
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/text"
)

// replicas is the value of -replicas: a number, "node", or "" if the flag is not given.
type replicas string

func (r *replicas) String() string { return string(*r) }

// Set checks the value and stores it.
func (r *replicas) Set(v string) error {
	if _, err := replica.Parse(v); err != nil {
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), fmt.Sprintf("%q, ", v)))
	}
	*r = replicas(v)
	return nil
}

// replicasUsage describes the flag.
const replicasUsage = "`N` or node: compute on N equal shares of the CPUs, or on each NUMA node, with threads that are bound to these CPUs; default: one share, threads are not bound"

// to sets the options of a pipeline for the replicas.
func (r replicas) to(o *text.Options) {
	p, _ := replica.Parse(string(r)) // without the flag, the zero Plan
	o.Replicas, o.ReplicaPerNode = p.N, p.ByNode
}
