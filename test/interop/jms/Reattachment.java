package interop;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import javax.jms.BytesMessage;
import javax.jms.Connection;
import javax.jms.DeliveryMode;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.TemporaryQueue;

import org.apache.activemq.artemis.api.core.client.FailoverEventType;
import org.apache.activemq.artemis.jms.client.ActiveMQConnection;

/** What a client sees when the link to the broker is cut: with and without a confirmation window, and with no retry. */
final class Reattachment {

   private static final String RETRY = "reconnectAttempts=-1&retryInterval=20&callTimeout=10000";
   private static final String REATTACH = RETRY + "&confirmationWindowSize=1048576";

   static void addTo(Cases cases) {
      cases.add("reattach.producer", c -> producer(c, REATTACH, DeliveryMode.PERSISTENT));
      cases.add("reattach.producer.nonblocking", c -> producer(c, REATTACH + "&blockOnDurableSend=false", DeliveryMode.PERSISTENT));
      cases.add("reattach.producer.nondurable", c -> producer(c, REATTACH, DeliveryMode.NON_PERSISTENT));
      cases.add("reattach.consumer", c -> consumer(c, REATTACH + "&consumerWindowSize=0"));
      cases.add("reattach.consumer.prefetch", c -> consumer(c, REATTACH));
      cases.add("reattach.listener", Reattachment::listener);
      cases.add("reattach.transaction", c -> transaction(c, REATTACH));
      cases.add("reattach.events", Reattachment::events);
      cases.add("reattach.small-window", c -> producer(c, RETRY + "&confirmationWindowSize=3000&blockOnDurableSend=false", DeliveryMode.PERSISTENT));
      cases.add("reattach.large", Reattachment::large);
      cases.add("reattach.temporary", Reattachment::temporary);
      cases.add("reattach.held", Reattachment::held);
      cases.add("reattach.lost", Reattachment::lost);
      cases.add("recreate.producer", c -> producer(c, RETRY, DeliveryMode.PERSISTENT));
      cases.add("recreate.consumer", Reattachment::recreateConsumer);
      cases.add("recreate.transaction", c -> transaction(c, RETRY));
      cases.add("recreate.temporary", Reattachment::recreateTemporary);
      cases.add("cut.noretry", Reattachment::noRetry);
      cases.add("cut.ping", Reattachment::ping);
   }

   private static Connection connect(Case c, Link link, String parameters) throws Exception {
      return c.started(c.opened(link.factory(parameters)).createConnection());
   }

   private static void producer(Case c, String parameters, int mode) throws Exception {
      try (Link link = new Link(c.broker)) {
         Session session = connect(c, link, parameters).createSession(false, Session.AUTO_ACKNOWLEDGE);
         Queue queue = c.queue(session, "q");
         MessageProducer producer = session.createProducer(queue);
         producer.setDeliveryMode(mode);
         int retries = 0;
         for (int n = 0; n < 200; n++) {
            if (n % 50 == 25) {
               link.cut();
            }
            retries += send(session, producer, n);
         }
         Session reading = c.session();
         // A send in flight when a session is made anew fails; whether it had arrived the client can't know.
         List<String> got = c.drain(reading.createConsumer(queue));
         if (parameters.contains("confirmationWindowSize")) {
            c.fact("sends repeated by the application", retries);
            c.must("each once and in order", true, got.equals(Case.texts("m", 200)));
         } else {
            c.fact("distinct", new TreeSet<>(got).size());
         }
      }
   }

   /** Sends until it succeeds and returns how many more times that took. */
   private static int send(Session session, MessageProducer producer, int n) throws Exception {
      for (int retries = 0; retries < 10; retries++) {
         try {
            producer.send(session.createTextMessage("m" + n));
            return retries;
         } catch (JMSException cut) {
            continue;
         }
      }
      throw new IllegalStateException("message " + n + " could not be sent");
   }

   private static void consumer(Case c, String parameters) throws Exception {
      try (Link link = new Link(c.broker)) {
         Session sender = c.session();
         Session session = connect(c, link, parameters).createSession(false, Session.CLIENT_ACKNOWLEDGE);
         Queue queue = c.queue(session, "q");
         c.send(sender, queue, Case.array(Case.texts("m", 200)));
         MessageConsumer consumer = session.createConsumer(queue);
         List<String> got = new ArrayList<>();
         int redelivered = 0;
         for (int n = 0; n < 200; n++) {
            if (n % 50 == 25) {
               link.cut();
            }
            Message m = consumer.receive(Case.PATIENCE);
            got.add(Case.text(m));
            if (m == null) {
               break;
            }
            redelivered += m.getJMSRedelivered() ? 1 : 0;
            m.acknowledge();
         }
         c.must("each once and in order", true, got.equals(Case.texts("m", 200)));
         c.must("redelivered", 0, redelivered);
         c.must("left", 0L, c.settled(c.named("q"), 0));
      }
   }

   private static void listener(Case c) throws Exception {
      try (Link link = new Link(c.broker)) {
         Session sender = c.session();
         Session session = connect(c, link, REATTACH).createSession(false, Session.AUTO_ACKNOWLEDGE);
         Queue queue = c.queue(session, "q");
         List<String> heard = Collections.synchronizedList(new ArrayList<>());
         CountDownLatch all = new CountDownLatch(100);
         session.createConsumer(queue).setMessageListener(m -> {
            try {
               heard.add(Case.text(m));
            } catch (Exception failure) {
               heard.add(Case.describe(failure));
            }
            all.countDown();
         });
         String[] texts = Case.array(Case.texts("m", 100));
         for (int n = 0; n < 100; n++) {
            if (n % 30 == 15) {
               link.cut();
            }
            c.send(sender, queue, texts[n]);
         }
         c.fact("all came", all.await(Case.PATIENCE, TimeUnit.MILLISECONDS));
         c.must("in order", true, heard.equals(Case.texts("m", 100)));
         c.must("left", 0L, c.settled(c.named("q"), 0));
      }
   }

   /** Cuts the link and waits until the client has its sessions back. */
   private static void cutAndWait(Case c, Link link, Connection connection) throws Exception {
      cutAndWait(c, connection, link::cut);
   }

   private static void cutAndWait(Case c, Connection connection, Case.Action cut) throws Exception {
      CountDownLatch back = new CountDownLatch(1);
      ((ActiveMQConnection) connection).setFailoverListener(event -> {
         if (event == FailoverEventType.FAILOVER_COMPLETED) {
            back.countDown();
         }
      });
      cut.run();
      c.fact("back", back.await(Case.PATIENCE, TimeUnit.MILLISECONDS));
   }

   private static void transaction(Case c, String parameters) throws Exception {
      try (Link link = new Link(c.broker)) {
         Connection connection = connect(c, link, parameters);
         Session session = connection.createSession(true, Session.SESSION_TRANSACTED);
         Queue queue = c.queue(session, "q");
         c.send(session, queue, "first", "second");
         cutAndWait(c, link, connection);
         c.thrown("send after the cut", () -> c.send(session, queue, "third"));
         c.thrown("commit", session::commit);
         c.fact("count", c.count(c.named("q")));
         c.send(session, queue, "another");
         c.thrown("next commit", session::commit);
         c.fact("received", c.drain(c.session().createConsumer(queue)));
      }
   }

   private static void events(Case c) throws Exception {
      try (Link link = new Link(c.broker)) {
         ActiveMQConnection connection = (ActiveMQConnection) connect(c, link, REATTACH);
         List<FailoverEventType> events = Collections.synchronizedList(new ArrayList<>());
         connection.setFailoverListener(events::add);
         Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
         session.createTemporaryQueue();
         link.cut();
         c.eventually("events", List.of(FailoverEventType.FAILURE_DETECTED, FailoverEventType.FAILOVER_COMPLETED), () -> List.copyOf(events));
      }
   }

   /** Between two cuts large messages go through; one that is cut while it streams fails in the client. */
   private static void large(Case c) throws Exception {
      try (Link link = new Link(c.broker)) {
         Connection connection = connect(c, link, REATTACH + "&minLargeMessageSize=2000");
         Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
         Queue queue = c.queue(session, "q");
         MessageProducer producer = session.createProducer(queue);
         MessageConsumer consumer = session.createConsumer(queue);
         for (int n = 0; n < 4; n++) {
            BytesMessage m = session.createBytesMessage();
            m.writeBytes(LargeMessages.noise(40_000 + n));
            producer.send(m);
            BytesMessage received = (BytesMessage) consumer.receive(Case.PATIENCE);
            byte[] body = new byte[(int) received.getBodyLength()];
            received.readBytes(body);
            c.fact("received", body);
            c.eventually("left", 0L, () -> c.count(c.named("q")));
            cutAndWait(c, link, connection);
         }
      }
   }

   private static void temporary(Case c) throws Exception {
      temporary(c, REATTACH, (link, queue) -> link.cut());
   }

   /** The old session's queue goes before the client may make its new one: real Artemis may otherwise delete that one instead. */
   private static void recreateTemporary(Case c) throws Exception {
      temporary(c, RETRY, (link, queue) -> {
         link.down();
         c.eventually("queue while the link is down", false, () -> c.exists(queue.getQueueName()));
         link.up();
      });
   }

   private interface Cut {
      void cut(Link link, TemporaryQueue queue) throws Exception;
   }

   private static void temporary(Case c, String parameters, Cut cut) throws Exception {
      try (Link link = new Link(c.broker)) {
         Connection connection = connect(c, link, parameters);
         Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
         TemporaryQueue queue = session.createTemporaryQueue();
         CountDownLatch heard = new CountDownLatch(1);
         session.createConsumer(queue).setMessageListener(m -> heard.countDown());
         cutAndWait(c, connection, () -> cut.cut(link, queue));
         // The queue of a session made anew is not there at once.
         Session sender = c.session();
         for (long deadline = System.currentTimeMillis() + Case.PATIENCE; heard.getCount() > 0 && System.currentTimeMillis() < deadline; ) {
            c.send(sender, queue, "after the cut");
            heard.await(200, TimeUnit.MILLISECONDS);
         }
         c.fact("heard", heard.getCount() == 0);
      }
   }

   /**
    * Until its time to live is over, the session of a cut connection keeps its messages from others. It is a long one: a call that
    * the cut has interrupted may keep the client from coming back for its whole callTimeout.
    */
   private static void held(Case c) throws Exception {
      try (Link link = new Link(c.broker)) {
         Session sender = c.session();
         Session session = connect(c, link, REATTACH + "&connectionTTL=30000&clientFailureCheckPeriod=1000").createSession(false, Session.CLIENT_ACKNOWLEDGE);
         Queue queue = c.queue(session, "q");
         c.send(sender, queue, "a", "b");
         MessageConsumer consumer = session.createConsumer(queue);
         c.fact("before", c.receive(consumer, 1));
         link.down();
         MessageConsumer other = c.session().createConsumer(queue);
         c.fact("for another", Case.text(other.receive(1_000)));
         link.up();
         Message m = consumer.receive(Case.PATIENCE);
         c.fact("after", Case.text(m) + " redelivered " + m.getJMSRedelivered());
         String failure = "none";
         try {
            m.acknowledge();
         } catch (JMSException refused) {
            failure = Case.describe(refused);
         }
         c.must("failure", "none", failure);
         c.must("left", 0L, c.settled(c.named("q"), 0));
      }
   }

   /** After it they go to others, and the client gets a new session. */
   private static void lost(Case c) throws Exception {
      try (Link link = new Link(c.broker)) {
         Session sender = c.session();
         Session session = connect(c, link, REATTACH + "&connectionTTL=1000&clientFailureCheckPeriod=500").createSession(false, Session.CLIENT_ACKNOWLEDGE);
         Queue queue = c.queue(session, "q");
         c.send(sender, queue, "a", "b");
         MessageConsumer consumer = session.createConsumer(queue);
         c.fact("before", c.receive(consumer, 1));
         link.down();
         MessageConsumer other = c.session().createConsumer(queue);
         for (int n = 0; n < 2; n++) {
            Message m = other.receive(Case.PATIENCE);
            c.fact("for another", Case.text(m) + " redelivered " + m.getJMSRedelivered() + " count " + m.getIntProperty("JMSXDeliveryCount"));
         }
         other.close();
         link.up();
         c.send(sender, queue, "c");
         // What it had buffered may still come before the client has noticed.
         List<String> got = c.receive(consumer, 1);
         c.fact("in the new session", got.contains("b") ? c.receive(consumer, 1) : got);
      }
   }

   private static void recreateConsumer(Case c) throws Exception {
      try (Link link = new Link(c.broker)) {
         Session sender = c.session();
         Connection connection = connect(c, link, RETRY);
         Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
         Queue queue = c.queue(session, "q");
         c.send(sender, queue, Case.array(Case.texts("m", 20)));
         MessageConsumer consumer = session.createConsumer(queue);
         c.fact("before", c.receive(consumer, 5));
         cutAndWait(c, link, connection);
         TreeSet<String> rest = new TreeSet<>();
         Message m = consumer.receive(Case.PATIENCE);
         c.fact("first after", Case.text(m));
         // The transaction behind the acknowledgements went with the old session.
         c.thrown("first acknowledgement", m::acknowledge);
         for (m = consumer.receive(Case.PATIENCE); m != null; m = consumer.receive(Case.SILENCE)) {
            rest.add(Case.text(m));
            m.acknowledge();
         }
         c.fact("distinct after", rest.size());
         c.eventually("left", 0L, () -> c.count(c.named("q")));
      }
   }

   private static void noRetry(Case c) throws Exception {
      try (Link link = new Link(c.broker)) {
         Connection connection = connect(c, link, "reconnectAttempts=0");
         List<String> exceptions = Collections.synchronizedList(new ArrayList<>());
         connection.setExceptionListener(failure -> exceptions.add(Case.describe(failure)));
         Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
         Queue queue = c.queue(session, "q");
         MessageConsumer consumer = session.createConsumer(queue);
         MessageProducer producer = session.createProducer(queue);
         c.eventually("consumers", 1L, () -> c.consumers(c.named("q")));
         link.cut();
         c.eventually("consumers then", 0L, () -> c.consumers(c.named("q")));
         c.eventually("exceptions", 1, exceptions::size);
         // The client closes its consumers and producers one after the other.
         c.eventually("sends are refused", true, () -> isRefused(() -> producer.send(session.createTextMessage("x"))));
         c.eventually("receives are refused", true, () -> isRefused(() -> consumer.receive(100)));
         c.thrown("session", () -> connection.createSession(false, Session.AUTO_ACKNOWLEDGE));
      }
   }

   private static boolean isRefused(Case.Action action) throws Exception {
      try {
         action.run();
         return false;
      } catch (JMSException refused) {
         return true;
      }
   }

   /** An idle connection lives on by its pings beyond its time to live. */
   private static void ping(Case c) throws Exception {
      Connection connection = c.connect("connectionTTL=2000&clientFailureCheckPeriod=1000&reconnectAttempts=0");
      Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      MessageConsumer consumer = session.createConsumer(queue);
      c.fact("idle", Case.text(consumer.receive(5_000)));
      c.send(session, queue, "alive");
      c.fact("then", c.receive(consumer, 1));
   }

   private Reattachment() {
   }
}
