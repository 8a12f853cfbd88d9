package metrics

import (
	"strconv"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/text"
)

// watchReplicas adds metrics of the replicas of open models, by model and number of the replica.
func (m *Metrics) watchReplicas(models func() []engine.ModelInfo) {
	for _, x := range []struct {
		name, help, kind string
		value            func(r text.ReplicaInfo) float64
	}{
		{"avoformer_replica_threads", "Threads of a replica.", "gauge", func(r text.ReplicaInfo) float64 { return float64(r.Threads) }},
		{"avoformer_replica_busy", "Threads of a replica that compute, or texts that it generates.", "gauge", func(r text.ReplicaInfo) float64 { return float64(r.Busy) }},
		{"avoformer_replica_batches_total", "Batches, or steps of texts that are generated, since the model was opened.", "counter", func(r text.ReplicaInfo) float64 { return float64(r.Batches) }},
		{"avoformer_replica_tokens_total", "Tokens since the model was opened.", "counter", func(r text.ReplicaInfo) float64 { return float64(r.Tokens) }},
	} {
		m.registry.add(&family{name: x.name, help: x.help, kind: x.kind, labels: []string{"model", "node", "replica"}, read: func(add func(float64, ...string)) {
			for _, model := range models() {
				for i, r := range model.Replicas {
					add(x.value(r), model.Name, strconv.Itoa(r.Node), strconv.Itoa(i))
				}
			}
		}})
	}
}
