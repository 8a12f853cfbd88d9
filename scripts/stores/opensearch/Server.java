// Starts OpenSearch from its jars, with the plugins for HTTP and k-NN, in a folder that has config: java Server.java HOME PORT

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.knn.plugin.KNNPlugin;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

public class Server {
    static class WithPlugins extends Node {
        WithPlugins(Path home, Settings settings) {
            super(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), home.resolve("config"), () -> "stores"), List.of(Netty4Plugin.class, KNNPlugin.class), true);
        }
    }

    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]);
        Settings settings = Settings.builder()
            .put("path.home", home.toString())
            .put("node.name", "stores")
            .put("discovery.type", "single-node")
            .put("http.port", args[1])
            .put("transport.port", "0")
            .put("http.type", "netty4")
            .put("transport.type", "netty4")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        new WithPlugins(home, settings).start();
        System.out.println("started");
        Thread.currentThread().join();
    }
}
