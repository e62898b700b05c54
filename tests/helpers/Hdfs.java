import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A name node and one data node on loopback, until the process is ended. The argument is their folder. */
public class Hdfs {
    public static void main(String[] arguments) throws Exception {
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(new Configuration(), new File(arguments[0])).numDataNodes(1).build();
        cluster.waitActive();
        System.out.println("ready " + cluster.getURI());
        Thread.sleep(Long.MAX_VALUE);
    }
}
