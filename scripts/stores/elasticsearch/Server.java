// Starts Elasticsearch from its jars, with a module for HTTP, in a folder that has config and modules: java Server.java HOME PORT

import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

public class Server {
    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]);
        LogConfigurator.configureESLogging();
        Settings settings = Settings.builder()
            .put("path.home", home.toString())
            .put("node.name", "stores")
            .put("discovery.type", "single-node")
            .put("http.port", args[1])
            .put("transport.port", "0")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        Environment environment = new Environment(settings, home.resolve("config"));
        PluginsLoader modules = PluginsLoader.createPluginsLoader(PluginsLoader.loadModulesBundles(environment.modulesDir(), false), Set.of(), Map.of(), false);
        new Node(environment, modules).start();
        System.out.println("started");
        Thread.currentThread().join();
    }
}
