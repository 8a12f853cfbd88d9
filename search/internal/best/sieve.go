package best

// Marks are a bit for each position, set for what was removed; those past the end are not set. They
// are replaced rather than changed: searches read them.
type Marks []uint64

// Has reports whether position i was removed.
func (m Marks) Has(i int) bool { return i/64 < len(m) && m[i/64]>>(i%64)&1 != 0 }

// Removed returns m with a mark for each of the first count positions whose id is one of ids, and
// how many it adds.
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

// Sieve decides what a search may find.
type Sieve struct {
	Removed Marks
	Where   func(id int64) bool // nil: all
}

func (s *Sieve) passes(at int, id int64) bool {
	return !s.Removed.Has(at) && (s.Where == nil || s.Where(id))
}
