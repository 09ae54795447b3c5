package interop;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import javax.jms.Connection;
import javax.jms.DeliveryMode;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;

/** Local transactions: visibility, rollback, delivery counts, redelivery delays. */
final class Transactions {

   static void addTo(Cases cases) {
      cases.add("transaction.send", Transactions::send);
      cases.add("transaction.receive", Transactions::receive);
      cases.add("transaction.both", Transactions::both);
      cases.add("transaction.order", Transactions::order);
      cases.add("transaction.close", Transactions::close);
      cases.add("transaction.queues", Transactions::queues);
      cases.add("transaction.topic", Transactions::topic);
      cases.add("transaction.listener", Transactions::listener);
      cases.add("transaction.large", Transactions::many);
      cases.add("transaction.persistence", Transactions::persistence);
      cases.add("redelivery.delay", Transactions::delay);
      cases.add("redelivery.backoff", Transactions::backoff);
      cases.add("redelivery.count", Transactions::count);
   }

   private static Session transacted(Case c) throws Exception {
      return c.connect().createSession(true, Session.SESSION_TRANSACTED);
   }

   private static void send(Case c) throws Exception {
      Session session = transacted(c);
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a", "b");
      c.fact("before commit", c.count(c.named("q")));
      session.commit();
      c.fact("after commit", c.count(c.named("q")));
      c.send(session, queue, "c");
      session.rollback();
      c.fact("after rollback", c.count(c.named("q")));
      session.commit();
      c.fact("after an empty commit", c.count(c.named("q")));
   }

   private static void receive(Case c) throws Exception {
      Session sender = c.session();
      Session session = transacted(c);
      Queue queue = c.queue(session, "q");
      c.send(sender, queue, "a", "b", "c");
      MessageConsumer consumer = session.createConsumer(queue);
      c.fact("first try", c.receive(consumer, 2));
      c.fact("before rollback", c.count(c.named("q")));
      session.rollback();
      for (int n = 0; n < 3; n++) {
         Message m = consumer.receive(Case.PATIENCE);
         c.fact("second try", Case.text(m) + " redelivered " + m.getJMSRedelivered() + " count " + m.getIntProperty("JMSXDeliveryCount"));
      }
      session.commit();
      c.fact("after commit", c.count(c.named("q")));
   }

   private static void both(Case c) throws Exception {
      Session sender = c.session();
      Session session = transacted(c);
      Queue from = c.queue(session, "from");
      Queue to = c.queue(session, "to");
      c.send(sender, from, "a");
      MessageConsumer consumer = session.createConsumer(from);
      for (boolean commit : new boolean[] {false, true}) {
         c.send(session, to, c.receive(consumer, 1).get(0) + " moved");
         if (commit) {
            session.commit();
         } else {
            session.rollback();
         }
         String key = commit ? "after commit" : "after rollback";
         c.fact(key, "from " + c.count(c.named("from")) + " to " + c.count(c.named("to")));
      }
   }

   private static void order(Case c) throws Exception {
      Session sender = c.session();
      Session session = transacted(c);
      Queue queue = c.queue(session, "q");
      c.send(sender, queue, Case.array(Case.texts("m", 6)));
      MessageConsumer consumer = session.createConsumer(queue);
      c.receive(consumer, 4);
      session.rollback();
      c.fact("order after rollback", c.receive(consumer, 6));
      session.commit();
   }

   private static void close(Case c) throws Exception {
      Session sender = c.session();
      Connection connection = c.connect();
      Session session = connection.createSession(true, Session.SESSION_TRANSACTED);
      Queue queue = c.queue(session, "q");
      c.send(sender, queue, "a");
      c.receive(session.createConsumer(queue), 1);
      c.send(session, queue, "never committed");
      session.close();
      c.fact("count", c.count(c.named("q")));
      Message m = sender.createConsumer(queue).receive(Case.PATIENCE);
      c.fact("again", Case.text(m) + " redelivered " + m.getJMSRedelivered());
   }

   private static void queues(Case c) throws Exception {
      Session sender = c.session();
      Session session = transacted(c);
      Queue one = c.queue(session, "one");
      Queue two = c.queue(session, "two");
      c.send(sender, one, "a", "b");
      c.send(sender, two, "x", "y");
      MessageConsumer first = session.createConsumer(one);
      MessageConsumer second = session.createConsumer(two);
      c.receive(first, 2);
      c.receive(second, 1);
      session.commit();
      c.fact("left", c.count(c.named("one")) + " and " + c.count(c.named("two")));
      c.receive(second, 1);
      session.rollback();
      c.fact("rolled back", c.receive(second, 1));
      session.commit();
   }

   private static void topic(Case c) throws Exception {
      Session session = transacted(c);
      Session listening = c.session();
      MessageConsumer consumer = listening.createConsumer(c.topic(listening, "t"));
      c.send(session, c.topic(session, "t"), "a", "b");
      c.fact("before commit", Case.text(consumer.receive(Case.SILENCE)));
      session.commit();
      c.fact("after commit", c.receive(consumer, 2));
      c.send(session, c.topic(session, "t"), "c");
      session.rollback();
      c.fact("after rollback", Case.text(consumer.receive(Case.SILENCE)));
   }

   private static void listener(Case c) throws Exception {
      Session sender = c.session();
      Session session = transacted(c);
      Queue queue = c.queue(session, "q");
      c.send(sender, queue, "a", "b", "c");
      AtomicInteger calls = new AtomicInteger();
      CountDownLatch done = new CountDownLatch(1);
      session.createConsumer(queue).setMessageListener(m -> {
         try {
            int call = calls.incrementAndGet();
            if (call == 2) {
               session.rollback();
            } else if (call == 5) {
               session.commit();
               done.countDown();
            }
         } catch (Exception failure) {
            c.fact("FAILED", Case.describe(failure));
         }
      });
      c.fact("done", done.await(Case.PATIENCE, TimeUnit.MILLISECONDS));
      c.fact("calls", calls.get());
      c.fact("left", c.count(c.named("q")));
   }

   private static void many(Case c) throws Exception {
      Session session = transacted(c);
      Queue queue = c.queue(session, "q");
      c.send(session, queue, Case.array(Case.texts("m", 1_500)));
      session.commit();
      c.fact("count", c.count(c.named("q")));
      MessageConsumer consumer = session.createConsumer(queue);
      c.fact("all in order", c.receive(consumer, 1_500).equals(Case.texts("m", 1_500)));
      session.commit();
      c.fact("left", c.count(c.named("q")));
   }

   /** Persistent and non-persistent messages of one producer keep their order in a transaction. */
   private static void persistence(Case c) throws Exception {
      Session session = transacted(c);
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      for (int n = 0; n < 6; n++) {
         producer.send(session.createTextMessage("m" + n), n % 2 == 0 ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT, 4, 0);
      }
      session.commit();
      c.fact("received", c.receive(session.createConsumer(queue), 6));
      session.commit();
   }

   private static void delay(Case c) throws Exception {
      Session sender = c.session();
      Session session = transacted(c);
      Queue queue = c.queue(session, "q");
      c.send(sender, queue, "a");
      MessageConsumer consumer = session.createConsumer(queue);
      c.receive(consumer, 1);
      long rolledBack = System.nanoTime();
      session.rollback();
      c.fact("at once", Case.text(consumer.receiveNoWait()));
      c.fact("counted", c.count(c.named("q")));
      c.send(sender, queue, "b");
      c.fact("the next overtakes", c.receive(consumer, 1));
      Message m = consumer.receive(Case.PATIENCE);
      c.atLeast("delay", 399, (System.nanoTime() - rolledBack) / 1_000_000);
      c.fact("redelivered", Case.text(m) + " count " + m.getIntProperty("JMSXDeliveryCount"));
      session.commit();
   }

   /** 200 ms doubled each time, at most 500. */
   private static void backoff(Case c) throws Exception {
      Session sender = c.session();
      Session session = transacted(c);
      Queue queue = c.queue(session, "q");
      c.send(sender, queue, "a");
      MessageConsumer consumer = session.createConsumer(queue);
      c.receive(consumer, 1);
      for (long delay : new long[] {199, 399, 499, 499}) {
         long rolledBack = System.nanoTime();
         session.rollback();
         Message m = consumer.receive(Case.PATIENCE);
         c.atLeast("delay", delay, (System.nanoTime() - rolledBack) / 1_000_000);
         c.fact("count", m.getIntProperty("JMSXDeliveryCount"));
      }
      session.commit();
   }

   private static void count(Case c) throws Exception {
      Session sender = c.session();
      Session session = transacted(c);
      Queue queue = c.queue(session, "q");
      c.send(sender, queue, "a", "b");
      MessageConsumer consumer = session.createConsumer(queue);
      for (int n = 0; n < 4; n++) {
         Message m = consumer.receive(Case.PATIENCE);
         c.fact("count", m.getIntProperty("JMSXDeliveryCount"));
         session.rollback();
      }
      consumer.close();
      // Only what the application has seen counts, not what was prefetched.
      MessageConsumer other = session.createConsumer(queue);
      for (int n = 0; n < 2; n++) {
         Message m = other.receive(Case.PATIENCE);
         c.fact("last", Case.text(m) + " count " + m.getIntProperty("JMSXDeliveryCount"));
      }
      session.commit();
   }

   private Transactions() {
   }
}
