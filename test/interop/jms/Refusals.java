package interop;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;

import javax.jms.Connection;
import javax.jms.MessageConsumer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.Topic;

import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;
import org.apache.activemq.artemis.jms.client.ActiveMQDestination;

/** What the broker refuses, and how the client is told. */
final class Refusals {

   static void addTo(Cases cases) {
      cases.add("refused.login", Refusals::login);
      cases.add("refused.queue", Refusals::queue);
      cases.add("refused.name", Refusals::name);
      cases.add("refused.deleted", Refusals::deleted);
      cases.add("refused.type", Refusals::type);
      cases.add("refused.closed", Refusals::closed);
      cases.add("security.send", Refusals::sendOnly);
      cases.add("security.consume", Refusals::readOnly);
      cases.add("security.browse", Refusals::browseOnly);
      cases.add("security.create", Refusals::create);
      cases.add("security.topic", Refusals::topic);
      cases.add("security.manage", Refusals::manage);
   }

   private static final String LIMITED = "limited";
   private static final String LIMITED_PASSWORD = "secret";

   private static Session limited(Case c, boolean transacted) throws Exception {
      return c.started(c.factory("").createConnection(LIMITED, LIMITED_PASSWORD)).createSession(transacted, transacted ? Session.SESSION_TRANSACTED : Session.AUTO_ACKNOWLEDGE);
   }

   private static void login(Case c) throws Exception {
      ActiveMQConnectionFactory factory = c.factory("");
      c.thrown("wrong password", () -> factory.createConnection(c.broker.user(), "wrong").close());
      c.thrown("unknown user", () -> factory.createConnection("nobody", "x").close());
      c.thrown("empty password", () -> factory.createConnection(c.broker.user(), "").close());
      c.thrown("no user", () -> c.opened(new ActiveMQConnectionFactory(c.broker.url(""))).createConnection().close());
      c.thrown("right one", () -> factory.createConnection(c.broker.user(), c.broker.password()).close());
      c.thrown("context", () -> factory.createContext(c.broker.user(), "wrong").close());
   }

   /** With auto-creation off. */
   private static void queue(Case c) throws Exception {
      Session session = c.session();
      c.thrown("queue", () -> session.createQueue("noautocreate.q"));
      c.thrown("topic", () -> session.createTopic("noautocreate.t"));
      // Destinations that were not looked up first.
      Queue queue = ActiveMQDestination.createQueue("noautocreate.q");
      Topic topic = ActiveMQDestination.createTopic("noautocreate.t");
      c.thrown("producer of a missing queue", () -> session.createProducer(queue));
      c.thrown("consumer of a missing queue", () -> session.createConsumer(queue));
      c.thrown("browser of a missing queue", () -> session.createBrowser(queue));
      c.thrown("producer of a missing topic", () -> session.createProducer(topic));
      c.thrown("consumer of a missing topic", () -> session.createConsumer(topic));
      c.thrown("anonymous send", () -> session.createProducer(null).send(queue, session.createMessage()));
      c.fact("exists", c.exists("noautocreate.q"));
   }

   private static void name(Case c) throws Exception {
      Session session = c.session();
      c.thrown("consumer of null", () -> session.createConsumer(null));
      c.thrown("queue named null", () -> session.createConsumer(session.createQueue(null)));
      c.thrown("empty queue name", () -> session.createConsumer(session.createQueue("")));
      c.thrown("unknown parameter", () -> session.createConsumer(c.queue(session, "q?no-such=1")).close());
      c.thrown("bad parameter value", () -> session.createConsumer(c.queue(session, "r?max-consumers=many")).close());
   }

   /** The queue is deleted under a consumer. */
   private static void deleted(Case c) throws Exception {
      Connection connection = c.connect("reconnectAttempts=0");
      List<String> exceptions = Collections.synchronizedList(new ArrayList<>());
      connection.setExceptionListener(failure -> exceptions.add(Case.describe(failure)));
      Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      MessageConsumer consumer = session.createConsumer(queue);
      c.thrown("deleted while consumed", () -> c.operation("broker", "destroyQueue", c.named("q")));
      c.thrown("deleted with its consumers", () -> c.operation("broker", "destroyQueue", c.named("q"), true));
      c.fact("exists", c.exists(c.named("q")));
      // The client hears of it beside the answers, and a receive that waits meanwhile returns nothing.
      long patience = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Case.PATIENCE);
      c.thrown("receive", () -> {
         while (System.nanoTime() < patience) {
            consumer.receive(50);
         }
      });
      c.thrown("new consumer creates it again", () -> session.createConsumer(queue).close());
      c.fact("exists then", c.exists(c.named("q")));
   }

   /** An address of one kind used as the other. */
   private static void type(Case c) throws Exception {
      Session session = c.session();
      c.operation("broker", "createAddress", "noautocreate.multicast", "MULTICAST");
      c.operation("broker", "createAddress", "noautocreate.anycast", "ANYCAST");
      c.thrown("queue producer", () -> c.send(session, ActiveMQDestination.createQueue("noautocreate.multicast"), "x"));
      c.thrown("queue consumer", () -> session.createConsumer(ActiveMQDestination.createQueue("noautocreate.multicast")).close());
      c.thrown("topic consumer", () -> session.createConsumer(ActiveMQDestination.createTopic("noautocreate.anycast")).close());
      c.thrown("topic producer", () -> c.send(session, ActiveMQDestination.createTopic("noautocreate.multicast"), "x"));
   }

   private static void closed(Case c) throws Exception {
      Connection connection = c.connect();
      Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      MessageConsumer consumer = session.createConsumer(queue);
      consumer.close();
      c.thrown("receive on a closed consumer", () -> consumer.receive(10));
      session.close();
      c.thrown("closed session", () -> session.createConsumer(queue));
      connection.close();
      c.thrown("closed connection", () -> connection.createSession(false, Session.AUTO_ACKNOWLEDGE));
      connection.close();
   }

   private static void sendOnly(Case c) throws Exception {
      Session session = limited(c, false);
      Queue queue = session.createQueue("security.sendonly");
      c.thrown("send", () -> c.send(session, queue, "x"));
      c.thrown("consume", () -> session.createConsumer(queue));
      c.thrown("browse", () -> Selectors.browse(session.createBrowser(queue)));
      c.fact("count", c.count("security.sendonly"));
   }

   private static void readOnly(Case c) throws Exception {
      Session admin = c.session();
      Session session = limited(c, false);
      Queue queue = session.createQueue("security.readonly");
      c.send(admin, queue, "x");
      c.thrown("send", () -> c.send(session, queue, "y"));
      c.thrown("browse", () -> Selectors.browse(session.createBrowser(queue)));
      c.fact("received", c.receive(session.createConsumer(queue), 1));
      Session transacted = limited(c, true);
      c.thrown("send in a transaction", () -> {
         c.send(transacted, queue, "z");
         transacted.commit();
      });
      Session async = c.started(c.factory("blockOnDurableSend=false").createConnection(LIMITED, LIMITED_PASSWORD)).createSession(false, Session.AUTO_ACKNOWLEDGE);
      c.thrown("send without waiting", () -> c.send(async, queue, "lost"));
      c.fact("left", c.drain(admin.createConsumer(queue)));
   }

   private static void browseOnly(Case c) throws Exception {
      Session admin = c.session();
      Session session = limited(c, false);
      Queue queue = session.createQueue("security.browseonly");
      c.send(admin, queue, "x");
      c.thrown("browse", () -> c.fact("browsed", Selectors.browse(session.createBrowser(queue))));
      c.thrown("consume", () -> session.createConsumer(queue));
   }

   private static void create(Case c) throws Exception {
      Session session = limited(c, false);
      c.thrown("queue producer", () -> c.send(session, c.queue(session, "new"), "x"));
      c.thrown("queue consumer", () -> session.createConsumer(c.queue(session, "new")));
      c.thrown("topic producer", () -> c.send(session, c.topic(session, "newtopic"), "x"));
      c.thrown("topic consumer", () -> session.createConsumer(c.topic(session, "newtopic")));
      c.thrown("temporary queue", session::createTemporaryQueue);
      c.fact("exists", c.exists(c.named("new")));
   }

   private static void topic(Case c) throws Exception {
      Session admin = c.session();
      Session session = limited(c, false);
      Topic topic = session.createTopic("security.topic");
      MessageConsumer consumer = session.createConsumer(topic);
      c.thrown("durable", () -> session.createSharedDurableConsumer(topic, c.named("sub")));
      c.thrown("send", () -> c.send(session, topic, "x"));
      c.send(admin, topic, "y");
      c.fact("received", c.drain(consumer));
   }

   private static void manage(Case c) throws Exception {
      Session session = limited(c, false);
      c.thrown("management address", () -> c.send(session, session.createQueue("activemq.management"), "x"));
      c.thrown("notifications", () -> session.createConsumer(session.createTopic("activemq.notifications")));
   }

   private Refusals() {
   }
}
