package interop;

import javax.jms.DeliveryMode;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.TextMessage;

/** Messages that were delivered too often, or to nobody. */
final class DeadLetters {

   static void addTo(Cases cases) {
      cases.add("dlq.attempts", DeadLetters::attempts);
      cases.add("dlq.subscription", DeadLetters::subscription);
      cases.add("dlq.none", DeadLetters::none);
      cases.add("dlq.auto", DeadLetters::auto);
      cases.add("dlq.noroute", DeadLetters::noRoute);
      cases.add("dlq.default", DeadLetters::byDefault);
   }

   private static void sendMarked(Session session, javax.jms.Destination destination, String text) throws Exception {
      try (MessageProducer producer = session.createProducer(destination)) {
         TextMessage m = session.createTextMessage(text);
         m.setStringProperty("colour", "red");
         m.setStringProperty("JMSXGroupID", "group");
         producer.send(m, DeliveryMode.PERSISTENT, 3, 0);
      }
   }

   private static void attempts(Case c) throws Exception {
      Session session = c.connect().createSession(true, Session.SESSION_TRANSACTED);
      Queue queue = c.queue(session, "q");
      sendMarked(c.session(), queue, "dead");
      MessageConsumer consumer = session.createConsumer(queue);
      for (int n = 0; n < 3; n++) {
         Message m = consumer.receive(Case.PATIENCE);
         c.fact("attempt", m.getIntProperty("JMSXDeliveryCount"));
         session.rollback();
      }
      c.fact("more", Case.text(consumer.receive(Case.SILENCE)));
      Expiry.moved(c, c.session().createConsumer(session.createQueue("dlq.attempts.dead")).receive(Case.PATIENCE));
   }

   private static void subscription(Case c) throws Exception {
      Session session = c.connectAs(c.named("client")).createSession(true, Session.SESSION_TRANSACTED);
      MessageConsumer consumer = session.createDurableSubscriber(c.topic(session, "t"), "sub");
      sendMarked(c.session(), c.topic(session, "t"), "dead");
      c.receive(consumer, 1);
      session.rollback();
      Expiry.moved(c, c.session().createConsumer(session.createQueue("dlq.subscription.dead")).receive(Case.PATIENCE));
   }

   private static void none(Case c) throws Exception {
      Session session = c.connect().createSession(true, Session.SESSION_TRANSACTED);
      Queue queue = c.queue(session, "q");
      c.send(c.session(), queue, "dropped", "next");
      MessageConsumer consumer = session.createConsumer(queue);
      c.receive(consumer, 1);
      session.rollback();
      c.fact("then", c.receive(consumer, 1));
      session.commit();
      c.fact("count", c.count(c.named("q")));
   }

   private static void auto(Case c) throws Exception {
      Session session = c.connect().createSession(true, Session.SESSION_TRANSACTED);
      Queue queue = c.queue(session, "q");
      c.send(c.session(), queue, "dead");
      c.receive(session.createConsumer(queue), 1);
      session.rollback();
      String name = "DLQ.dlq.auto.q";
      c.eventually("created and filled", 1L, () -> c.count(name));
      c.fact("address", c.attribute("queue." + name, "Address"));
      c.fact("filter", c.attribute("queue." + name, "Filter"));
      c.fact("routing type", c.attribute("queue." + name, "RoutingType"));
   }

   private static void noRoute(Case c) throws Exception {
      Session session = c.session();
      sendMarked(session, c.topic(session, "t"), "nobody");
      Expiry.moved(c, session.createConsumer(session.createQueue("dlq.noroute.dead")).receive(Case.PATIENCE));
   }

   /** Ten attempts without any setting. */
   private static void byDefault(Case c) throws Exception {
      Session session = c.connect().createSession(true, Session.SESSION_TRANSACTED);
      Queue queue = c.queue(session, "q");
      c.send(c.session(), queue, "dead");
      MessageConsumer consumer = session.createConsumer(queue);
      int attempts = 0;
      while (attempts < 20 && consumer.receive(Case.SILENCE) != null) {
         attempts++;
         session.rollback();
      }
      c.fact("attempts", attempts);
      Session other = c.session();
      c.fact("in DLQ", c.drain(other.createConsumer(other.createQueue("DLQ"), "_AMQ_ORIG_ADDRESS = '" + c.named("q") + "'")));
   }

   private DeadLetters() {
   }
}
