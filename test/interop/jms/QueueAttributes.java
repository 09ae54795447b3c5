package interop;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

import javax.jms.Connection;
import javax.jms.DeliveryMode;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.TextMessage;
import javax.jms.Topic;

import org.apache.activemq.artemis.api.core.QueueConfiguration;
import org.apache.activemq.artemis.api.core.RoutingType;
import org.apache.activemq.artemis.jms.client.ActiveMQMessage;

/** Queues of other kinds, asked for by parameters of the destination's name or by address settings. */
final class QueueAttributes {

   static void addTo(Cases cases) {
      cases.add("queue.lastvalue", c -> lastValue(c, with(q -> q.setLastValue(true))));
      cases.add("queue.lastvalue.key", QueueAttributes::lastValueKey);
      cases.add("queue.lastvalue.nondestructive", QueueAttributes::lastValueNonDestructive);
      cases.add("queue.lastvalue.topic", QueueAttributes::lastValueTopic);
      cases.add("queue.ring", c -> ring(c, with(q -> q.setRingSize(2L))));
      cases.add("queue.ring.priority", QueueAttributes::ringPriority);
      cases.add("queue.ring.delivering", QueueAttributes::ringDelivering);
      cases.add("queue.exclusive", c -> exclusive(c, with(q -> q.setExclusive(true))));
      cases.add("queue.nondestructive", QueueAttributes::nonDestructive);
      cases.add("queue.purge", QueueAttributes::purge);
      cases.add("queue.maxconsumers", c -> maxConsumers(c, with(q -> q.setMaxConsumers(1))));
      cases.add("queue.dispatch", QueueAttributes::dispatch);
      cases.add("queue.dispatch.delay", QueueAttributes::dispatchDelay);
      cases.add("queue.consumerpriority", QueueAttributes::consumerPriority);
      cases.add("queue.group.buckets", QueueAttributes::buckets);
      cases.add("queue.group.nobuckets", QueueAttributes::noBuckets);
      cases.add("queue.group.firstkey", QueueAttributes::firstKey);
      cases.add("queue.group.rebalance", QueueAttributes::rebalance);
      cases.add("queue.parameters", QueueAttributes::parameters);
      cases.add("queue.filter", QueueAttributes::configured);
      cases.add("queue.fqqn", QueueAttributes::fqqn);
      cases.add("autodelete.queue", QueueAttributes::autoDelete);
      cases.add("settings.lastvalue", c -> lastValue(c, QueueAttributes::bySettings));
      cases.add("settings.ring", c -> ring(c, QueueAttributes::bySettings));
      cases.add("settings.exclusive", c -> exclusive(c, QueueAttributes::bySettings));
      cases.add("settings.maxconsumers", c -> maxConsumers(c, QueueAttributes::bySettings));
      cases.add("settings.ingress", QueueAttributes::ingress);
      cases.add("divert.copy", c -> divert(c, "divert.source", "divert.target"));
      cases.add("divert.exclusive", c -> divert(c, "divert.exclusive.source", "divert.exclusive.target"));
   }

   interface Attributes {
      void set(QueueConfiguration queue);
   }

   /** Creates the queue "q" of the case with attributes. */
   private static Queue create(Case c, Session session, Attributes attributes) throws Exception {
      QueueConfiguration queue = QueueConfiguration.of(c.named("q")).setRoutingType(RoutingType.ANYCAST);
      attributes.set(queue);
      c.core().createQueue(queue);
      return c.queue(session, "q");
   }

   /** The queue "q" as the address settings make it. */
   private static Queue bySettings(Case c, Session session) throws Exception {
      Queue queue = c.queue(session, "q");
      session.createConsumer(queue).close();
      return queue;
   }

   interface Maker {
      Queue make(Case c, Session session) throws Exception;
   }

   private static Maker with(Attributes attributes) {
      return (c, session) -> create(c, session, attributes);
   }

   private static void sendValue(Session session, javax.jms.Destination destination, String key, String value, String text) throws Exception {
      try (MessageProducer producer = session.createProducer(destination)) {
         TextMessage m = session.createTextMessage(text);
         if (value != null) {
            m.setStringProperty(key, value);
         }
         producer.send(m);
      }
   }

   private static void lastValue(Case c, Maker maker) throws Exception {
      Session session = c.session();
      Queue queue = maker.make(c, session);
      for (String text : new String[] {"A1", "B1", "A2", "C1", "B2", "plain", "plain"}) {
         sendValue(session, queue, "_AMQ_LVQ_NAME", text.length() == 2 ? text.substring(0, 1) : null, text);
      }
      c.eventually("count", 5L, () -> c.count(c.named("q")));
      c.fact("received", c.drain(session.createConsumer(queue)));
   }

   private static void lastValueKey(Case c) throws Exception {
      Session session = c.session();
      Queue queue = create(c, session, q -> q.setLastValueKey("symbol"));
      for (String text : new String[] {"A1", "B1", "A2"}) {
         sendValue(session, queue, "symbol", text.substring(0, 1), text);
      }
      try (MessageProducer producer = session.createProducer(queue)) {
         for (int n = 0; n < 2; n++) {
            TextMessage m = session.createTextMessage("number " + n);
            m.setIntProperty("symbol", 5);
            producer.send(m);
         }
      }
      c.fact("received", c.drain(session.createConsumer(queue)));
   }

   private static void lastValueNonDestructive(Case c) throws Exception {
      Session session = c.session();
      Queue queue = create(c, session, q -> q.setLastValueKey("symbol").setNonDestructive(true));
      sendValue(session, queue, "symbol", "A", "A1");
      sendValue(session, queue, "symbol", "B", "B1");
      MessageConsumer one = session.createConsumer(queue);
      c.fact("one", c.receive(one, 2));
      sendValue(session, queue, "symbol", "A", "A2");
      c.fact("one gets the update", c.receive(one, 1));
      MessageConsumer other = session.createConsumer(queue);
      c.fact("other", c.receive(other, 2));
      c.eventually("count", 2L, () -> c.count(c.named("q")));
   }

   private static void lastValueTopic(Case c) throws Exception {
      Session session = c.connectAs(c.named("client")).createSession(false, Session.AUTO_ACKNOWLEDGE);
      Topic topic = session.createTopic(c.named("t") + "?last-value-key=symbol");
      session.createDurableSubscriber(topic, "sub").close();
      for (String text : new String[] {"A1", "B1", "A2"}) {
         sendValue(session, topic, "symbol", text.substring(0, 1), text);
      }
      c.fact("received", c.drain(session.createDurableSubscriber(topic, "sub")));
   }

   private static void ring(Case c, Maker maker) throws Exception {
      Session session = c.session();
      Queue queue = maker.make(c, session);
      c.send(session, queue, Case.array(Case.texts("m", 5)));
      c.eventually("count", 2L, () -> c.count(c.named("q")));
      c.fact("received", c.drain(session.createConsumer(queue)));
   }

   private static void ringPriority(Case c) throws Exception {
      Session session = c.session();
      Queue queue = create(c, session, q -> q.setRingSize(2L));
      MessageProducer producer = session.createProducer(queue);
      for (int priority : new int[] {9, 0, 1}) {
         producer.send(session.createTextMessage("p" + priority), DeliveryMode.PERSISTENT, priority, 0);
      }
      c.fact("received", c.drain(session.createConsumer(queue)));
   }

   private static void ringDelivering(Case c) throws Exception {
      Session session = c.connect().createSession(false, Session.CLIENT_ACKNOWLEDGE);
      Queue queue = create(c, session, q -> q.setRingSize(2L));
      MessageConsumer consumer = session.createConsumer(queue);
      c.send(session, queue, Case.array(Case.texts("m", 4)));
      c.fact("received", c.receive(consumer, 4));
      c.fact("while delivering", c.count(c.named("q")));
      consumer.close();
      session.close();
      c.eventually("after they came back", 2L, () -> c.count(c.named("q")));
      Session reader = c.session();
      c.fact("kept", c.drain(reader.createConsumer(c.queue(reader, "q"))));
   }

   private static void exclusive(Case c, Maker maker) throws Exception {
      Connection connection = c.connect();
      Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = maker.make(c, session);
      MessageConsumer one = session.createConsumer(queue);
      MessageConsumer other = session.createConsumer(queue);
      c.send(session, queue, Case.array(Case.texts("m", 4)));
      c.fact("one", c.receive(one, 4));
      c.fact("other", Case.text(other.receive(Case.SILENCE)));
      one.close();
      c.send(session, queue, "next");
      c.fact("other then", c.receive(other, 1));
   }

   private static void nonDestructive(Case c) throws Exception {
      Session session = c.session();
      Queue queue = create(c, session, q -> q.setNonDestructive(true));
      c.send(session, queue, "a", "b");
      MessageConsumer one = session.createConsumer(queue);
      c.fact("one", c.receive(one, 2));
      MessageConsumer other = session.createConsumer(queue);
      c.fact("other", c.receive(other, 2));
      c.send(session, queue, "c");
      c.fact("one then", c.receive(one, 1));
      c.fact("other then", c.receive(other, 1));
      c.fact("count", c.count(c.named("q")));
   }

   private static void purge(Case c) throws Exception {
      Session session = c.session();
      Queue queue = create(c, session, q -> q.setPurgeOnNoConsumers(true));
      MessageConsumer consumer = session.createConsumer(queue);
      c.send(session, queue, "a", "b", "c");
      c.fact("received", c.receive(consumer, 1));
      consumer.close();
      c.eventually("after the last consumer", 0L, () -> c.count(c.named("q")));
      c.send(session, queue, "d");
      c.fact("sent without a consumer", c.count(c.named("q")));
   }

   private static void maxConsumers(Case c, Maker maker) throws Exception {
      Session session = c.session();
      Queue queue = maker.make(c, session);
      MessageConsumer consumer = session.createConsumer(queue);
      c.thrown("second consumer", () -> session.createConsumer(queue));
      c.send(session, queue, "a");
      c.fact("browsed", Selectors.browse(session.createBrowser(queue)).size() <= 1);
      c.fact("received", c.receive(consumer, 1));
      consumer.close();
      c.thrown("after close", () -> session.createConsumer(queue));
   }

   private static void dispatch(Case c) throws Exception {
      Session session = c.session();
      Queue queue = create(c, session, q -> q.setConsumersBeforeDispatch(2));
      MessageConsumer one = session.createConsumer(queue);
      c.send(session, queue, Case.array(Case.texts("m", 4)));
      c.fact("one alone", Case.text(one.receive(Case.SILENCE)));
      MessageConsumer other = session.createConsumer(queue);
      List<String> all = new ArrayList<>(c.receive(one, 2));
      all.addAll(c.receive(other, 2));
      c.fact("two", new TreeSet<>(all));
      other.close();
      c.send(session, queue, "next");
      c.fact("goes on with one", c.receive(one, 1));
   }

   private static void dispatchDelay(Case c) throws Exception {
      Session session = c.session();
      Queue queue = create(c, session, q -> q.setConsumersBeforeDispatch(2).setDelayBeforeDispatch(400L));
      long first = System.nanoTime();
      MessageConsumer one = session.createConsumer(queue);
      c.send(session, queue, "m");
      List<String> received = new ArrayList<>();
      long deadline = System.currentTimeMillis() + Case.PATIENCE;
      while (received.isEmpty() && System.currentTimeMillis() < deadline) {
         Message m = one.receive(50);
         if (m != null) {
            received.add(Case.text(m));
         }
      }
      c.fact("received", received);
      c.atLeast("after", 390, (System.nanoTime() - first) / 1_000_000);
   }

   private static void consumerPriority(Case c) throws Exception {
      Session session = c.session();
      MessageConsumer low = session.createConsumer(c.queue(session, "q"));
      MessageConsumer high = session.createConsumer(session.createQueue(c.named("q") + "?consumer-priority=5"));
      c.send(session, c.queue(session, "q"), Case.array(Case.texts("m", 4)));
      c.fact("high", c.receive(high, 4));
      c.fact("low", Case.text(low.receive(Case.SILENCE)));
      high.close();
      c.send(session, c.queue(session, "q"), "next");
      c.fact("low then", c.receive(low, 1));
   }

   private static void sendGroups(Session session, Queue queue, int each, String... groups) throws Exception {
      try (MessageProducer producer = session.createProducer(queue)) {
         for (int n = 0; n < each; n++) {
            for (String group : groups) {
               TextMessage m = session.createTextMessage(group + n);
               m.setStringProperty("JMSXGroupID", group);
               producer.send(m);
            }
         }
      }
   }

   private static void buckets(Case c) throws Exception {
      Session session = c.session();
      Queue queue = create(c, session, q -> q.setGroupBuckets(1));
      MessageConsumer one = session.createConsumer(queue);
      MessageConsumer other = session.createConsumer(queue);
      sendGroups(session, queue, 2, "A", "B", "C");
      List<String> a = c.drain(one);
      List<String> b = c.drain(other);
      c.fact("all on one consumer", Math.max(a.size(), b.size()));
      c.fact("in order", a.isEmpty() ? b : a);
   }

   private static void noBuckets(Case c) throws Exception {
      Session session = c.session();
      Queue queue = create(c, session, q -> q.setGroupBuckets(0));
      MessageConsumer one = session.createConsumer(queue);
      MessageConsumer other = session.createConsumer(queue);
      sendGroups(session, queue, 6, "A");
      c.fact("one", c.drain(one).size());
      c.fact("other", c.drain(other).size());
   }

   private static void firstKey(Case c) throws Exception {
      Session session = c.session();
      Queue queue = create(c, session, q -> q.setGroupFirstKey("firstOne"));
      MessageConsumer consumer = session.createConsumer(queue);
      sendGroups(session, queue, 3, "A", "B");
      for (int n = 0; n < 6; n++) {
         Message m = consumer.receive(Case.PATIENCE);
         c.fact("first", Case.text(m) + " " + m.getObjectProperty("firstOne"));
      }
   }

   private static void rebalance(Case c) throws Exception {
      Session session = c.session();
      Queue queue = create(c, session, q -> q.setGroupRebalance(true));
      MessageConsumer one = session.createConsumer(queue);
      sendGroups(session, queue, 1, "A", "B", "C");
      c.fact("one", c.receive(one, 3));
      c.eventually("groups", 3, () -> c.attribute("queue." + c.named("q"), "GroupCount"));
      MessageConsumer other = session.createConsumer(queue);
      c.eventually("groups with a new consumer", 0, () -> c.attribute("queue." + c.named("q"), "GroupCount"));
      sendGroups(session, queue, 2, "A", "B");
      c.fact("spread", c.drain(one).size() + " and " + c.drain(other).size());
   }

   /** Attributes as parameters of the destination's name, as far as the client passes them on. */
   private static void parameters(Case c) throws Exception {
      Session session = c.connectAs(c.named("client")).createSession(false, Session.AUTO_ACKNOWLEDGE);
      session.createConsumer(c.queue(session, "q?max-consumers=3&ring-size=7&purge-on-no-consumers=true&exclusive=true&consumers-before-dispatch=0&group-buckets=4")).close();
      Topic topic = session.createTopic(c.named("t") + "?max-consumers=3&ring-size=7&last-value-key=key&non-destructive=true");
      session.createDurableSubscriber(topic, "sub").close();
      for (String queue : List.of(c.named("q"), c.subscription("client", "sub"))) {
         for (String attribute : List.of("MaxConsumers", "RingSize", "PurgeOnNoConsumers", "Exclusive", "GroupBuckets", "LastValueKey")) {
            c.fact(queue + " " + attribute, c.attribute("queue." + queue, attribute));
         }
      }
   }

   /** A queue of broker.xml with a filter and a consumer limit. */
   private static void configured(Case c) throws Exception {
      Session session = c.session();
      Queue queue = session.createQueue("configured.queue");
      sendValue(session, queue, "colour", "red", "red");
      sendValue(session, queue, "colour", "blue", "blue");
      sendValue(session, queue, "colour", null, "none");
      c.fact("received", c.drain(session.createConsumer(queue)));
      c.thrown("second consumer", () -> session.createConsumer(queue));
      c.thrown("third consumer", () -> session.createConsumer(queue));
      c.fact("filter", c.attribute("queue.configured.queue", "Filter"));
   }

   private static void fqqn(Case c) throws Exception {
      Session session = c.session();
      Queue one = session.createQueue(c.named("address") + "::" + c.named("one"));
      Queue other = session.createQueue(c.named("address") + "::" + c.named("other"));
      MessageConsumer first = session.createConsumer(one);
      MessageConsumer second = session.createConsumer(other);
      c.send(session, one, "to one");
      c.send(session, other, "to other");
      c.fact("one", c.drain(first));
      c.fact("other", c.drain(second));
      c.fact("queue names", c.mine(List.of((Object[]) c.attribute("address." + c.named("address"), "QueueNames"))));
   }

   private static void autoDelete(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a");
      MessageConsumer consumer = session.createConsumer(queue);
      c.fact("received", c.receive(consumer, 1));
      c.fact("while used", c.exists(c.named("q")));
      consumer.close();
      c.eventually("queue when drained", false, () -> c.exists(c.named("q")));
      c.eventually("address when drained", false, () -> c.addressExists(c.named("q")));
      Queue full = c.queue(session, "full");
      c.send(session, full, "a", "b");
      consumer = session.createConsumer(full);
      c.receive(consumer, 1);
      consumer.close();
      c.fact("one that is not empty stays", c.count(c.named("full")));
   }

   private static void ingress(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      long before = System.currentTimeMillis();
      c.send(session, queue, "m");
      Message m = session.createConsumer(queue).receive(Case.PATIENCE);
      long time = ((ActiveMQMessage) m).getCoreMessage().getLongProperty("_AMQ_INGRESS_TIMESTAMP");
      c.fact("ingress time", time >= before && time <= System.currentTimeMillis());
   }

   private static void divert(Case c, String source, String target) throws Exception {
      Session session = c.session();
      Queue from = session.createQueue(source);
      sendValue(session, from, "colour", "red", "red");
      sendValue(session, from, "colour", "blue", "blue");
      c.fact("source", c.drain(session.createConsumer(from)));
      MessageConsumer consumer = session.createConsumer(session.createQueue(target));
      for (Message m = consumer.receive(Case.SILENCE); m != null; m = consumer.receive(Case.SILENCE)) {
         Expiry.moved(c, m);
      }
   }

   private QueueAttributes() {
   }
}
