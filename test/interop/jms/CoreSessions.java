package interop;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.apache.activemq.artemis.api.core.ActiveMQException;
import org.apache.activemq.artemis.api.core.Message;
import org.apache.activemq.artemis.api.core.QueueConfiguration;
import org.apache.activemq.artemis.api.core.RoutingType;
import org.apache.activemq.artemis.api.core.SimpleString;
import org.apache.activemq.artemis.api.core.client.ClientConsumer;
import org.apache.activemq.artemis.api.core.client.ClientMessage;
import org.apache.activemq.artemis.api.core.client.ClientProducer;
import org.apache.activemq.artemis.api.core.client.ClientSession;
import org.apache.activemq.artemis.api.core.client.ClientSessionFactory;
import org.apache.activemq.artemis.api.core.client.SendAcknowledgementHandler;

/** What only the core API reaches: queries, creation with attributes, routing types, raw properties, core errors. */
final class CoreSessions {

   static void addTo(Cases cases) {
      cases.add("core.create", CoreSessions::create);
      cases.add("core.create.refused", CoreSessions::createRefused);
      cases.add("core.query.queue", CoreSessions::queueQuery);
      cases.add("core.query.address", CoreSessions::addressQuery);
      cases.add("core.delete", CoreSessions::delete);
      cases.add("core.shared", CoreSessions::shared);
      cases.add("core.routing", CoreSessions::routing);
      cases.add("core.routing.prefix", CoreSessions::prefix);
      cases.add("core.routing.autocreate", CoreSessions::autoCreate);
      cases.add("core.properties", CoreSessions::properties);
      cases.add("core.send.handler", CoreSessions::handler);
      cases.add("core.send.refused", CoreSessions::sendRefused);
      cases.add("core.consumer", CoreSessions::consumer);
      cases.add("core.acknowledge", CoreSessions::acknowledge);
      cases.add("core.rollback", CoreSessions::rollback);
      cases.add("core.metadata", CoreSessions::metadata);
      cases.add("core.stop", CoreSessions::stop);
      cases.add("core.unrouted", CoreSessions::unrouted);
      cases.add("core.filter", CoreSessions::filter);
      cases.add("core.temporary", CoreSessions::temporary);
      cases.add("core.expired-at-send", CoreSessions::expiredAtSend);
      cases.add("core.types", CoreSessions::types);
   }

   private static SimpleString simple(String text) {
      return SimpleString.of(text);
   }

   private static QueueConfiguration queue(Case c, String part) {
      return QueueConfiguration.of(c.named(part)).setRoutingType(RoutingType.ANYCAST);
   }

   private static void send(ClientSession session, String address, RoutingType type, String... texts) throws Exception {
      try (ClientProducer producer = session.createProducer(address)) {
         for (int n = 0; n < texts.length; n++) {
            ClientMessage m = session.createMessage(true);
            m.putStringProperty("text", texts[n]);
            m.putIntProperty("n", n);
            if (type != null) {
               m.setRoutingType(type);
            }
            producer.send(m);
         }
      }
   }

   private static List<String> drain(ClientSession session, String queue) throws Exception {
      List<String> texts = new ArrayList<>();
      try (ClientConsumer consumer = session.createConsumer(queue)) {
         for (ClientMessage m = consumer.receiveImmediate(); m != null; m = consumer.receiveImmediate()) {
            texts.add(m.getStringProperty("text"));
            m.acknowledge();
         }
         session.commit();
      }
      return texts;
   }

   private static void create(Case c) throws Exception {
      ClientSession session = c.core();
      session.createQueue(queue(c, "plain"));
      session.createQueue(QueueConfiguration.of(c.named("full")).setAddress(c.named("address")).setRoutingType(RoutingType.MULTICAST).setFilterString("n > 1").setDurable(true)
         .setMaxConsumers(3).setPurgeOnNoConsumers(true).setExclusive(true).setGroupRebalance(true).setGroupBuckets(4).setGroupFirstKey("first")
         .setConsumersBeforeDispatch(2).setDelayBeforeDispatch(100L).setRingSize(7L).setAutoDelete(false));
      session.createQueue(QueueConfiguration.of(c.named("lvq")).setRoutingType(RoutingType.ANYCAST).setLastValueKey("key").setNonDestructive(true).setDurable(false));
      session.createQueue(QueueConfiguration.of(c.named("defaults")));
      for (String part : List.of("plain", "full", "lvq", "defaults")) {
         ClientSession.QueueQuery q = session.queueQuery(simple(c.named(part)));
         c.fact(part, describe(q));
      }
   }

   private static String describe(ClientSession.QueueQuery q) {
      Map<String, Object> facts = new TreeMap<>();
      facts.put("exists", q.isExists());
      facts.put("name", q.getName());
      facts.put("address", q.getAddress());
      facts.put("routing", q.getRoutingType());
      facts.put("durable", q.isDurable());
      facts.put("temporary", q.isTemporary());
      facts.put("filter", q.getFilterString());
      facts.put("consumers", q.getConsumerCount());
      facts.put("messages", q.getMessageCount());
      facts.put("maxConsumers", q.getMaxConsumers());
      facts.put("purge", q.isPurgeOnNoConsumers());
      facts.put("autoCreated", q.isAutoCreated());
      facts.put("autoCreateQueues", q.isAutoCreateQueues());
      facts.put("exclusive", q.isExclusive());
      facts.put("lastValue", q.isLastValue());
      facts.put("lastValueKey", q.getLastValueKey());
      facts.put("nonDestructive", q.isNonDestructive());
      facts.put("groupRebalance", q.isGroupRebalance());
      facts.put("groupBuckets", q.getGroupBuckets());
      facts.put("groupFirstKey", q.getGroupFirstKey());
      facts.put("consumersBeforeDispatch", q.getConsumersBeforeDispatch());
      facts.put("delayBeforeDispatch", q.getDelayBeforeDispatch());
      facts.put("autoDelete", q.isAutoDelete());
      facts.put("autoDeleteDelay", q.getAutoDeleteDelay());
      facts.put("autoDeleteMessageCount", q.getAutoDeleteMessageCount());
      facts.put("ringSize", q.getRingSize());
      facts.put("enabled", q.isEnabled());
      facts.put("window", q.getDefaultConsumerWindowSize());
      return facts.toString();
   }

   private static void createRefused(Case c) throws Exception {
      ClientSession session = c.core();
      session.createQueue(queue(c, "q"));
      c.thrown("existing", () -> session.createQueue(queue(c, "q")));
      c.thrown("existing on another address", () -> session.createQueue(queue(c, "q").setAddress(c.named("other"))));
      c.thrown("without a name", () -> session.createQueue(QueueConfiguration.of("").setAddress(c.named("a")).setRoutingType(RoutingType.ANYCAST)));
      c.thrown("with a bad filter", () -> session.createQueue(queue(c, "bad").setFilterString("a b c")));
      c.thrown("on a missing address", () -> session.createQueue(queue(c, "m").setAddress("noautocreate.missing").setAutoCreateAddress(false)));
      session.createAddress(simple(c.named("anycast")), RoutingType.ANYCAST, false);
      c.thrown("address again", () -> session.createAddress(simple(c.named("anycast")), RoutingType.ANYCAST, false));
      c.thrown("other routing type", () -> session.createQueue(QueueConfiguration.of(c.named("x")).setAddress(c.named("anycast")).setRoutingType(RoutingType.MULTICAST).setAutoCreateAddress(false)));
      c.fact("exist", c.exists(c.named("bad")) + " " + c.exists(c.named("m")));
   }

   private static void queueQuery(Case c) throws Exception {
      ClientSession session = c.core();
      ClientSession.QueueQuery missing = session.queueQuery(simple(c.named("missing")));
      c.fact("missing", missing.isExists() + " auto create " + missing.isAutoCreateQueues());
      c.fact("missing without auto-create", session.queueQuery(simple("noautocreate.missing")).isAutoCreateQueues());
      session.createQueue(queue(c, "q"));
      send(session, c.named("q"), RoutingType.ANYCAST, "a", "b");
      ClientConsumer consumer = session.createConsumer(c.named("q"));
      c.fact("used", describe(session.queueQuery(simple(c.named("q")))));
      consumer.close();
   }

   private static void addressQuery(Case c) throws Exception {
      ClientSession session = c.core();
      session.createAddress(simple(c.named("both")), java.util.EnumSet.of(RoutingType.ANYCAST, RoutingType.MULTICAST), false);
      session.createQueue(QueueConfiguration.of(c.named("one")).setAddress(c.named("both")).setRoutingType(RoutingType.ANYCAST));
      session.createQueue(QueueConfiguration.of(c.named("two")).setAddress(c.named("both")).setRoutingType(RoutingType.MULTICAST));
      for (String part : List.of("both", "missing")) {
         ClientSession.AddressQuery q = session.addressQuery(simple(c.named(part)));
         List<String> queues = new ArrayList<>();
         q.getQueueNames().forEach(name -> queues.add(name.toString()));
         queues.sort(null);
         c.fact(part, q.isExists() + " queues " + queues + " anycast " + q.isSupportsAnycast() + " multicast " + q.isSupportsMulticast()
            + " auto create " + q.isAutoCreateQueues() + " " + q.isAutoCreateAddresses() + " purge " + q.isDefaultPurgeOnNoConsumers() + " max " + q.getDefaultMaxConsumers());
      }
   }

   private static void delete(Case c) throws Exception {
      ClientSession session = c.core();
      session.createQueue(queue(c, "q"));
      ClientConsumer consumer = session.createConsumer(c.named("q"));
      c.thrown("with a consumer", () -> session.deleteQueue(c.named("q")));
      consumer.close();
      send(session, c.named("q"), RoutingType.ANYCAST, "lost");
      c.thrown("with a message", () -> session.deleteQueue(c.named("q")));
      c.fact("exists", c.exists(c.named("q")));
      c.thrown("again", () -> session.deleteQueue(c.named("q")));
      c.thrown("consumer of what is gone", () -> session.createConsumer(c.named("q")));
   }

   private static void shared(Case c) throws Exception {
      ClientSession session = c.core();
      QueueConfiguration sub = QueueConfiguration.of(c.named("sub")).setAddress(c.named("t")).setRoutingType(RoutingType.MULTICAST).setDurable(true).setFilterString("n >= 0");
      session.createSharedQueue(sub);
      c.thrown("same again", () -> session.createSharedQueue(sub));
      c.thrown("other filter", () -> session.createSharedQueue(QueueConfiguration.of(c.named("sub")).setAddress(c.named("t")).setRoutingType(RoutingType.MULTICAST).setDurable(true).setFilterString("n = 5")));
      c.thrown("other address", () -> session.createSharedQueue(QueueConfiguration.of(c.named("sub")).setAddress(c.named("u")).setRoutingType(RoutingType.MULTICAST).setDurable(true).setFilterString("n >= 0")));
      c.thrown("not durable", () -> session.createSharedQueue(QueueConfiguration.of(c.named("sub")).setAddress(c.named("t")).setRoutingType(RoutingType.MULTICAST).setDurable(false).setFilterString("n >= 0")));
      send(session, c.named("t"), RoutingType.MULTICAST, "a");
      c.fact("received", drain(session, c.named("sub")));
   }

   private static String counts(Case c, String... parts) throws Exception {
      List<Long> counts = new ArrayList<>();
      for (String part : parts) {
         counts.add(c.count(c.named(part)));
      }
      return counts.toString();
   }

   private static void routing(Case c) throws Exception {
      ClientSession session = c.core();
      for (String part : List.of("a1", "a2")) {
         session.createQueue(queue(c, part).setAddress(c.named("mx")));
      }
      for (String part : List.of("m1", "m2")) {
         session.createQueue(queue(c, part).setAddress(c.named("mx")).setRoutingType(RoutingType.MULTICAST));
      }
      send(session, c.named("mx"), RoutingType.ANYCAST, "1", "2", "3", "4");
      c.fact("four anycast", counts(c, "a1", "a2", "m1", "m2"));
      send(session, c.named("mx"), RoutingType.MULTICAST, "5", "6");
      c.fact("two multicast", counts(c, "a1", "a2", "m1", "m2"));
      send(session, c.named("mx"), null, "7", "8");
      c.fact("two of no type", counts(c, "a1", "a2", "m1", "m2"));
      send(session, c.named("mx") + "::" + c.named("m2"), null, "9");
      c.fact("to one queue", counts(c, "a1", "a2", "m1", "m2"));
      send(session, c.named("mx") + "::" + c.named("m2"), RoutingType.ANYCAST, "10");
      c.fact("to one queue of the other type", counts(c, "a1", "a2", "m1", "m2"));
   }

   private static void prefix(Case c) throws Exception {
      ClientSession session = c.core();
      session.createQueue(queue(c, "a").setAddress(c.named("mx")));
      session.createQueue(queue(c, "m").setAddress(c.named("mx")).setRoutingType(RoutingType.MULTICAST));
      send(session, "anycast://" + c.named("mx"), null, "1");
      c.fact("anycast://", counts(c, "a", "m"));
      send(session, "multicast://" + c.named("mx"), null, "2");
      c.fact("multicast://", counts(c, "a", "m"));
   }

   private static void autoCreate(Case c) throws Exception {
      ClientSession session = c.core();
      send(session, c.named("anycast"), RoutingType.ANYCAST, "1");
      c.fact("anycast", c.count(c.named("anycast")));
      send(session, c.named("multicast"), RoutingType.MULTICAST, "2");
      c.fact("multicast queue", c.exists(c.named("multicast")));
      c.fact("multicast address", c.addressExists(c.named("multicast")));
      send(session, c.named("untyped"), null, "3");
      c.fact("untyped address", c.addressExists(c.named("untyped")));
      c.thrown("off", () -> send(session, "noautocreate.core", RoutingType.ANYCAST, "4"));
   }

   private static void properties(Case c) throws Exception {
      ClientSession session = c.core();
      session.createQueue(queue(c, "q"));
      ClientMessage sent = session.createMessage(Message.BYTES_TYPE, true, 0, 1234, (byte) 6);
      sent.putBooleanProperty("boolean", false);
      sent.putByteProperty("byte", (byte) -1);
      sent.putCharProperty("char", '\u2603');
      sent.putShortProperty("short", (short) -2);
      sent.putIntProperty("int", -3);
      sent.putLongProperty("long", -4);
      sent.putFloatProperty("float", -5.5f);
      sent.putDoubleProperty("double", -6.25);
      sent.putStringProperty("string", "gr\u00fc\u00dfe");
      sent.putStringProperty("null", (String) null);
      sent.putBytesProperty("bytes", new byte[] {1, 2, 3});
      sent.putStringProperty("_AMQ_ROUTE_TOabc", "removed");
      sent.putStringProperty("_AMQ_FOO", "kept");
      sent.getBodyBuffer().writeBytes(new byte[] {5, 6, 7});
      try (ClientProducer producer = session.createProducer(c.named("q"))) {
         producer.send(sent);
      }
      ClientMessage got = session.createConsumer(c.named("q")).receive(Case.PATIENCE);
      Map<String, Object> properties = new TreeMap<>();
      for (SimpleString name : got.getPropertyNames()) {
         properties.put(name.toString(), Case.typed(got.getObjectProperty(name)));
      }
      c.fact("properties", properties);
      c.fact("header", got.getType() + " " + got.isDurable() + " " + got.getExpiration() + " " + got.getTimestamp() + " " + got.getPriority() + " " + got.getUserID());
      c.fact("address", got.getAddress());
      c.fact("id set", got.getMessageID() > 0);
      byte[] body = new byte[got.getBodySize()];
      got.getBodyBuffer().readBytes(body);
      c.fact("body", body);
      got.acknowledge();
   }

   private static void handler(Case c) throws Exception {
      ClientSessionFactory factory = c.coreFactory("confirmationWindowSize=1000&blockOnDurableSend=false");
      ClientSession session = c.core(factory, true, true);
      session.createQueue(queue(c, "q"));
      CountDownLatch all = new CountDownLatch(200);
      List<Integer> acknowledged = Collections.synchronizedList(new ArrayList<>());
      session.setSendAcknowledgementHandler(new SendAcknowledgementHandler() {
         @Override
         public void sendAcknowledged(Message message) {
            acknowledged.add(message.getIntProperty("n"));
            all.countDown();
         }

         @Override
         public void sendFailed(Message message, Exception e) {
            acknowledged.add(-1);
            all.countDown();
         }
      });
      send(session, c.named("q"), RoutingType.ANYCAST, Case.array(Case.texts("m", 200)));
      c.fact("all acknowledged", all.await(Case.PATIENCE, TimeUnit.MILLISECONDS));
      List<Integer> sorted = new ArrayList<>(acknowledged);
      sorted.sort(null);
      c.fact("in order", sorted.equals(acknowledged) && sorted.get(0) == 0 && sorted.get(199) == 199);
   }

   private static void sendRefused(Case c) throws Exception {
      ClientSessionFactory factory = c.coreFactory("confirmationWindowSize=100000&blockOnDurableSend=false");
      ClientSession session = c.core(factory, true, true);
      CountDownLatch done = new CountDownLatch(1);
      List<String> outcome = Collections.synchronizedList(new ArrayList<>());
      session.setSendAcknowledgementHandler(new SendAcknowledgementHandler() {
         @Override
         public void sendAcknowledged(Message message) {
            outcome.add("acknowledged");
            done.countDown();
         }

         @Override
         public void sendFailed(Message message, Exception e) {
            outcome.add(Case.describe(e));
            done.countDown();
         }
      });
      send(session, "noautocreate.core", RoutingType.ANYCAST, "x");
      c.fact("told", done.await(Case.PATIENCE, TimeUnit.MILLISECONDS));
      c.fact("outcome", outcome);
   }

   private static void consumer(Case c) throws Exception {
      ClientSession session = c.core();
      session.createQueue(queue(c, "q"));
      send(session, c.named("q"), RoutingType.ANYCAST, Case.array(Case.texts("m", 6)));
      ClientConsumer browser = session.createConsumer(c.named("q"), true);
      List<String> browsed = new ArrayList<>();
      for (ClientMessage m = browser.receiveImmediate(); m != null; m = browser.receiveImmediate()) {
         browsed.add(m.getStringProperty("text"));
      }
      c.fact("browsed", browsed);
      browser.close();
      ClientConsumer filtered = session.createConsumer(c.named("q"), "n = 2 OR n = 4");
      c.fact("filtered", filtered.receive(Case.PATIENCE).getStringProperty("text"));
      c.fact("filtered", filtered.receive(Case.PATIENCE).getStringProperty("text"));
      c.fact("filtered", String.valueOf(filtered.receiveImmediate()));
      filtered.close();
      c.thrown("bad filter", () -> session.createConsumer(c.named("q"), "n ="));
      c.thrown("missing queue", () -> session.createConsumer(c.named("missing")));
      c.fact("left", drain(session, c.named("q")));
   }

   /** An acknowledgement takes all delivered before it; the individual one only its own. */
   private static void acknowledge(Case c) throws Exception {
      ClientSession session = c.core();
      session.createQueue(queue(c, "q"));
      send(session, c.named("q"), RoutingType.ANYCAST, Case.array(Case.texts("m", 6)));
      ClientConsumer consumer = session.createConsumer(c.named("q"));
      consumer.receive(Case.PATIENCE);
      consumer.receive(Case.PATIENCE);
      consumer.receive(Case.PATIENCE).acknowledge();
      session.commit();
      c.eventually("after the third", 3L, () -> c.count(c.named("q")));
      consumer.receive(Case.PATIENCE);
      consumer.receive(Case.PATIENCE).individualAcknowledge();
      session.commit();
      c.eventually("after the fifth alone", 2L, () -> c.count(c.named("q")));
      consumer.close();
      c.fact("left", drain(session, c.named("q")));
   }

   private static void rollback(Case c) throws Exception {
      ClientSession session = c.core(c.coreFactory(""), false, false);
      session.createQueue(queue(c, "q"));
      send(session, c.named("q"), RoutingType.ANYCAST, "a", "b");
      session.commit();
      for (boolean considerLast : new boolean[] {false, true}) {
         ClientConsumer consumer = session.createConsumer(c.named("q"));
         ClientMessage m = consumer.receive(Case.PATIENCE);
         m.acknowledge();
         c.fact("delivery count", m.getDeliveryCount());
         consumer.close();
         session.rollback(considerLast);
      }
      ClientConsumer consumer = session.createConsumer(c.named("q"));
      for (int n = 0; n < 2; n++) {
         ClientMessage m = consumer.receive(Case.PATIENCE);
         c.fact("at last", m.getStringProperty("text") + " count " + m.getDeliveryCount());
         m.acknowledge();
      }
      session.commit();
   }

   private static void metadata(Case c) throws Exception {
      ClientSession one = c.core();
      ClientSession other = c.core();
      one.addMetaData("key", "value");
      c.thrown("same key again", () -> one.addMetaData("key", "other"));
      one.addUniqueMetaData(c.named("unique"), "value");
      c.thrown("unique in another session", () -> other.addUniqueMetaData(c.named("unique"), "value"));
      c.thrown("other value", () -> other.addUniqueMetaData(c.named("unique"), "another"));
      one.close();
      c.thrown("after close", () -> c.core().addUniqueMetaData(c.named("unique"), "value"));
   }

   private static void stop(Case c) throws Exception {
      ClientSession session = c.core();
      session.createQueue(queue(c, "q"));
      ClientConsumer consumer = session.createConsumer(c.named("q"));
      session.stop();
      send(session, c.named("q"), RoutingType.ANYCAST, "a");
      c.fact("stopped", String.valueOf(consumer.receive(Case.SILENCE)));
      c.fact("count", c.count(c.named("q")));
      session.start();
      c.fact("started", consumer.receive(Case.PATIENCE).getStringProperty("text"));
   }

   /** An address without queues takes messages and keeps none. */
   private static void unrouted(Case c) throws Exception {
      ClientSession session = c.core();
      session.createAddress(simple(c.named("a")), RoutingType.MULTICAST, false);
      send(session, c.named("a"), RoutingType.MULTICAST, "x", "y");
      c.fact("routed", c.attribute("address." + c.named("a"), "RoutedMessageCount"));
      c.fact("unrouted", c.attribute("address." + c.named("a"), "UnRoutedMessageCount"));
   }

   private static void filter(Case c) throws Exception {
      ClientSession session = c.core();
      session.createQueue(queue(c, "low").setAddress(c.named("a")).setFilterString("n < 2"));
      session.createQueue(queue(c, "high").setAddress(c.named("a")).setFilterString("n >= 2 AND n < 4"));
      send(session, c.named("a"), RoutingType.ANYCAST, Case.array(Case.texts("m", 6)));
      c.fact("low", drain(session, c.named("low")));
      c.fact("high", drain(session, c.named("high")));
   }

   private static void temporary(Case c) throws Exception {
      ClientSessionFactory factory = c.coreFactory("");
      ClientSession session = c.core(factory, true, true);
      session.createQueue(QueueConfiguration.of(c.named("temp")).setRoutingType(RoutingType.ANYCAST).setDurable(false).setTemporary(true));
      c.fact("query", describe(session.queueQuery(simple(c.named("temp")))));
      session.close();
      c.fact("after session close", c.exists(c.named("temp")));
      factory.close();
      c.eventually("after connection close", false, () -> c.exists(c.named("temp")));
   }

   private static void expiredAtSend(Case c) throws Exception {
      ClientSession session = c.core();
      session.createQueue(queue(c, "q"));
      try (ClientProducer producer = session.createProducer(c.named("q"))) {
         ClientMessage m = session.createMessage(true);
         m.setExpiration(System.currentTimeMillis() - 1_000);
         producer.send(m);
      }
      c.eventually("left", 0L, () -> c.count(c.named("q")));
   }

   /** Message types have numbers that the broker passes on. */
   private static void types(Case c) throws Exception {
      ClientSession session = c.core();
      session.createQueue(queue(c, "q"));
      List<Byte> types = new ArrayList<>();
      try (ClientProducer producer = session.createProducer(c.named("q"));
           ClientConsumer consumer = session.createConsumer(c.named("q"))) {
         for (byte type : new byte[] {0, 2, 3, 4, 5, 6, 99}) {
            producer.send(session.createMessage(type, false));
            ClientMessage m = consumer.receive(Case.PATIENCE);
            types.add(m.getType());
            m.acknowledge();
         }
      } catch (ActiveMQException failure) {
         c.fact("FAILED", Case.describe(failure));
      }
      c.fact("types", types);
   }

   private CoreSessions() {
   }
}
