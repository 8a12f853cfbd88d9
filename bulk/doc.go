// Package bulk converts files of texts to files of vectors, scores or labels. It computes each row
// exactly once.
//
//	e, err := text.OpenEmbedder("all-MiniLM-L6-v2", text.Options{})
//	task, err := bulk.Embed(e, "", bulk.Float32Vectors)
//	report, err := bulk.Run(ctx, task, bulk.Options{Inputs: files, Out: "vectors", Format: "parquet"})
//
// # Shards
//
// Every input file is a shard. Its results are in OUT/NAME.parquet (or .arrow, .npy, .jsonl), its
// rows without a result in OUT/NAME.dead.jsonl, and its manifest in OUT/NAME.json: the input with
// its digest, the numbers of rows, the model's fingerprint and the options. The manifest is renamed
// to this name last, so that a shard is either complete or missing. A run skips complete shards.
// For a shard that cannot be read, OUT/NAME.failed.json has the reason, and there are no results.
//
// # Many machines
//
// Any number of processes may work on one folder that they share, without a coordinator. A process
// claims a shard by creating OUT/NAME.claim.0, which only one process can do, and rewrites this
// file every [Options.Stale]/4. If another process has seen a claim unchanged for Stale, by its own
// clock, the claim is stale: the process that creates NAME.claim.1 then works on the shard, and so
// on. On the same machine a claim is stale as soon as its process has ended. A process that has
// lost its claim does not publish results, except if it resumes at that very moment: then both
// processes publish the same bytes.
//
// # Bytes
//
// A pipeline computes the same bits for a text, whatever other texts are in its batch. Therefore
// results depend neither on the order of shards nor on threads, chunks or interruptions. The
// exception is a pipeline opened with PromptFormat of models.Options.
//
// This package is settling: see doc/stability.md.
package bulk
