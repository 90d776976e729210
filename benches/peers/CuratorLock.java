// Runs a command under Curator's InterProcessMutex. Usage: CuratorLock HOSTS PATH COMMAND...
import java.util.Arrays;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

public class CuratorLock {
    public static void main(String[] args) throws Exception {
        int code;
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], 30_000, 10_000, new RetryOneTime(100))) {
            client.start();
            InterProcessMutex lock = new InterProcessMutex(client, args[1]);
            lock.acquire();
            try {
                String[] command = Arrays.copyOfRange(args, 2, args.length);
                code = new ProcessBuilder(command).inheritIO().start().waitFor();
            } finally {
                lock.release();
            }
        }
        System.exit(code);
    }
}
