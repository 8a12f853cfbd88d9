// Package bulk turns files of texts into files of vectors, scores or labels, each row exactly once.
//
//	e, err := text.OpenEmbedder("all-MiniLM-L6-v2", text.Options{})
//	task, err := bulk.Embed(e, "", bulk.Float32Vectors)
//	report, err := bulk.Run(ctx, task, bulk.Options{Inputs: files, Out: "vectors", Format: "parquet"})
//
// # Shards
//
// Every input file is a shard. Its results are in OUT/NAME.parquet (or .arrow, .npy, .jsonl), its
// rows without a result in OUT/NAME.dead.jsonl, and its manifest is OUT/NAME.json: the input with
// its digest, the numbers of rows, the model's fingerprint and the options. The manifest gets its
// name last, so a shard is either complete or missing; a run skips complete shards. A shard that
// cannot be read has OUT/NAME.failed.json with the reason, and no results.
//
// # Many machines
//
// Any number of processes may work on one folder that they share, without a coordinator. The
// process that works on a shard has created OUT/NAME.claim.0, which only one process can do, and
// rewrites it every [Options.Stale]/4. A claim that another process has seen unchanged for Stale,
// by its own clock, is stale: the shard goes to the process that creates NAME.claim.1, and so on.
// On the same machine a claim is stale as soon as its process has ended. A process that lost its
// claim does not put results in place, unless it wakes at that very moment: then both put the same
// bytes.
//
// # Bytes
//
// A pipeline gives each text the same bits whatever else is in its batch, so results depend neither
// on the order of shards nor on threads, chunks or interruptions. The exception is a pipeline
// opened with PromptFormat of models.Options.
//
// This package is settling: see doc/stability.md.
package bulk
