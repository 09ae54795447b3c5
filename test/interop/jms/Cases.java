package interop;

import java.util.ArrayList;
import java.util.List;

/** The cases of the program in the order of the transcript. */
final class Cases {

   interface Body {
      void run(Case c) throws Exception;
   }

   record Entry(String name, Body body) {
   }

   private final List<Entry> entries = new ArrayList<>();

   /** Adds a case; its name is also the prefix of every destination it uses. */
   void add(String name, Body body) {
      entries.add(new Entry(name, body));
   }

   List<Entry> entries() {
      return entries;
   }

   static Cases all() {
      Cases cases = new Cases();
      Messages.addTo(cases);
      Acknowledgement.addTo(cases);
      Selectors.addTo(cases);
      Browsing.addTo(cases);
      TemporaryDestinations.addTo(cases);
      Subscriptions.addTo(cases);
      Transactions.addTo(cases);
      Branches.addTo(cases);
      Expiry.addTo(cases);
      DeadLetters.addTo(cases);
      Ordering.addTo(cases);
      Scheduling.addTo(cases);
      Duplicates.addTo(cases);
      LargeMessages.addTo(cases);
      QueueAttributes.addTo(cases);
      FlowControl.addTo(cases);
      Reattachment.addTo(cases);
      Refusals.addTo(cases);
      CoreSessions.addTo(cases);
      Management.addTo(cases);
      return cases;
   }
}
