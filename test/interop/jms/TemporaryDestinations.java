package interop;

import java.util.concurrent.atomic.AtomicReference;

import javax.jms.Connection;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.QueueConnection;
import javax.jms.QueueRequestor;
import javax.jms.QueueSession;
import javax.jms.Session;
import javax.jms.TemporaryQueue;
import javax.jms.TemporaryTopic;
import javax.jms.TextMessage;

import org.apache.activemq.artemis.jms.client.ActiveMQDestination;

/** Temporary queues and topics: reach, owner, life. */
final class TemporaryDestinations {

   static void addTo(Cases cases) {
      cases.add("temporary.request", TemporaryDestinations::request);
      cases.add("temporary.requestor", TemporaryDestinations::requestor);
      cases.add("temporary.topic", TemporaryDestinations::topic);
      cases.add("temporary.life", TemporaryDestinations::life);
      cases.add("temporary.delete", TemporaryDestinations::delete);
      cases.add("temporary.foreign", TemporaryDestinations::foreign);
   }

   private static Session server(Case c, Queue queue) throws Exception {
      Session session = c.session();
      MessageProducer replies = session.createProducer(null);
      session.createConsumer(queue).setMessageListener(m -> {
         try {
            TextMessage reply = session.createTextMessage("re: " + Case.text(m));
            reply.setJMSCorrelationID(m.getJMSMessageID());
            replies.send(m.getJMSReplyTo(), reply);
         } catch (Exception failure) {
            c.fact("FAILED", Case.describe(failure));
         }
      });
      return session;
   }

   private static void request(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "requests");
      server(c, queue);
      TemporaryQueue replies = session.createTemporaryQueue();
      c.fact("kind", replies.getClass().getSimpleName());
      MessageConsumer consumer = session.createConsumer(replies);
      MessageProducer producer = session.createProducer(queue);
      for (String text : new String[] {"one", "two", "three"}) {
         TextMessage request = session.createTextMessage(text);
         request.setJMSReplyTo(replies);
         producer.send(request);
         Message reply = consumer.receive(Case.PATIENCE);
         c.fact("reply", Case.text(reply));
         c.fact("correlated", request.getJMSMessageID().equals(reply.getJMSCorrelationID()));
         c.fact("reply destination is the queue", replies.equals(reply.getJMSDestination()));
      }
   }

   private static void requestor(Case c) throws Exception {
      QueueConnection connection = c.opened(c.factory("").createQueueConnection());
      connection.start();
      QueueSession session = connection.createQueueSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "requests");
      server(c, queue);
      QueueRequestor requestor = new QueueRequestor(session, queue);
      c.fact("reply", Case.text(requestor.request(session.createTextMessage("one"))));
      c.fact("reply", Case.text(requestor.request(session.createTextMessage("two"))));
      requestor.close();
   }

   private static void topic(Case c) throws Exception {
      Session session = c.session();
      TemporaryTopic topic = session.createTemporaryTopic();
      MessageConsumer one = session.createConsumer(topic);
      MessageConsumer other = session.createConsumer(topic);
      Session sender = c.session();
      c.send(sender, topic, "a", "b");
      c.fact("one", c.receive(one, 2));
      c.fact("other", c.receive(other, 2));
   }

   /** It lives as long as its connection, not its session. */
   private static void life(Case c) throws Exception {
      Connection connection = c.connect();
      Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      TemporaryQueue queue = session.createTemporaryQueue();
      String name = ((ActiveMQDestination) queue).getAddress();
      Session sender = c.session();
      c.send(sender, queue, "kept");
      session.close();
      c.fact("after session close", c.count(name));
      Session second = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      c.fact("received in another session", c.receive(second.createConsumer(queue), 1));
      connection.close();
      c.eventually("queue after connection close", false, () -> c.exists(name));
      c.eventually("address after connection close", false, () -> c.addressExists(name));
      c.thrown("send after connection close", () -> c.send(sender, queue, "late"));
   }

   private static void delete(Case c) throws Exception {
      Session session = c.session();
      TemporaryQueue queue = session.createTemporaryQueue();
      String name = ((ActiveMQDestination) queue).getAddress();
      MessageConsumer consumer = session.createConsumer(queue);
      c.thrown("with a consumer", queue::delete);
      consumer.close();
      c.thrown("without", queue::delete);
      c.fact("exists", c.exists(name));
      c.thrown("again", queue::delete);

      TemporaryTopic topic = session.createTemporaryTopic();
      MessageConsumer subscriber = session.createConsumer(topic);
      c.thrown("topic with a subscriber", topic::delete);
      subscriber.close();
      c.thrown("topic without", topic::delete);
      c.thrown("consumer after delete", () -> session.createConsumer(topic));
   }

   private static void foreign(Case c) throws Exception {
      AtomicReference<TemporaryQueue> queue = new AtomicReference<>(c.session().createTemporaryQueue());
      Session other = c.session();
      c.thrown("consumer of another connection", () -> other.createConsumer(queue.get()));
      c.thrown("producer of another connection", () -> c.send(other, queue.get(), "x"));
   }

   private TemporaryDestinations() {
   }
}
