// Package store keeps records, each with an id, a vector and a payload, in a folder, and searches
// them by their vectors: an index of package search whose changes survive the program.
//
//	s, err := store.Open("folder", e.Dim(), store.Options{Index: search.Options{Fingerprint: fingerprint}, Sync: true})
//	defer s.Close()
//	_, err = s.Put(store.Record{ID: "manual.md#3", Vector: vector, Payload: []byte(text)})
//	hits, err := s.Search(ctx, queries, 10) // for each query the ten best records, with ids and payloads
//	_, err = s.Remove("manual.md#3")
//
// The folder has a log, to which each call that changes records appends what it changes. Vectors
// are in memory, in the precision of [Options.Index]; payloads, and vectors in float32, are in the
// log. Opening a folder reads the log, and [Store.Compact] writes a new one without what was
// replaced or removed, next to it, and renames it.
//
// # Crashes
//
// A call changes all of its records or, after a crash, none. With [Options.Sync] a call returns
// once its changes are on the disk: they survive a failure of the machine. Without, they survive
// the end of the process, and a failure of the machine may take those of the last seconds. An
// unfinished change at the end of the log is cut off when the folder is opened, and [Store.Cut]
// returns its size. Damage anywhere else is a [fault.ErrFormat]: each change has a checksum, which
// also has its place in the file and a random number of the file.
//
// # Processes
//
// One Store at a time has a folder open. Another [Open] of it, in this process or another one, is
// refused with [fault.ErrLocked] on Linux, macOS, Windows and the BSDs; other systems have no such
// locks, and there the program must ensure it. The lock ends with the process. A Store is safe for
// concurrent use: a search sees all changes of a call or none, changes wait for searches in
// progress, and searches wait while a finished change is put into the index, but not while it is
// written.
//
// # Numbers
//
// Each id has a number, which it keeps until it is removed, and which no other id of the folder
// ever gets. An index of another kind, such as one of package bm25, takes these as its ids;
// [Store.All] fills it when the program starts:
//
//	for r, err := range s.All() {
//		...
//		err = words.Add([]int64{r.Number}, []string{string(r.Payload)})
//	}
//
// This package is settling: see doc/stability.md.
package store
