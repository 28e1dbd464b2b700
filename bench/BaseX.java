import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import org.basex.core.Context;
import org.basex.core.cmd.CreateDB;
import org.basex.core.cmd.DropDB;
import org.basex.core.cmd.Set;
import org.basex.io.serial.Serializer;
import org.basex.query.QueryProcessor;
import org.basex.query.iter.Iter;
import org.basex.query.value.item.Item;

/**
 * Runs a query with BaseX as bench.peers does with the others: java -cp basex.jar:… BaseX QUERY WARM DOCUMENT ANSWER
 * [TIMES]. Each run reads the file into memory anew, as a query on a file does. Prints a line of JSON for each run.
 */
public final class BaseX {
  private static final com.sun.management.OperatingSystemMXBean SYSTEM =
      (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  public static void main(final String[] args) throws Exception {
    final String query = Files.readString(Path.of(args[0]));
    final int times = args.length > 4 ? Integer.parseInt(args[4]) : 1;
    final Context context = new Context();
    new Set("MAINMEM", true).execute(context);
    new Set("SERIALIZER", "method=xml,indent=no,omit-xml-declaration=yes").execute(context);
    run(context, query, args[1], args[3]);
    double spent = 0;
    for (int time = 0; time < times && (time == 0 || spent < 2); time++) {
      final double[] cost = run(context, query, args[2], args[3]);
      System.out.printf("{\"cpu\": %f, \"wall\": %f, \"first\": %f}%n", cost[0], cost[1], cost[2]);
      System.out.flush();
      spent += cost[0];
    }
    System.exit(0);
  }

  private static double[] run(final Context context, final String query, final String document, final String answer)
      throws Exception {
    final long cpu = SYSTEM.getProcessCpuTime(), began = System.nanoTime();
    long first = 0;
    new CreateDB("bench", document).execute(context);
    try (QueryProcessor processor = new QueryProcessor(query, context);
        OutputStream out = new BufferedOutputStream(new FileOutputStream(answer))) {
      try (Serializer serializer = processor.serializer(out)) {
        final Iter items = processor.iter();
        for (Item item; (item = items.next()) != null;) {
          serializer.serialize(item);
          if (first == 0) first = System.nanoTime() - began;
        }
      }
    }
    final long wall = System.nanoTime() - began;
    final double[] cost = {(SYSTEM.getProcessCpuTime() - cpu) / 1e9, wall / 1e9, (first == 0 ? wall : first) / 1e9};
    new DropDB("bench").execute(context);
    return cost;
  }
}
