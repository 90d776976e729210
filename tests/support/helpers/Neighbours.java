// Takes Curator's own locks when it is told to, for tests of zklock beside them.
//
// usage: java -cp ... Neighbours.java HOSTS, then lines on stdin:
//   take ID mutex|read|write|stepping|revocable PATH   prints "held ID" when it has it
//   step ID                                      "stepping" is a write lock: it becomes a read lock; "stepped ID"
//   give ID                                      prints "released ID"
//   revoke ID NODE                               asks whoever has that node to give up; "revoked ID"
// A "revocable" one that is asked to give up says "asked ID" and does.
// Ends with stdin.
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryOneTime;

public class Neighbours {
    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], 20_000, 20_000, new RetryOneTime(100));
        client.start();
        Map<String, CountDownLatch> awaited = new ConcurrentHashMap<>();
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().split(" ");
            if (words[0].equals("take")) {
                CountDownLatch given = new CountDownLatch(1), stepped = new CountDownLatch(1);
                awaited.put("give " + words[1], given);
                awaited.put("step " + words[1], stepped);
                // A lock of Curator's belongs to the thread that took it.
                Thread thread = new Thread(() -> hold(client, words[1], words[2], words[3], stepped, given));
                thread.setDaemon(true);
                thread.start();
            } else if (words[0].equals("revoke")) {
                Revoker.attemptRevoke(client, words[2]);
                System.out.println("revoked " + words[1]);
            } else {
                awaited.remove(words[0] + " " + words[1]).countDown();
            }
        }
        System.exit(0);
    }

    private static void hold(CuratorFramework client, String id, String kind, String path, CountDownLatch stepped,
            CountDownLatch given) {
        try {
            InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, path);
            InterProcessMutex lock = switch (kind) {
                case "mutex", "revocable" -> new InterProcessMutex(client, path);
                case "read" -> both.readLock();
                default -> both.writeLock();
            };
            if (kind.equals("revocable")) {
                lock.makeRevocable(asked -> {
                    System.out.println("asked " + id);
                    given.countDown();
                });
            }
            lock.acquire();
            System.out.println("held " + id);
            if (kind.equals("stepping")) {
                stepped.await();
                lock = both.readLock();
                lock.acquire();
                both.writeLock().release();
                System.out.println("stepped " + id);
            }
            given.await();
            lock.release();
            System.out.println("released " + id);
        } catch (Exception failure) {
            System.out.println("failed " + id + " " + failure);
        }
    }
}
