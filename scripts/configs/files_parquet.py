#!/usr/bin/env python3
"""Compares what bulk passes on of drawn Parquet files and Arrow streams with what pyarrow reads of them (DuckDB, where pyarrow refuses
what DuckDB wrote).

    files_parquet.py [-n COUNT] [-seed SEED] [-show N] [-log FILE] [-writers pyarrow,polars,duckdb,streams]

Each of COUNT files draws a writer, a table (types, nulls, how often values repeat), and the writer's options: codec, version of pages,
sizes of pages, groups and dictionaries, encodings, statistics. bulk passes all flat columns on to JSON lines, Parquet or Arrow, with a
task that repeats the text; every value, its type's unit and zone included, must be pyarrow's. The last line counts files and values."""

import argparse
import base64
import collections
import datetime
import decimal
import json
import math
import os
import random
import shutil
import struct
import sys
import tempfile
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

import drawn

CODECS = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]
INTS = {pa.int8(): (-128, 127), pa.int16(): (-(2**15), 2**15 - 1), pa.int32(): (-(2**31), 2**31 - 1), pa.int64(): (-(2**63), 2**63 - 1), pa.uint8(): (0, 255), pa.uint16(): (0, 2**16 - 1), pa.uint32(): (0, 2**32 - 1), pa.uint64(): (0, 2**64 - 1)}
FLOATS = {pa.float16(): "e", pa.float32(): "f", pa.float64(): "d"}
WORDS = "the cat reads a long letter and nobody forgets Straße 東京 😀 \"quoted\" \\ \t".split(" ") + ["", "a" * 300, "line\nline", "\u2028", "\x7f"]


def types():
    return (
        [*INTS, *FLOATS, pa.bool_(), pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view(), pa.binary(5), pa.date32(), pa.date64(), pa.uuid(), pa.null()]
        + [pa.decimal32(7, 2), pa.decimal64(15, 4), pa.decimal128(5, 2), pa.decimal128(18, 0), pa.decimal128(38, 10), pa.decimal256(60, 20)]
        + [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]
        + [pa.timestamp(u, tz) for u in ("s", "ms", "us", "ns") for tz in (None, "UTC", "Europe/Berlin")]
        + [pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.string())]
    )


def one(rng, t):
    """A value of a type, as pyarrow takes it; times are numbers, which cast makes times."""
    if t in INTS:
        low, high = INTS[t]
        return rng.choice([low, high, 0, 1, rng.randint(low, high), max(low, min(high, rng.randint(-100, 100)))])
    if t in FLOATS:
        size = {"e": 2, "f": 4, "d": 8}[FLOATS[t]]
        v = rng.choice([0.0, -0.0, 1.5, float("nan"), float("inf"), -float("inf"), struct.unpack("<" + FLOATS[t], rng.randbytes(size))[0], rng.random()])
        return np.float16(v) if t == pa.float16() else v
    if pa.types.is_boolean(t):
        return rng.random() < 0.5
    if pa.types.is_fixed_size_binary(t):
        return rng.randbytes(t.byte_width)
    if pa.types.is_binary(t) or t == pa.binary_view():
        return rng.randbytes(rng.randint(0, 12))
    if pa.types.is_decimal(t):
        v = rng.choice([0, 1, -1, 10**t.precision - 1, -(10**t.precision) + 1, rng.randint(-(10**t.precision) + 1, 10**t.precision - 1)])
        return decimal.Decimal(v).scaleb(-t.scale, decimal.Context(prec=80))
    if isinstance(t, pa.UuidType):
        return rng.randbytes(16)
    if pa.types.is_date32(t):
        return rng.choice([0, -1, 19782, rng.randint(-700000, 2900000)])
    if pa.types.is_date64(t):
        return 86400000 * rng.choice([0, -1, 19782, rng.randint(-100000, 900000)])
    if pa.types.is_time(t):
        day = 86400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[t.unit]
        return rng.choice([0, day - 1, rng.randrange(day)])
    if pa.types.is_timestamp(t):
        second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[t.unit]
        return rng.choice([0, -1, 1700000000 * second + 120, rng.randint(-9 * 10**9 * second, 9 * 10**9 * second)])
    return " ".join(rng.choice(WORDS) for _ in range(rng.choice([0, 1, 3, 8])))


def column(rng, t, n):
    """n values of a type: all others, few others, runs, one, or sorted; with nulls."""
    if pa.types.is_null(t):
        return pa.nulls(n)
    shape = rng.choice(["other", "other", "few", "runs", "constant", "sorted", "late"])
    if shape in ("few", "runs", "constant"):
        few = [one(rng, t) for _ in range({"few": rng.choice([2, 5, 40]), "runs": 3, "constant": 1}[shape])]
        values = []
        while len(values) < n:
            values += [rng.choice(few)] * (1 if shape == "few" else rng.choice([1, 8, 37, 200]))
        values = values[:n]
    elif shape == "late":  # repeats at first: a dictionary that is given up
        few = [one(rng, t) for _ in range(3)]
        values = [rng.choice(few) if i < n // 2 else one(rng, t) for i in range(n)]
    else:
        values = [one(rng, t) for _ in range(n)]
        if shape == "sorted":
            try:
                values.sort()
            except TypeError:
                pass
    nulls = rng.choice([0, 0, 0.05, 0.5, 0.97, 1])
    at = rng.random()
    for i in range(n):
        if rng.random() < nulls and (nulls in (0.05, 1) or (i * 7 // max(n, 1) % 2 == 0) == (at < 0.5) or rng.random() < 0.3):
            values[i] = None
    if pa.types.is_dictionary(t):
        return pa.array(values, pa.string()).dictionary_encode().cast(t) if len(set(values)) < 100 else pa.array(values, pa.string())
    if pa.types.is_date(t) or pa.types.is_time(t) or pa.types.is_timestamp(t):
        return pa.array(values, pa.int64()).cast(pa.int32() if t.bit_width == 32 else pa.int64()).cast(t)
    if isinstance(t, pa.UuidType):
        return pa.ExtensionArray.from_storage(t, pa.array(values, pa.binary(16)))
    return pa.array(values, t)


def nested(rng, n):
    kind = rng.choice(["list", "struct", "map"])
    if kind == "list":
        return pa.array([None if rng.random() < 0.1 else [rng.randint(0, 9) for _ in range(rng.randint(0, 4))] for _ in range(n)], pa.list_(pa.int32()))
    if kind == "struct":
        return pa.array([None if rng.random() < 0.1 else {"a": rng.randint(0, 9), "text": "x"} for _ in range(n)], pa.struct([("a", pa.int64()), ("text", pa.string())]))
    return pa.array([[("k", rng.randint(0, 9))] for _ in range(n)], pa.map_(pa.string(), pa.int64()))


def table(rng, of):
    n = rng.choice([0, 1, 2, 7, 16, 100, 100, 1000, 1000, 4000])
    texts = rng.choice([pa.string(), pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()), pa.binary()])
    column_of = column(rng, pa.string() if texts == pa.binary() else texts, n)
    columns = [("text", column_of.cast(pa.binary()) if texts == pa.binary() else column_of)]
    for i in range(rng.randint(1, 6)):
        columns.append((f"c{i}", column(rng, rng.choice(of), n)))
    if rng.random() < 0.3:
        columns.append(("nested", nested(rng, n)))
    rng.shuffle(columns)
    return pa.table(dict(columns))


ENCODINGS = {"int": ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"], "float": ["PLAIN", "BYTE_STREAM_SPLIT"], "bytes": ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"], "fixed": ["PLAIN", "BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"], "bool": ["PLAIN", "RLE"]}


def encoding(rng, t):
    if t in INTS or pa.types.is_date(t) or pa.types.is_time(t) or pa.types.is_timestamp(t):
        return rng.choice(ENCODINGS["int"])
    if t in (pa.float32(), pa.float64()):
        return rng.choice(ENCODINGS["float"])
    if pa.types.is_boolean(t):
        return rng.choice(ENCODINGS["bool"])
    if t == pa.float16() or pa.types.is_fixed_size_binary(t) or isinstance(t, pa.UuidType):
        return rng.choice(["PLAIN", "BYTE_STREAM_SPLIT"])
    if t in (pa.string(), pa.large_string(), pa.binary(), pa.string_view(), pa.binary_view()):
        return rng.choice(ENCODINGS["bytes"])
    return "PLAIN"


def by_pyarrow(rng, t, path):
    o = {
        "compression": rng.choice(CODECS),
        "data_page_version": rng.choice(["1.0", "2.0"]),
        "row_group_size": rng.choice([None, 1 << 20, 100, 37]),
        "data_page_size": rng.choice([None, 200, 5000]),
        "write_batch_size": rng.choice([None, 8, 64]),
        "max_rows_per_page": rng.choice([None, 20, 1000]),
        "dictionary_pagesize_limit": rng.choice([None, None, 64, 1000]),
        "write_statistics": rng.random() < 0.5,
        "write_page_index": rng.random() < 0.3,
        "write_page_checksum": rng.random() < 0.2,
        "store_schema": rng.random() < 0.8,
        "version": rng.choice(["1.0", "2.4", "2.6"]),
        "store_decimal_as_integer": rng.random() < 0.3,
        "use_compliant_nested_type": rng.random() < 0.8,
    }
    kind = rng.choice(["dictionary", "plain", "encodings", "encodings", "some"])
    if kind == "plain":
        o["use_dictionary"] = False
    elif kind == "encodings":
        o["use_dictionary"] = False
        o["column_encoding"] = {f.name: encoding(rng, f.type) for f in t.schema if f.name != "nested" and not pa.types.is_dictionary(f.type) and not pa.types.is_decimal(f.type) and not pa.types.is_null(f.type)}
    elif kind == "some":
        o["use_dictionary"] = [f.name for f in t.schema if rng.random() < 0.5 and f.name != "nested" and not pa.types.is_boolean(f.type)]
    if rng.random() < 0.1:
        o["use_deprecated_int96_timestamps"] = True
    if rng.random() < 0.1:
        o["coerce_timestamps"], o["allow_truncated_timestamps"] = rng.choice(["ms", "us"]), True
    o = {k: v for k, v in o.items() if v is not None}
    if rng.random() < 0.3:  # columns that have no nulls need not be optional
        t = t.cast(pa.schema([f.with_nullable(c.null_count > 0 or f.name == "nested" or pa.types.is_null(f.type)) for f, c in zip(t.schema, t.columns)]))
    try:
        pq.write_table(t, path, **o)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as e:
        return ("refused", str(e)[:200], o)
    return ("pyarrow", o)


def by_polars(rng, t, path):
    import polars as pl

    o = {"compression": {"none": "uncompressed"}.get(c := rng.choice(CODECS), c), "statistics": rng.choice([True, False, "full"]), "row_group_size": rng.choice([None, 100, 1000]), "data_page_size": rng.choice([None, 500, 10000])}
    try:
        frame = pl.from_arrow(t)
        frame.write_parquet(path, **{k: v for k, v in o.items() if v is not None})
    except (Exception, pl.exceptions.PanicException) as e:
        return ("refused", str(e)[:200], o)
    return ("polars", o)


def by_duckdb(rng, t, path):
    import duckdb

    o = {"COMPRESSION": {"none": "uncompressed", "lz4": "lz4_raw"}.get(c := rng.choice(CODECS), c), "PARQUET_VERSION": rng.choice(["V1", "V2"]), "ROW_GROUP_SIZE": rng.choice([122880, 2048])}
    if rng.random() < 0.5:
        o["DICTIONARY_SIZE_LIMIT"] = rng.choice([1, 10, 1000])
    try:
        with duckdb.connect() as db:
            db.register("t", t)
            db.sql(f"COPY t TO '{path}' (FORMAT parquet, {', '.join(f'{k} {v}' for k, v in o.items())})")
    except Exception as e:
        return ("refused", str(e)[:200], o)
    return ("duckdb", o)


def stream_of(rng, t, path):
    """An Arrow stream of one or several batches, as pyarrow or polars writes it."""
    if rng.random() < 0.4:
        import polars as pl

        o = {"compression": rng.choice(["uncompressed", "lz4", "zstd"]), "compat_level": rng.choice([None, pl.CompatLevel.oldest(), pl.CompatLevel.newest()])}
        try:
            pl.from_arrow(t).write_ipc_stream(path, **o)
        except (Exception, pl.exceptions.PanicException) as e:
            return ("refused", str(e)[:200], o)
        return ("polars stream", {k: str(v) for k, v in o.items()})
    o = {"compression": rng.choice([None, "lz4", "zstd"]), "emit_dictionary_deltas": rng.random() < 0.5}
    columns = []
    for f, c in zip(t.schema, t.columns):
        if rng.random() < 0.3 and (f.type in (pa.string(), pa.large_string(), pa.string_view(), pa.bool_()) or f.type in INTS) and f.type != pa.string_view():
            c = pa.chunked_array([pa.compute.run_end_encode(c.combine_chunks(), run_end_type=rng.choice([pa.int16(), pa.int32(), pa.int64()]))])
        columns.append(c)
    t = pa.table(dict(zip(t.column_names, columns)))
    with pa.OSFile(path, "wb") as f, pa.ipc.new_stream(f, t.schema, options=pa.ipc.IpcWriteOptions(**o)) as w:
        size = rng.choice([10, 100, 10000])
        for b in t.to_batches(max_chunksize=size):
            w.write_batch(b)
    return ("pyarrow stream", o)


BY = {"pyarrow": by_pyarrow, "polars": by_polars, "duckdb": by_duckdb, "streams": stream_of}


def bits(v, t):
    """What must be equal: floats to the bit, but for what NaN says."""
    if isinstance(v, float) or isinstance(v, np.floating):
        return "nan" if math.isnan(v) else struct.pack("<d", float(v))
    return v


def plain(c):
    """The values of a column: times and the like as their numbers, which have no limits of years."""
    t = c.type
    if isinstance(c, pa.ChunkedArray):
        return [v for chunk in c.chunks for v in plain(chunk)]
    if pa.types.is_run_end_encoded(t):
        return plain(pa.compute.run_end_decode(c))
    if pa.types.is_dictionary(t):
        values = plain(c.dictionary)
        return [None if i is None else values[i] for i in c.indices.to_pylist()]
    if isinstance(t, pa.BaseExtensionType):
        return plain(c.storage)
    if pa.types.is_date64(t):
        return [None if v is None else v // 86400000 for v in c.cast(pa.int64()).to_pylist()]
    if pa.types.is_date32(t) or pa.types.is_time32(t):
        return c.cast(pa.int32()).to_pylist()
    if pa.types.is_timestamp(t) or pa.types.is_time64(t):
        return c.cast(pa.int64()).to_pylist()
    return [bits(v, t) for v in c.to_pylist()]


def decoded(c):
    """Texts, which may be bytes of UTF-8."""
    return [v.decode() if isinstance(v, bytes) else v for v in plain(c)]


def iso(t, v):
    """A time or moment after ISO 8601, from its number."""
    if pa.types.is_date(t):
        return (datetime.date(1970, 1, 1) + datetime.timedelta(days=v)).isoformat()
    second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[t.unit]
    whole, part = divmod(v, second)
    digits = f".{part:0{len(str(second)) - 1}d}".rstrip("0") if part else ""
    if pa.types.is_time(t):
        return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}{digits}"
    day = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=whole)
    return day.isoformat(timespec="seconds") + digits + ("Z" if t.tz else "")


def expected_json(c):
    t = c.type
    out = []
    for v in plain(c):
        if v is None or v == "nan":
            out.append(None)
        elif isinstance(t, pa.UuidType):
            out.append(str(uuid.UUID(bytes=v)))
        elif pa.types.is_date(t) or pa.types.is_time(t) or pa.types.is_timestamp(t):
            out.append(iso(t, v))
        elif pa.types.is_decimal(t):
            out.append(f"{v:f}")
        elif t in FLOATS:
            v = struct.unpack("<d", v)[0]
            out.append(None if math.isinf(v) else struct.pack("<d", v))
        elif isinstance(v, bytes):
            out.append(base64.b64encode(v).decode())
        else:
            out.append(v)
    return out


def same_type(want, got):
    """Whether a column that is passed on has the type that it had, or the one that README promises for it."""
    if pa.types.is_dictionary(want):
        want = want.value_type
    wider = {pa.int8(): pa.int32(), pa.int16(): pa.int32(), pa.uint8(): pa.int32(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.float16(): pa.float32(), pa.null(): pa.string(), pa.date64(): pa.date32()}
    want = wider.get(want, want)
    if want in (pa.large_string(), pa.string_view()):
        want = pa.string()
    if want in (pa.large_binary(), pa.binary_view()) or pa.types.is_fixed_size_binary(want):
        want = pa.binary()
    if pa.types.is_decimal(want):
        return pa.types.is_decimal(got) and (got.precision, got.scale) == (want.precision, want.scale)
    if pa.types.is_timestamp(want):
        units = {"s": "ms"}
        return pa.types.is_timestamp(got) and got.tz == want.tz and got.unit == units.get(want.unit, want.unit)
    if pa.types.is_time(want):
        return pa.types.is_time(got) and got.unit == {"s": "ms"}.get(want.unit, want.unit)
    return got == want


def scale(want, got, values):
    """Values in the unit that a column was passed on with: Parquet has no seconds."""
    if (pa.types.is_timestamp(want) or pa.types.is_time(want)) and want.unit == "s" and got.unit == "ms":
        return [None if v is None else 1000 * v for v in values]
    return values


def first(want, got):
    if len(want) != len(got):
        return f"{len(got)} values, want {len(want)}"
    for i, (w, g) in enumerate(zip(want, got)):
        if w != g or isinstance(w, bool) != isinstance(g, bool):
            return f"value {i} is {g!r}, want {w!r}"
    return None


class Case:
    def __init__(self, server, root):
        self.server, self.root = server, root

    def stream(self, rng, path):
        want = pa.ipc.open_stream(path).read_all()
        out = os.path.join(self.root, "out.arrows")
        ours = self.server.ask(json.dumps({"path": path, "out": out, "field": "text", "stream": True}))
        if ours.get("crashed") or ours["refused"]:
            return 0, "refused: " + (ours.get("crashed") or ours["refused"])
        got = pa.ipc.open_stream(out).read_all()
        values = 0
        for name in want.column_names:
            if got.schema.field(name).type != want.schema.field(name).type:
                return values, f"{name} is {got.schema.field(name).type}, was {want.schema.field(name).type}"
            w, g = want[name], got[name]
            if pa.types.is_nested(w.type) and not pa.types.is_run_end_encoded(w.type):
                wrong = first(w.to_pylist(), g.to_pylist())
            else:
                wrong = first(plain(w), plain(g))
            if wrong:
                return values, f"{name} {w.type}: {wrong}"
            values += len(w)
        wrong = first(decoded(want["text"]), plain(got["echo"]))
        return values, wrong and "the text: " + wrong

    def file(self, rng, path):
        want, refused = read(path)
        names = [f.name for f in want.schema if f.name not in ("text", "nested")]
        shape = rng.choice(["jsonl", "parquet", "arrow"])
        out = os.path.join(self.root, "out")
        shutil.rmtree(out, ignore_errors=True)
        every = "nested" not in want.column_names and rng.random() < 0.5
        ours = self.server.ask(json.dumps({"path": path, "out": out, "format": shape, "field": "text", "pass": ["*"] if every else names}))
        if refused and ours["refused"].endswith("exceeds INT32 range") or refused and ours["refused"].endswith("exceeds decoder width 32"):
            return 0, "pyarrow too: " + ours["refused"]
        if ours.get("crashed") or ours["refused"]:
            return 0, "refused: " + (ours.get("crashed") or ours["refused"])
        texts = decoded(want["text"])
        kept = [i for i, v in enumerate(texts) if v is not None]
        if (ours["rows"], ours["dead"]) != (len(texts), len(texts) - len(kept)):
            return 0, f"{ours['rows']} rows, {ours['dead']} of them dead; want {len(texts)} and {len(texts) - len(kept)}"
        values = 0
        if shape == "jsonl":
            with open(ours["result"], encoding="utf-8", newline="\n") as f:  # Python reads -0 as the integer 0
                rows = [json.loads(line, parse_int=lambda v: -0.0 if v == "-0" else int(v)) for line in f.read().split("\n") if line]
            got = lambda name: [r[name] for r in rows]
        elif shape == "parquet":
            result = pq.read_table(ours["result"])
            got = lambda name: plain(result[name])
        else:
            result = pa.ipc.open_file(ours["result"]).read_all()
            got = lambda name: plain(result[name])
        wrong = first([texts[i] for i in kept], got("echo"))
        if wrong:
            return values, "the text: " + wrong
        for name in names:
            c = want[name]
            if shape == "jsonl":
                w, g = expected_json(c), got(name)
                if c.type in FLOATS:
                    single = (lambda v: v) if c.type == pa.float64() else (lambda v: float(np.float32(v)))
                    g = [None if v is None else struct.pack("<d", single(v)) for v in g]
            else:
                w, g = plain(c), got(name)
                if not same_type(c.type, result.schema.field(name).type):
                    return values, f"{name} is {result.schema.field(name).type}, was {c.type}"
                w = scale(c.type, result.schema.field(name).type, w)
            wrong = first([w[i] for i in kept], g)
            if wrong:
                return values, f"{name} {c.type} in {shape}: {wrong}"
            values += len(kept)
        return values + len(kept), None


def read(path):
    """What pyarrow reads of a file, or DuckDB where pyarrow refuses what DuckDB wrote, and whether it did."""
    try:
        return pq.read_table(path), False
    except OSError:
        import duckdb

        with duckdb.connect() as db:
            db.sql("SET TimeZone = 'UTC'")
            return db.sql(f"FROM '{path}'").to_arrow_table(), True


def sample():
    """A table of a column of each type, with nulls and extremes."""
    rng, n = random.Random(7), 16
    columns = {"text": pa.array([f"text {i}" if i % 5 else "東京 " * (i // 5) for i in range(n)])}
    for t in types():
        if pa.types.is_timestamp(t) and (t.tz == "UTC") != (t.unit in ("s", "ns")) and t.tz is not None:
            continue
        values = column(rng, t, n)
        keep = pa.array([i % 4 != 1 for i in range(n)])
        name = str(t).replace("<", "_").replace(">", "").replace(", ", "_").replace("=", "_").replace("/", "_").replace("[", "_").replace("]", "").replace("(", "_").replace(")", "").replace(" ", "")
        if isinstance(t, pa.UuidType):
            values = pa.ExtensionArray.from_storage(t, pa.compute.if_else(keep, values.storage, None))
        elif not pa.types.is_null(t) and not pa.types.is_dictionary(t) and t not in (pa.string_view(), pa.binary_view()):
            values = pa.compute.if_else(keep, values, pa.scalar(None, t))
        columns[name] = values
    columns["nested"] = nested(rng, n)
    return pa.table(columns)


def small(folder):
    """Writes the files that the tests of bulk read, and what pyarrow reads of them as JSON lines, a file for each writer."""
    import duckdb
    import fastparquet
    import pandas as pd
    import polars as pl

    os.makedirs(folder, exist_ok=True)
    t = sample()
    encodings = random.Random(3)
    for i, codec in enumerate(CODECS):
        for version in ("1.0", "2.0"):
            o = {"compression": codec, "data_page_version": version, "row_group_size": 11, "write_batch_size": 4, "max_rows_per_page": 6, "write_statistics": False}
            if i > 1 and i % 2 == int(version[0]) % 2:
                continue
            if (i + int(version[0])) % 3 != 0:  # else dictionaries
                o["use_dictionary"] = False
                o["column_encoding"] = {f.name: encoding(encodings, f.type) for f in t.schema if f.name != "nested" and not pa.types.is_dictionary(f.type) and not pa.types.is_decimal(f.type) and not pa.types.is_null(f.type)}
            pq.write_table(t, os.path.join(folder, f"pyarrow-{codec}-{version[0]}.parquet"), **o)
    other = t.drop_columns(["nested"] + [f.name for f in t.schema if pa.types.is_null(f.type) or pa.types.is_decimal256(f.type) or f.name.startswith("timestamp_s") or isinstance(f.type, pa.UuidType)])
    for codec in ("snappy", "zstd", "lz4"):
        pl.from_arrow(other).write_parquet(os.path.join(folder, f"polars-{codec}.parquet"), compression=codec, row_group_size=11, statistics=False)
    with duckdb.connect() as db:
        db.sql("SET TimeZone = 'UTC'")
        db.register("t", other.drop_columns([f.name for f in other.schema if f.type == pa.float16() or f.type == pa.date64()]))
        for codec, version in (("snappy", "V1"), ("zstd", "V2"), ("lz4_raw", "V2")):
            db.sql(f"COPY t TO '{folder}/duckdb-{codec}-{version}.parquet' (FORMAT parquet, COMPRESSION {codec}, PARQUET_VERSION {version})")
    # Pages long enough that a reader that mistakes LZ4 or runs of bits returns wrong values.
    n = 500
    wide = random.Random(0)
    letters = ["".join(wide.choice("abcdefghijklmnop") for _ in range(wide.randint(0, 12))) for _ in range(n)]
    runs = pa.table({"id": pa.array(range(n), pa.int64()), "yes": [i // 37 % 2 == 0 for i in range(n)], "text": letters})
    for codec, version in (("lz4", "1.0"), ("lz4", "2.0"), ("none", "2.0")):
        pq.write_table(runs, os.path.join(folder, f"runs-{codec}-{version[0]}.parquet"), compression=codec, data_page_version=version, use_dictionary=False, write_statistics=False)
    # The old codec LZ4, and types that are given only as ConvertedType.
    old = pd.DataFrame({"text": [f"text {i * i * i % 977}" for i in range(120)], "id": range(120), "yes": [i % 7 < 3 for i in range(120)]})
    fastparquet.write(os.path.join(folder, "fastparquet-LZ4.parquet"), old, compression="LZ4", object_encoding={"text": "utf8"})
    for writer in ("pyarrow", "polars", "duckdb", "runs", "fastparquet"):
        wanted = None
        for name in sorted(os.listdir(folder)):
            if name.startswith(writer + "-") and name.endswith(".parquet"):
                got, _ = read(os.path.join(folder, name))
                columns = {f.name: expected_json(got[f.name]) for f in got.schema if f.name != "nested"}
                floats = {f.name: f.type for f in got.schema if f.type in FLOATS}
                lines = [json.dumps({k: shown(v[i], floats.get(k)) for k, v in columns.items()}, ensure_ascii=False, separators=(",", ":")) for i in range(len(got))]
                assert wanted in (None, lines), name
                wanted = lines
        with open(os.path.join(folder, writer + ".jsonl"), "w", encoding="utf-8") as f:
            f.write("".join(line + "\n" for line in wanted))


def shown(v, t):
    """A value in the fewest digits: those of a float32 are not those of the same float64."""
    if t is None or v is None:
        return v
    v = struct.unpack("<d", v)[0]
    return v if t == pa.float64() else float(str(np.float32(v)))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-n", type=int, default=2000)
    p.add_argument("-seed", type=int, default=1)
    p.add_argument("-show", type=int, default=3, help="examples of what is listed")
    p.add_argument("-log", help="file for all cases")
    p.add_argument("-writers", default="pyarrow,pyarrow,pyarrow,polars,duckdb,streams")
    p.add_argument("-keep", help="folder for files that differ")
    p.add_argument("-small", help="folder for the files of bulk's tests; nothing is compared")
    a = p.parse_args()
    if a.small:
        return small(a.small)
    rng, of = random.Random(a.seed), types()
    log = open(a.log, "w") if a.log else None
    ends, values, listed = collections.Counter(), 0, collections.Counter()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as root:
        case = Case(drawn.Server("bulk"), root)
        for i in range(a.n):
            t, writer, path = table(rng, of), rng.choice(a.writers.split(",")), os.path.join(root, "in.parquet")
            how = BY[writer](rng, t, path)
            if how[0] == "refused":
                ends["their writer refuses"] += 1
                continue
            n, wrong = (case.stream if writer == "streams" else case.file)(rng, path)
            values += n
            end = "equal" if wrong is None else wrong.split(":")[0] if wrong.startswith(("refused", "pyarrow too")) else "differ"
            ends[end] += 1
            if log:
                print(json.dumps([i, end, str(how), wrong]), file=log, flush=True)
            if wrong and end != "pyarrow too":
                listed[drawn.reason(wrong)] += 1
                if listed[drawn.reason(wrong)] <= a.show:
                    print(f"{end}: file {i}, {how}, {t.num_rows} rows of {[str(f.type) for f in t.schema]}\n    {wrong[:400]}")
                if a.keep:
                    os.makedirs(a.keep, exist_ok=True)
                    shutil.copy(path, os.path.join(a.keep, f"{a.seed}-{i}.parquet"))
    files = ends["equal"] + ends["differ"] + ends["refused"]
    print(f"{ends['their writer refuses']} tables that their writer refuses, {ends['pyarrow too']} files that pyarrow refuses as bulk does, {ends['refused']} files that bulk refuses")
    print(f"{files} files, {values} values, {ends['differ']} differ")
    raise SystemExit(ends["differ"] > 0 or ends["refused"] > 0)


if __name__ == "__main__":
    main()
