package best

// Marks have a bit for each position, which is set if the position was removed. Positions past the
// end were not removed. Marks are never changed, only replaced, because searches read them.
type Marks []uint64

// Has reports whether position i was removed.
func (m Marks) Has(i int) bool { return i/64 < len(m) && m[i/64]>>(i%64)&1 != 0 }

// Removed returns a copy of m that also marks those of the first count positions whose id is one of
// ids, and the number of positions that it adds.
func (m Marks) Removed(count int, id func(i int) int64, ids []int64) (Marks, int) {
	wanted := func(id int64) bool { return id == ids[0] }
	if len(ids) != 1 {
		set := make(map[int64]bool, len(ids))
		for _, id := range ids {
			set[id] = true
		}
		wanted = func(id int64) bool { return set[id] }
	}
	marks := make(Marks, (count+63)/64)
	copy(marks, m)
	n := 0
	for i := range count {
		if !marks.Has(i) && wanted(id(i)) {
			marks[i/64] |= 1 << (i % 64)
			n++
		}
	}
	return marks, n
}

// Sieve has the conditions that a search's hits must meet.
type Sieve struct {
	Removed Marks
	Where   func(id int64) bool // nil: all
}

func (s *Sieve) passes(at int, id int64) bool {
	return !s.Removed.Has(at) && (s.Where == nil || s.Where(id))
}
