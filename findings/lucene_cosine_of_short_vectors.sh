#!/bin/bash
# Guess: the score of a vector by its cosine is at most 1 in Lucene, and does not depend on its length.
# Found: squares of the elements of a vector that is shorter than 1e-22 are 0 as float32, and its score is infinite: it is the best hit, ahead of the vector
# that equals the query. It needs Maven and Java 17 or later.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat > pom.xml <<'XML'
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>finding</groupId>
  <artifactId>finding</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.lucene</groupId><artifactId>lucene-core</artifactId><version>9.12.3</version></dependency>
  </dependencies>
</project>
XML
mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib > /dev/null
cat > Finding.java <<'JAVA'
import org.apache.lucene.document.*;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.util.Version;

public class Finding {
    public static void main(String[] args) throws Exception {
        float[][] rows = {{1, 0.5f}, {1e-20f, 0}, {1e-30f, 0}, {-1, 0}};
        ByteBuffersDirectory directory = new ByteBuffersDirectory();
        try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig())) {
            for (float[] row : rows) {
                Document document = new Document();
                document.add(new KnnFloatVectorField("v", row, VectorSimilarityFunction.COSINE));
                writer.addDocument(document);
            }
        }
        ScoreDoc[] hits = new IndexSearcher(DirectoryReader.open(directory)).search(new KnnFloatVectorQuery("v", new float[] {1, 0.5f}, 4), 4).scoreDocs;
        for (ScoreDoc hit : hits) {
            System.out.println("Lucene " + Version.LATEST + " score of (" + rows[hit.doc][0] + ", " + rows[hit.doc][1] + ") for (1, 0.5): " + hit.score);
        }
        if (!(hits[0].score > 1)) {
            System.out.println("the behaviour has changed");
            System.exit(1);
        }
    }
}
JAVA
java -cp 'lib/*' Finding.java
