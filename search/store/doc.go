// Package store stores records in a folder, each with an id, a vector and a payload, and searches
// them by their vectors. It is an index of package search whose changes survive the program.
//
//	s, err := store.Open("folder", e.Dim(), store.Options{Index: search.Options{Fingerprint: fingerprint}, Sync: true})
//	defer s.Close()
//	_, err = s.Put(store.Record{ID: "manual.md#3", Vector: vector, Payload: []byte(text)})
//	hits, err := s.Search(ctx, queries, 10) // for each query the ten best records, with ids and payloads
//	_, err = s.Remove("manual.md#3")
//
// The folder has a log. Each call that changes records appends its changes to the log. Vectors are
// in memory, in the precision of [Options.Index]; payloads, and vectors in float32, are in the log.
// Opening a folder reads the log. [Store.Compact] writes a new log without replaced and removed
// records next to it, and renames it.
//
// # Crashes
//
// A call changes all of its records or, after a crash, none. With [Options.Sync], a call returns
// when its changes are on the disk, so that they survive a failure of the machine. Without it,
// changes survive the end of the process, but a failure of the machine may lose those of the last
// seconds. Open cuts off an unfinished change at the end of the log, and [Store.Cut] returns its
// size. Damage anywhere else is a [fault.ErrFormat]: each change has a checksum, which also covers
// its place in the file and a random number of the file.
//
// # Processes
//
// One Store at a time has a folder open. Another [Open] of the folder, in this process or another
// one, returns [fault.ErrLocked] on Linux, macOS, Windows and the BSDs. Other systems have no such
// locks; there the program must ensure that only one Store has the folder open. The lock ends with
// the process. A Store is safe for concurrent use: a search sees all changes of a call or none.
// Changes wait for searches in progress. Searches wait while a finished change is added to the
// index, but not while it is written to the log.
//
// # Numbers
//
// Each id has a number, which it keeps until it is removed, and which no other id of the folder
// ever gets. An index of another kind, such as one of package bm25, can use these numbers as its
// ids. Fill it from [Store.All] when the program starts:
//
//	for r, err := range s.All() {
//		...
//		err = words.Add([]int64{r.Number}, []string{string(r.Payload)})
//	}
//
// This package is settling: see doc/stability.md.
package store
