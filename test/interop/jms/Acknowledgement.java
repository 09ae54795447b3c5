package interop;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import javax.jms.Connection;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.Queue;
import javax.jms.Session;

import org.apache.activemq.artemis.api.jms.ActiveMQJMSConstants;

/** What each acknowledgement mode takes off the queue, and when. */
final class Acknowledgement {

   static void addTo(Cases cases) {
      cases.add("ack.auto", Acknowledgement::auto);
      cases.add("ack.auto.listener", Acknowledgement::listener);
      cases.add("ack.auto.blocking", c -> auto(c, "blockOnAcknowledge=true"));
      cases.add("ack.client", Acknowledgement::client);
      cases.add("ack.client.recover", Acknowledgement::recover);
      cases.add("ack.dupsok", Acknowledgement::dupsOk);
      cases.add("ack.individual", Acknowledgement::individual);
      cases.add("ack.pre", c -> pre(c, ""));
      cases.add("ack.pre.url", c -> pre(c, "preAcknowledge=true"));
      cases.add("ack.none", Acknowledgement::none);
      cases.add("ack.killed", Acknowledgement::killed);
   }

   private static void auto(Case c) throws Exception {
      auto(c, "");
   }

   private static void auto(Case c, String parameters) throws Exception {
      Connection connection = c.connect(parameters);
      Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a", "b", "c");
      MessageConsumer consumer = session.createConsumer(queue);
      c.fact("received", c.receive(consumer, 2));
      c.eventually("left", 1L, () -> c.count(c.named("q")));
      session.close();
      c.fact("after close", c.count(c.named("q")));
   }

   private static void listener(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a", "b", "c");
      CountDownLatch three = new CountDownLatch(3);
      Session listening = c.session();
      listening.createConsumer(queue).setMessageListener(m -> three.countDown());
      c.fact("all came", three.await(Case.PATIENCE, TimeUnit.MILLISECONDS));
      c.eventually("left", 0L, () -> c.count(c.named("q")));

      // A listener that throws gets the message again, until the broker has had enough of it.
      Queue failing = c.queue(session, "failing");
      c.send(session, failing, "x");
      CountDownLatch twice = new CountDownLatch(2);
      Session other = c.session();
      other.createConsumer(failing).setMessageListener(m -> {
         twice.countDown();
         if (twice.getCount() > 0) {
            throw new IllegalStateException("refused by the test");
         }
      });
      c.fact("came again", twice.await(Case.PATIENCE, TimeUnit.MILLISECONDS));
      c.eventually("left", 0L, () -> c.count(c.named("failing")));
   }

   private static void client(Case c) throws Exception {
      Connection connection = c.connect();
      Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a", "b", "c", "d");
      MessageConsumer consumer = session.createConsumer(queue);
      consumer.receive(Case.PATIENCE);
      Message second = consumer.receive(Case.PATIENCE);
      c.receive(consumer, 1);
      c.fact("before", c.count(c.named("q")));
      second.acknowledge();
      c.eventually("after one acknowledge of the second", 1L, () -> c.count(c.named("q")));
      session.close();
      Session again = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      c.fact("next", c.drain(again.createConsumer(queue)));
   }

   private static void recover(Case c) throws Exception {
      Connection connection = c.connect();
      Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a", "b", "c");
      MessageConsumer consumer = session.createConsumer(queue);
      consumer.receive(Case.PATIENCE).acknowledge();
      c.fact("before recover", c.receive(consumer, 1));
      session.recover();
      for (int n = 0; n < 2; n++) {
         Message m = consumer.receive(Case.PATIENCE);
         c.fact("after recover", Case.text(m) + " redelivered " + m.getJMSRedelivered() + " count " + m.getIntProperty("JMSXDeliveryCount"));
         if (n == 1) {
            m.acknowledge();
         }
      }
      c.eventually("left", 0L, () -> c.count(c.named("q")));
   }

   private static void dupsOk(Case c) throws Exception {
      Connection connection = c.connect();
      Session session = connection.createSession(false, Session.DUPS_OK_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a", "b", "c");
      MessageConsumer consumer = session.createConsumer(queue);
      c.fact("received", c.receive(consumer, 3));
      c.fact("left before close", c.count(c.named("q")));
      consumer.close();
      c.eventually("left after close", 0L, () -> c.count(c.named("q")));
   }

   private static void individual(Case c) throws Exception {
      Connection connection = c.connect();
      Session session = connection.createSession(false, ActiveMQJMSConstants.INDIVIDUAL_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a", "b", "c", "d");
      MessageConsumer consumer = session.createConsumer(queue);
      consumer.receive(Case.PATIENCE);
      Message second = consumer.receive(Case.PATIENCE);
      consumer.receive(Case.PATIENCE);
      second.acknowledge();
      c.eventually("left", 3L, () -> c.count(c.named("q")));
      session.close();
      Session again = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      c.fact("rest", c.drain(again.createConsumer(queue)));
   }

   private static void pre(Case c, String parameters) throws Exception {
      Connection connection = c.connect(parameters);
      Session sending = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(sending, "q");
      c.send(sending, queue, "a", "b", "c");
      Session session = connection.createSession(false, parameters.isEmpty() ? ActiveMQJMSConstants.PRE_ACKNOWLEDGE : Session.AUTO_ACKNOWLEDGE);
      MessageConsumer consumer = session.createConsumer(queue);
      c.eventually("left before receive", 0L, () -> c.count(c.named("q")));
      c.fact("received", c.receive(consumer, 1));
      session.close();
      c.fact("after close", c.count(c.named("q")));
   }

   /** What the application has received is a delivery attempt, also when it closes without acknowledging. */
   private static void none(Case c) throws Exception {
      Connection connection = c.connect();
      Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a", "b");
      c.fact("received", c.receive(session.createConsumer(queue), 2));
      session.close();
      Session again = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      MessageConsumer consumer = again.createConsumer(queue);
      for (int n = 0; n < 2; n++) {
         Message m = consumer.receive(Case.PATIENCE);
         c.fact("again", Case.text(m) + " redelivered " + m.getJMSRedelivered() + " count " + m.getIntProperty("JMSXDeliveryCount"));
      }
   }

   /** A connection that breaks is a delivery attempt. */
   private static void killed(Case c) throws Exception {
      try (Link link = new Link(c.broker)) {
         Connection connection = c.started(c.opened(link.factory("reconnectAttempts=0")).createConnection());
         Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
         Queue queue = c.queue(session, "q");
         c.send(session, queue, "a", "b");
         c.fact("received", c.receive(session.createConsumer(queue), 1));
         link.cut();
      }
      c.eventually("consumers", 0L, () -> c.consumers(c.named("q")));
      Session again = c.session();
      MessageConsumer consumer = again.createConsumer(c.queue(again, "q"));
      for (String expected : List.of("a", "b")) {
         Message m = consumer.receive(Case.PATIENCE);
         c.fact("again " + expected, Case.text(m) + " redelivered " + m.getJMSRedelivered() + " count " + m.getIntProperty("JMSXDeliveryCount"));
      }
   }

   private Acknowledgement() {
   }
}
