// This file has counters, gauges and histograms, and writes them in Prometheus's text format:
// https://prometheus.io/docs/instrumenting/exposition_formats/

package metrics

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// contentType is the content type of the text format, which all readers accept.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// A family has the samples of one name.
type family struct {
	name, help, kind string
	labels           []string // sorted

	lock   sync.Mutex
	bounds []float64          // upper bounds of buckets, of a histogram
	series map[string]*series // by the values of their labels
	read   func(add func(value float64, values ...string))
}

// A series has the values for one set of labels.
type series struct {
	values  []string // of labels
	sum     float64  // the value, or the sum of a histogram
	count   uint64   // of a histogram, like buckets
	buckets []uint64 // numbers of values up to each bound and above the previous one
}

// A registry has all families of metrics.
type registry struct {
	lock     sync.Mutex
	families []*family
}

// add adds a family, whose name must be unique.
func (r *registry) add(f *family) *family {
	r.lock.Lock()
	defer r.lock.Unlock()
	i, found := slices.BinarySearchFunc(r.families, f.name, func(f *family, name string) int { return cmp.Compare(f.name, name) })
	if found {
		panic("metrics: two families have the name " + f.name)
	}
	f.series = map[string]*series{}
	if len(f.labels) == 0 && f.read == nil {
		f.of()
	}
	r.families = slices.Insert(r.families, i, f)
	return f
}

// of returns the series with some values of labels, which the caller changes under the lock of the
// family.
func (f *family) of(values ...string) *series {
	if len(values) != len(f.labels) {
		panic("metrics: " + f.name + " has other labels")
	}
	values = slices.Clone(values)
	for i, v := range values {
		values[i] = strings.ToValidUTF8(v, "\uFFFD")
	}
	key := strings.Join(values, "\xff") // does not occur in UTF-8
	s := f.series[key]
	if s == nil {
		s = &series{values: values, buckets: make([]uint64, len(f.bounds))}
		f.series[key] = s
	}
	return s
}

// Add adds to a counter with some values of labels.
func (f *family) Add(n float64, values ...string) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.of(values...).sum += n
}

// Observe adds a value to a histogram.
func (f *family) Observe(x float64, values ...string) {
	f.lock.Lock()
	defer f.lock.Unlock()
	s := f.of(values...)
	s.sum += x
	s.count++
	if i := sort.SearchFloat64s(f.bounds, x); i < len(f.bounds) {
		s.buckets[i]++
	}
}

// Append appends all families in the text format.
func (r *registry) Append(to []byte) []byte {
	r.lock.Lock()
	families := slices.Clone(r.families)
	r.lock.Unlock()
	for _, f := range families {
		to = f.append(to)
	}
	return to
}

func (f *family) append(to []byte) []byte {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.read != nil {
		clear(f.series)
		f.read(func(value float64, values ...string) { f.of(values...).sum = value })
	}
	if len(f.series) == 0 {
		return to
	}
	to = append(append(append(append(to, "# HELP "...), f.name...), ' '), escapeHelp.Replace(f.help)...)
	to = append(append(append(append(to, "\n# TYPE "...), f.name...), ' '), f.kind...)
	to = append(to, '\n')
	list := make([]*series, 0, len(f.series))
	for _, s := range f.series {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *series) int { return slices.Compare(a.values, b.values) })
	for _, s := range list {
		if f.kind != "histogram" {
			to = appendNumber(f.sample(to, s, "", ""), s.sum)
			continue
		}
		n := uint64(0)
		for i, bound := range append(slices.Clip(f.bounds), math.Inf(1)) {
			if i == len(f.bounds) {
				n = s.count
			} else {
				n += s.buckets[i]
			}
			to = strconv.AppendUint(f.sample(to, s, "_bucket", number(bound)), n, 10)
			to = append(to, '\n')
		}
		to = appendNumber(f.sample(to, s, "_sum", ""), s.sum)
		to = strconv.AppendUint(f.sample(to, s, "_count", ""), s.count, 10)
		to = append(to, '\n')
	}
	return to
}

// sample appends a sample's name and labels. A bound is that of a bucket.
func (f *family) sample(to []byte, s *series, suffix, bound string) []byte {
	to = append(append(to, f.name...), suffix...)
	before := byte('{')
	label := func(name, value string) {
		to = append(append(append(to, before), name...), `="`...)
		to = append(append(to, escapeValue.Replace(value)...), '"')
		before = ','
	}
	for i, name := range f.labels {
		label(name, s.values[i])
	}
	if bound != "" {
		label("le", bound)
	}
	if before == ',' {
		to = append(to, '}')
	}
	return append(to, ' ')
}

var escapeHelp, escapeValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`), strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func appendNumber(to []byte, x float64) []byte { return append(append(to, number(x)...), '\n') }

// number formats a number. Infinities have a sign.
func number(x float64) string {
	if math.IsInf(x, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
