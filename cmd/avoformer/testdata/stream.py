"""Sends record batches and reads each answer before the next: python stream.py VECTORS, which are CSV."""
import sys

import numpy as np
import pyarrow as pa

want = np.array([[float(x) for x in line.split(",")] for line in sys.argv[1].splitlines()], dtype=np.float32)
schema = pa.schema([("id", pa.int64()), ("words", pa.string())])
batches = [{"id": [1, 2], "words": ["the cat reads", None]}, {"id": [3, 4], "words": ["", "Paris"]}]
to, answers, vectors = pa.ipc.new_stream(sys.stdout.buffer, schema), None, []
for batch in batches:
    to.write_batch(pa.RecordBatch.from_pydict(batch, schema=schema))
    sys.stdout.buffer.flush()
    answers = answers or pa.ipc.open_stream(sys.stdin.buffer)
    got = answers.read_next_batch().to_pydict()
    assert got["id"] == batch["id"] and got["words"] == batch["words"], got
    assert got["error"] == ["no text: null" if w is None else None for w in batch["words"]], got
    vectors += [v for v in got["embedding"] if v is not None]
to.close()
sys.stdout.buffer.close()
assert np.abs(np.array(vectors, dtype=np.float32) - want).max() < 1e-6, (vectors, want)
