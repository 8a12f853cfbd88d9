#!/bin/bash
# Guess: k-NN scores of OpenSearch by cosinesimil are (1 + cosine) / 2 for vectors of floats and of bytes, in the index and in a script of knn_score.
# Found: for vectors of bytes the script gives 1 + cosine, twice the score of the index. It needs Maven and Java 17 or later.
set -euo pipefail
dir=$(mktemp -d)
trap 'kill ${server:-} 2> /dev/null || true; rm -rf "$dir"' EXIT
cd "$dir"
cat > pom.xml <<'XML'
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>finding</groupId>
  <artifactId>finding</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>org.opensearch</groupId><artifactId>opensearch</artifactId><version>2.19.1</version></dependency>
    <dependency><groupId>org.opensearch.plugin</groupId><artifactId>transport-netty4-client</artifactId><version>2.19.1</version></dependency>
    <dependency><groupId>org.opensearch.plugin</groupId><artifactId>opensearch-knn</artifactId><version>2.19.1.0</version><type>zip</type></dependency>
    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-core</artifactId><version>2.21.0</version></dependency>
  </dependencies>
</project>
XML
mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib > /dev/null
python3 -m zipfile -e lib/opensearch-knn-2.19.1.0.zip knn
mkdir -p home/config
cat > Server.java <<'JAVA'
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.node.*;

public class Server extends Node {
    Server(Path home, Settings s) {
        super(InternalSettingsPreparer.prepareEnvironment(s, Map.of(), home.resolve("config"), () -> "n"), List.of(org.opensearch.transport.Netty4Plugin.class, org.opensearch.knn.plugin.KNNPlugin.class), true);
    }

    public static void main(String[] args) throws Exception {
        Path home = Path.of("home");
        new Server(home, Settings.builder().put("path.home", home.toString()).put("discovery.type", "single-node").put("http.port", args[0]).put("transport.port", "0")
            .put("http.type", "netty4").put("transport.type", "netty4").put("cluster.routing.allocation.disk.threshold_enabled", false).build()).start();
        System.out.println("started");
        Thread.currentThread().join();
    }
}
JAVA
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
java -Xmx512m -cp 'lib/*:knn/*' Server.java "$port" > log 2>&1 &
server=$!
for _ in $(seq 120); do
	grep -q started log && break
	sleep 1
done
python3 - "http://127.0.0.1:$port" <<'PY'
import json
import sys
import urllib.request

def ask(method, path, body=None):
    data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(sys.argv[1] + path, data, {"Content-Type": "application/json"}, method=method)) as f:
        return json.load(f)

version = ask("GET", "/")["version"]["number"]
rows, query = [[100, 50], [50, -100], [-100, -50]], [100, 50]  # cosines 1, 0 and -1
scores = {}
for kind in ("float", "byte"):
    method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
    ask("PUT", "/" + kind, {"settings": {"index.knn": True}, "mappings": {"properties": {"v": {"type": "knn_vector", "dimension": 2, "data_type": kind, "method": method}}}})
    ask("POST", f"/{kind}/_bulk?refresh=true", "".join(f'{{"index": {{"_id": "{i}"}}}}\n{{"v": {row}}}\n' for i, row in enumerate(rows)))
    script = {"lang": "knn", "source": "knn_score", "params": {"field": "v", "query_value": query, "space_type": "cosinesimil"}}
    for way, search in (("index", {"knn": {"v": {"vector": query, "k": 3}}}), ("script", {"script_score": {"query": {"match_all": {}}, "script": script}})):
        scores[kind, way] = [hit["_score"] for hit in ask("POST", f"/{kind}/_search", {"query": search})["hits"]["hits"]]
        print("OpenSearch", version, kind, "by the", way, "scores of cosines 1, 0, -1:", scores[kind, way])
if scores["byte", "script"] == scores["byte", "index"]:
    raise SystemExit("the behaviour has changed")
PY
