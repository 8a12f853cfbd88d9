package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Set holds the numbers of CPUs in ascending order, without repetitions.
type Set []int

// most is the most CPUs of a set. Linux supports at most 8192.
const most = 8192

// upTo returns the first n CPUs.
func upTo(n int) Set {
	s := make(Set, min(max(n, 1), most))
	for i := range s {
		s[i] = i
	}
	return s
}

// parseSet reads a list such as "0-3,8,10-11", the form of files of Linux. ok reports whether it is
// such a list and has a CPU.
func parseSet(list string) (s Set, ok bool) {
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(last)
		}
		if err != nil || to < from || to >= most || len(s)+to-from >= most {
			return nil, false
		}
		for cpu := from; cpu <= to; cpu++ {
			s = append(s, cpu)
		}
	}
	slices.Sort(s)
	return slices.Compact(s), true
}

// and returns the CPUs of both sets.
func (s Set) and(t Set) (both Set) {
	for _, cpu := range s {
		if t.has(cpu) {
			both = append(both, cpu)
		}
	}
	return both
}

func (s Set) has(cpu int) bool {
	_, found := slices.BinarySearch(s, cpu)
	return found
}

// String returns the set as a list: "0-3,8".
func (s Set) String() string {
	var parts []string
	for i := 0; i < len(s); {
		end := i
		for end+1 < len(s) && s[end+1] == s[end]+1 {
			end++
		}
		if end == i {
			parts = append(parts, strconv.Itoa(s[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", s[i], s[end]))
		}
		i = end + 1
	}
	return strings.Join(parts, ",")
}
