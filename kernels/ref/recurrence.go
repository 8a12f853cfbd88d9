package ref

// RecurrenceStep passes a row through a state, [len(k), len(v)], of one head, and returns what q
// reads of it.
func RecurrenceStep(state, q, k, v []float64, decay, beta float64, delta bool) []float64 {
	dst := make([]float64, len(v))
	for c := range v {
		for r := range k {
			state[r*len(v)+c] *= decay
		}
		had := 0.0
		for r := range k {
			had += k[r] * state[r*len(v)+c]
		}
		d := beta * v[c]
		if delta {
			d = beta * (v[c] - had)
		}
		for r := range k {
			state[r*len(v)+c] += k[r] * d
			dst[c] += q[r] * state[r*len(v)+c]
		}
	}
	return dst
}
