package interop;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Runs the cases against a broker and prints the transcript: lines "case NAME: KEY=VALUE", nothing that differs
 * between two runs against a broker that behaves the same.
 *
 * <pre>Main HOST PORT USER PASSWORD [PREFIX]      only cases whose name starts with PREFIX</pre>
 */
public final class Main {

   /** Most cases wait more than they work, so several share the machine. */
   private static final int WORKERS = 8;

   public static void main(String[] args) throws Exception {
      Broker broker = new Broker(args[0], Integer.parseInt(args[1]), args[2], args[3]);
      String prefix = args.length > 4 ? args[4] : "";
      PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);

      ExecutorService workers = Executors.newFixedThreadPool(WORKERS);
      List<Future<List<String>>> running = new ArrayList<>();
      for (Cases.Entry entry : Cases.all().entries()) {
         if (entry.name().startsWith(prefix)) {
            running.add(workers.submit(() -> Case.run(broker, entry)));
         }
      }
      for (Future<List<String>> transcript : running) {
         transcript.get().forEach(out::println);
         out.flush();
      }
      workers.shutdown();
      // Clients of cut connections may still be trying to reconnect; nothing they do matters any more.
      System.exit(0);
   }

   private Main() {
   }
}
