// Package search finds, among millions of vectors, those with the largest dot products with a
// query. It is exact: it reads all vectors. For normalised vectors, which embedders return, the dot
// product is the cosine.
//
//	index, err := search.New(len(vectors[0]), search.Options{})
//	err = index.Add(nil, vectors)                   // ids are 0, 1, 2, ...
//	hits, err := index.Search(ctx, queries, 10)     // for each query the ten best, the best first
//	err = index.Save("vectors.index")
//	index, err = search.Load("vectors.index", 0)
//
// Vectors may be removed and replaced by their ids, and a search may be restricted to some of them:
//
//	err = index.Replace([]int64{7}, vectors[:1])    // adds it if there is none
//	n := index.Remove(3, 4)
//	hits, err = index.SearchWhere(ctx, queries, 10, func(id int64) bool { return tenantOf[id] == "a" })
//	hits, err = index.SearchWhere(ctx, queries, 10, search.WithID(1, 2, 7))
//
// Vectors are stored in one of three precisions. [Int8] and [Binary] take 3.8 and 32 times less
// memory than [Float32] and are read faster by the same factors. [Options.Rescore] stores the
// vectors a second time in more bits: a search collects [Options.Oversample] candidates for each
// hit, and orders them by the scores of these vectors (Yamada et al., 2021, "Efficient Passage
// Retrieval with Hashing for Open-domain Question Answering").
//
// An index may have the fingerprint of its vectors' model. A program that loads such an index must
// state the fingerprint of its queries' model:
//
//	index, err := search.New(e.Dim(), search.Options{Fingerprint: fingerprint}) // of e.Fingerprint(ctx)
//	index, err = search.Load("vectors.index", 0)
//	err = index.CheckFingerprint(fingerprint) // an error that names what differs: model, format, version of the numerics
//
// Package store stores vectors in a folder, with strings as ids, and payloads. Package bm25
// searches texts by their words, package sparse searches sparse vectors, and package maxsim
// searches vectors of tokens. [FuseRanks] merges hits of several indexes.
//
// Hits do not depend on the number of threads, nor on the order in which vectors of different ids
// were added; of hits with equal scores the one with the smaller id comes first.
//
// This package is stable: see doc/stability.md.
package search
