package interop;

import java.nio.charset.StandardCharsets;

import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.TextMessage;

import org.apache.activemq.artemis.jms.client.ActiveMQMessage;

/** Duplicate detection by _AMQ_DUPL_ID. */
final class Duplicates {

   private static final String ID = "_AMQ_DUPL_ID";

   static void addTo(Cases cases) {
      cases.add("duplicate.text", Duplicates::text);
      cases.add("duplicate.bytes", Duplicates::bytes);
      cases.add("duplicate.transaction", Duplicates::transaction);
      cases.add("duplicate.topic", Duplicates::topic);
      cases.add("duplicate.addresses", Duplicates::addresses);
      cases.add("settings.idcache", Duplicates::cache);
   }

   private static void sendWith(Session session, javax.jms.Destination destination, String id, String text) throws Exception {
      try (MessageProducer producer = session.createProducer(destination)) {
         TextMessage m = session.createTextMessage(text);
         m.setStringProperty(ID, id);
         producer.send(m);
      }
   }

   private static void text(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      for (String id : new String[] {"x", "y", "x", "z", "y"}) {
         sendWith(session, queue, id, id);
      }
      try (MessageConsumer consumer = session.createConsumer(queue)) {
         c.fact("received", c.drain(consumer));
         c.fact("left", c.count(c.named("q")));
      }
      c.eventually("left after close", 0L, () -> c.count(c.named("q")));
      sendWith(session, queue, "x", "x");
      c.fact("sent once more after it was consumed", c.drain(session.createConsumer(queue)));
   }

   /** A text id is the bytes of its UTF-16LE form. */
   private static void bytes(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      sendWith(session, queue, "x", "text");
      for (byte[] id : new byte[][] {"x".getBytes(StandardCharsets.UTF_16LE), {1}, {1}, {1, 0}}) {
         try (MessageProducer producer = session.createProducer(queue)) {
            TextMessage m = session.createTextMessage(Case.show(id));
            ((ActiveMQMessage) m).getCoreMessage().putBytesProperty(ID, id);
            producer.send(m);
         }
      }
      c.fact("received", c.drain(session.createConsumer(queue)));
   }

   private static void transaction(Case c) throws Exception {
      Session session = c.connect().createSession(true, Session.SESSION_TRANSACTED);
      Queue queue = c.queue(session, "q");
      sendWith(session, queue, "a", "a");
      session.commit();
      sendWith(session, queue, "b", "with a duplicate");
      sendWith(session, queue, "a", "duplicate");
      c.thrown("commit with a duplicate", session::commit);
      c.fact("count", c.count(c.named("q")));
      session.rollback();
      sendWith(session, queue, "b", "id that was never committed");
      session.commit();
      sendWith(session, queue, "r", "rolled back");
      session.rollback();
      sendWith(session, queue, "r", "id that was rolled back");
      session.commit();
      sendWith(session, queue, "t", "first in a transaction");
      sendWith(session, queue, "t", "second in the same");
      c.thrown("commit with the same id twice", session::commit);
      Session reader = c.session();
      c.fact("received", c.drain(reader.createConsumer(queue)));
   }

   private static void topic(Case c) throws Exception {
      Session session = c.session();
      MessageConsumer one = session.createConsumer(c.topic(session, "t"));
      MessageConsumer other = session.createConsumer(c.topic(session, "t"));
      for (String id : new String[] {"x", "y", "x"}) {
         sendWith(session, c.topic(session, "t"), id, id);
      }
      c.fact("one", c.drain(one));
      c.fact("other", c.drain(other));
   }

   private static void addresses(Case c) throws Exception {
      Session session = c.session();
      sendWith(session, c.queue(session, "one"), "x", "x");
      sendWith(session, c.queue(session, "other"), "x", "x");
      c.fact("counts", c.count(c.named("one")) + " and " + c.count(c.named("other")));
   }

   /** A cache of two ids forgets the third last. */
   private static void cache(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      for (String id : new String[] {"a", "b", "c", "a", "c"}) {
         sendWith(session, queue, id, id);
      }
      c.fact("received", c.drain(session.createConsumer(queue)));
   }

   private Duplicates() {
   }
}
