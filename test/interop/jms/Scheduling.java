package interop;

import java.util.List;
import java.util.TreeSet;

import javax.jms.DeliveryMode;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.TextMessage;

/** Messages that are not to be delivered before a time. */
final class Scheduling {

   private static final String TIME = "_AMQ_SCHED_DELIVERY";

   static void addTo(Cases cases) {
      cases.add("scheduled.delay", Scheduling::delay);
      cases.add("scheduled.property", Scheduling::property);
      cases.add("scheduled.order", Scheduling::order);
      cases.add("scheduled.head", Scheduling::head);
      cases.add("scheduled.past", Scheduling::past);
      cases.add("scheduled.transaction", Scheduling::transaction);
      cases.add("scheduled.topic", Scheduling::topic);
      cases.add("scheduled.management", Scheduling::management);
      cases.add("scheduled.expiry", Scheduling::expiry);
   }

   private static void sendAt(Session session, MessageProducer producer, String text, long time) throws Exception {
      TextMessage m = session.createTextMessage(text);
      m.setLongProperty(TIME, time);
      producer.send(m);
   }

   private static void delay(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageConsumer consumer = session.createConsumer(queue);
      MessageProducer producer = session.createProducer(queue);
      producer.setDeliveryDelay(2_000);
      for (int mode : new int[] {DeliveryMode.PERSISTENT, DeliveryMode.NON_PERSISTENT}) {
         producer.setDeliveryMode(mode);
         long sent = System.nanoTime();
         long wall = System.currentTimeMillis();
         producer.send(session.createTextMessage("m"));
         c.fact("at once", Case.text(consumer.receive(Case.SILENCE)));
         Message m = consumer.receive(Case.PATIENCE);
         c.fact("received", Case.text(m));
         // The broker's clock has milliseconds only.
         c.atLeast("after", 1_998, (System.nanoTime() - sent) / 1_000_000);
         c.fact("delivery time as asked", m.getJMSDeliveryTime() >= wall + 2_000);
      }
   }

   private static void property(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageConsumer consumer = session.createConsumer(queue);
      long time = System.currentTimeMillis() + 400;
      sendAt(session, session.createProducer(queue), "m", time);
      c.fact("counted", c.count(c.named("q")));
      Message m = consumer.receive(Case.PATIENCE);
      c.fact("not before its time", System.currentTimeMillis() >= time);
      c.fact("property kept", m.getLongProperty(TIME) == time);
   }

   private static void order(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      long now = System.currentTimeMillis();
      sendAt(session, producer, "c", now + 1_600);
      sendAt(session, producer, "a", now + 1_000);
      sendAt(session, producer, "b1", now + 1_300);
      sendAt(session, producer, "b2", now + 1_300);
      c.send(session, queue, "now");
      c.fact("received", c.receive(session.createConsumer(queue), 5));
   }

   /** When due they go before what already waits. */
   private static void head(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      long due = System.currentTimeMillis() + 1_000;
      sendAt(session, producer, "s1", due);
      sendAt(session, producer, "s2", due);
      c.send(session, queue, "n1");
      c.eventually("still scheduled", 0L, () -> c.attribute("queue." + c.named("q"), "ScheduledCount"));
      c.send(session, queue, "n2");
      List<String> received = c.receive(session.createConsumer(queue), 4);
      c.fact("first", new TreeSet<>(received.subList(0, 2)));
      c.must("due at the same time in the order of arrival", List.of("s1", "s2"), received.subList(0, 2));
      c.fact("then", received.subList(2, 4));
   }

   private static void past(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      sendAt(session, session.createProducer(queue), "m", System.currentTimeMillis() - 60_000);
      c.fact("received", c.receive(session.createConsumer(queue), 1));
   }

   private static void transaction(Case c) throws Exception {
      Session session = c.connect().createSession(true, Session.SESSION_TRANSACTED);
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      long time = System.currentTimeMillis() + 400;
      sendAt(session, producer, "rolled back", time);
      session.rollback();
      sendAt(session, producer, "committed", time);
      session.commit();
      c.fact("received", c.receive(session.createConsumer(queue), 1));
      c.fact("not before its time", System.currentTimeMillis() >= time);
      session.commit();
      c.fact("left", c.count(c.named("q")));
   }

   private static void topic(Case c) throws Exception {
      Session session = c.session();
      MessageConsumer one = session.createConsumer(c.topic(session, "t"));
      MessageConsumer other = session.createConsumer(c.topic(session, "t"));
      MessageProducer producer = session.createProducer(c.topic(session, "t"));
      producer.setDeliveryDelay(200);
      producer.send(session.createTextMessage("m"));
      c.fact("one", c.receive(one, 1));
      c.fact("other", c.receive(other, 1));
   }

   private static void management(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      producer.setDeliveryDelay(3_600_000);
      producer.send(session.createTextMessage("a"));
      producer.send(session.createTextMessage("b"));
      String resource = "queue." + c.named("q");
      c.fact("scheduled", c.attribute(resource, "ScheduledCount"));
      c.fact("count", c.attribute(resource, "MessageCount"));
      c.fact("durable scheduled", c.attribute(resource, "DurableScheduledCount"));
      MessageConsumer consumer = session.createConsumer(queue);
      c.operation(resource, "deliverScheduledMessages", "");
      c.fact("released", new TreeSet<>(c.receive(consumer, 2)));
   }

   /** One that expires before it is due is not expired until then. */
   private static void expiry(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      producer.setDeliveryDelay(1_000);
      producer.setTimeToLive(1_050);
      MessageConsumer consumer = session.createConsumer(queue, "n = 1");
      producer.send(session.createTextMessage("m"));
      c.fact("before", c.count(c.named("q")));
      c.eventually("at last", 0L, () -> c.count(c.named("q")));
      consumer.close();
   }

   private Scheduling() {
   }
}
