// Takes Curator's own locks when it is told to, for tests of zklock beside them.
//
// usage: java -cp ... Neighbours.java HOSTS SECONDS, with that session timeout, then lines on stdin:
//   take ID KIND PATH                            prints "held ID" when it has it
//     KIND is mutex, read, write, stepping, revocable, semaphore, semaphore-mutex or latch of Curator's, or
//     write-lock or election, the recipes that come with ZooKeeper
//   step ID                                      "stepping" is a write lock: it becomes a read lock; "stepped ID"
//   give ID                                      prints "released ID"
//   revoke ID NODE                               asks whoever has that node to give up; "revoked ID"
//   version ID                                   prints "version ID" and Curator's version
// A "revocable" one that is asked to give up says "asked ID" and does.
// Ends with stdin.
import java.util.Map;
import java.util.Properties;
import java.util.Scanner;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.leader.LeaderElectionSupport;
import org.apache.zookeeper.recipes.lock.WriteLock;

public class Neighbours {
    public static void main(String[] args) throws Exception {
        CuratorFramework client = connect(args);
        Map<String, CountDownLatch> awaited = new ConcurrentHashMap<>();
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().split(" ");
            if (words[0].equals("take")) {
                CountDownLatch given = new CountDownLatch(1), stepped = new CountDownLatch(1);
                awaited.put("give " + words[1], given);
                awaited.put("step " + words[1], stepped);
                // A lock of Curator's belongs to the thread that took it.
                Thread thread = new Thread(() -> hold(args, words[1], words[2], words[3], stepped, given));
                thread.setDaemon(true);
                thread.start();
            } else if (words[0].equals("revoke")) {
                Revoker.attemptRevoke(client, words[2]);
                System.out.println("revoked " + words[1]);
            } else if (words[0].equals("version")) {
                Properties properties = new Properties();
                properties.load(InterProcessMutex.class.getResourceAsStream(
                        "/META-INF/maven/org.apache.curator/curator-recipes/pom.properties"));
                System.out.println("version " + words[1] + " " + properties.getProperty("version"));
            } else {
                awaited.remove(words[0] + " " + words[1]).countDown();
            }
        }
        System.exit(0);
    }

    private static CuratorFramework connect(String[] args) {
        CuratorFramework client = CuratorFrameworkFactory.newClient(
                args[0], 1000 * Integer.parseInt(args[1]), 20_000, new RetryOneTime(100));
        client.start();
        return client;
    }

    // Each lock has a session of its own, so that the server shows the watch of each.
    private static void hold(String[] args, String id, String kind, String path, CountDownLatch stepped,
            CountDownLatch given) {
        try (CuratorFramework client = connect(args)) {
            if (holdWithoutQueue(client, id, kind, path, given)) {
                return;
            }
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

    // The recipes that zklock can't share a path with. False: it is none of them.
    private static boolean holdWithoutQueue(CuratorFramework client, String id, String kind, String path,
            CountDownLatch given) throws Exception {
        ZooKeeper zookeeper = client.getZookeeperClient().getZooKeeper();
        switch (kind) {
            case "semaphore" -> {
                InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, path, 2);
                Lease lease = semaphore.acquire();
                await(id, given);
                semaphore.returnLease(lease);
            }
            case "semaphore-mutex" -> {
                InterProcessSemaphoreMutex mutex = new InterProcessSemaphoreMutex(client, path);
                mutex.acquire();
                await(id, given);
                mutex.release();
            }
            case "latch" -> {
                LeaderLatch latch = new LeaderLatch(client, path, "latch-owner");
                latch.start();
                latch.await();
                await(id, given);
                latch.close();
            }
            case "write-lock" -> {
                WriteLock lock = new WriteLock(zookeeper, path, ZooDefs.Ids.OPEN_ACL_UNSAFE);
                lock.lock();
                await(id, given);
                lock.unlock();
            }
            case "election" -> {
                LeaderElectionSupport election = new LeaderElectionSupport();
                election.setZooKeeper(zookeeper);
                election.setRootNodeName(path);
                election.setHostName("election-owner");
                election.start();
                await(id, given);
                election.stop();
            }
            default -> {
                return false;
            }
        }
        System.out.println("released " + id);
        return true;
    }

    private static void await(String id, CountDownLatch given) throws InterruptedException {
        System.out.println("held " + id);
        given.await();
    }
}
