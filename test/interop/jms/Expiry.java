package interop;

import java.util.List;
import java.util.Map;

import javax.jms.DeliveryMode;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.TextMessage;

/** Messages that expire: where they go, with which headers, and what the address settings say about it. */
final class Expiry {

   static void addTo(Cases cases) {
      cases.add("expiry.address", Expiry::address);
      cases.add("expiry.topic", Expiry::topic);
      cases.add("expiry.none", Expiry::none);
      cases.add("expiry.delay", Expiry::delay);
      cases.add("expiry.bounds", Expiry::bounds);
      cases.add("expiry.never", Expiry::never);
      cases.add("expiry.auto", Expiry::auto);
      cases.add("expiry.receive", Expiry::receive);
      cases.add("expiry.transaction", Expiry::transaction);
   }

   /** What the broker adds to a message it moves; ids and times only as present. */
   static void moved(Case c, Message m) throws Exception {
      c.fact("text", Case.text(m));
      Map<String, Object> properties = Case.properties(m);
      for (String volatileValue : List.of("_AMQ_ORIG_MESSAGE_ID", "_AMQ_ACTUAL_EXPIRY")) {
         properties.computeIfPresent(volatileValue, (k, v) -> v.toString().split(" ")[0] + (v.toString().endsWith(" 0") ? " 0" : " set"));
      }
      c.fact("properties", properties);
      c.fact("destination", m.getJMSDestination());
      c.fact("expiration", m.getJMSExpiration());
      c.fact("mode", m.getJMSDeliveryMode());
      c.fact("priority", m.getJMSPriority());
      c.fact("count", m.getIntProperty("JMSXDeliveryCount"));
   }

   private static void sendMortal(Case c, Session session, javax.jms.Destination destination, String text, long life) throws Exception {
      try (MessageProducer producer = session.createProducer(destination)) {
         TextMessage m = session.createTextMessage(text);
         m.setStringProperty("colour", "red");
         producer.send(m, DeliveryMode.PERSISTENT, 6, life);
      }
   }

   private static void address(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      sendMortal(c, session, queue, "mortal", 100);
      c.send(session, queue, "immortal");
      MessageConsumer expired = session.createConsumer(session.createQueue("expiry.address.expired"));
      moved(c, expired.receive(Case.PATIENCE));
      c.fact("left", c.drain(session.createConsumer(queue)));
   }

   private static void topic(Case c) throws Exception {
      Session session = c.connectAs(c.named("client")).createSession(false, Session.AUTO_ACKNOWLEDGE);
      session.createDurableSubscriber(c.topic(session, "t"), "sub").close();
      sendMortal(c, session, c.topic(session, "t"), "mortal", 100);
      moved(c, session.createConsumer(session.createQueue("expiry.topic.expired")).receive(Case.PATIENCE));
   }

   private static void none(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      sendMortal(c, session, queue, "mortal", 100);
      c.eventually("count", 0L, () -> c.count(c.named("q")));
   }

   private static void delay(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      long before = System.currentTimeMillis();
      c.send(session, queue, "no expiration of its own");
      sendMortal(c, session, queue, "keeps its own", 3_600_000);
      Message m = session.createConsumer(session.createQueue("expiry.delay.expired")).receive(Case.PATIENCE);
      c.fact("expired", Case.text(m));
      c.atLeast("lived", 300, System.currentTimeMillis() - before);
      c.fact("left", c.drain(session.createConsumer(queue)));
   }

   private static void bounds(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      long before = System.currentTimeMillis();
      for (long life : new long[] {0, 1_000, 30_000, 900_000}) {
         sendMortal(c, session, queue, "m", life);
      }
      MessageConsumer consumer = session.createConsumer(queue);
      for (long expected : new long[] {60_000, 5_000, 30_000, 60_000}) {
         long life = consumer.receive(Case.PATIENCE).getJMSExpiration() - before;
         c.fact("lives about " + expected, life >= expected && life < expected + 4_000);
      }
   }

   private static void never(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      sendMortal(c, session, queue, "m", 50);
      c.fact("expiration", session.createConsumer(queue).receive(Case.PATIENCE).getJMSExpiration());
   }

   private static void auto(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      sendMortal(c, session, queue, "mortal", 50);
      String name = "EXP.expiry.auto.q";
      c.eventually("created and filled", 1L, () -> c.count(name));
      c.fact("address", c.attribute("queue." + name, "Address"));
      c.fact("filter", c.attribute("queue." + name, "Filter"));
      c.fact("routing type", c.attribute("queue." + name, "RoutingType"));
      c.fact("left", c.count(c.named("q")));
   }

   /** What has expired in the queue is not delivered, and what expires in the client's buffer isn't either. */
   private static void receive(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageConsumer buffering = session.createConsumer(queue);
      sendMortal(c, session, queue, "short", 1);
      sendMortal(c, session, queue, "mortal", 300);
      long end = System.currentTimeMillis() + 400;
      while (System.currentTimeMillis() < end) {
         Thread.sleep(50);
      }
      c.fact("received", c.drain(buffering));
      c.eventually("left", 0L, () -> c.count(c.named("q")));
   }

   private static void transaction(Case c) throws Exception {
      Session session = c.connect().createSession(true, Session.SESSION_TRANSACTED);
      Queue queue = c.queue(session, "q");
      c.send(c.session(), queue, "stays");
      sendMortal(c, session, queue, "mortal", 100);
      session.commit();
      c.eventually("left", 1L, () -> c.count(c.named("q")));
      c.fact("received", c.drain(session.createConsumer(queue)));
      session.commit();
   }

   private Expiry() {
   }
}
