// Sets the counter from which a node numbers its children, in the data directory of a server that is not running.
//
// A server counts in the node's cversion, which it keeps in its snapshots: 2^31 creates are not needed.
//
// usage: java -cp ... WornCounter.java DATA-DIRECTORY PATH NUMBER
import java.io.File;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

public class WornCounter {
    public static void main(String[] args) throws Exception {
        FileTxnSnapLog files = new FileTxnSnapLog(new File(args[0]), new File(args[0]));
        DataTree tree = new DataTree();
        ConcurrentHashMap<Long, Integer> sessions = new ConcurrentHashMap<>();
        files.restore(tree, sessions, (header, record, digest) -> {});
        tree.getNode(args[1]).stat.setCversion(Integer.parseInt(args[2]));
        files.save(tree, sessions, true);
        files.close();
    }
}
