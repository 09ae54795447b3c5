package interop;

import java.io.StringReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.Queue;
import javax.jms.QueueConnection;
import javax.jms.QueueRequestor;
import javax.jms.QueueSession;
import javax.jms.Session;

import org.apache.activemq.artemis.api.jms.management.JMSManagementHelper;
import org.apache.activemq.artemis.json.JsonArray;
import org.apache.activemq.artemis.json.JsonObject;
import org.apache.activemq.artemis.json.JsonValue;
import org.apache.activemq.artemis.utils.JsonLoader;

/** Management messages and notifications, as JMS and core clients use them. */
final class Management {

   static void addTo(Cases cases) {
      cases.add("management.jms", Management::jms);
      cases.add("management.server", Management::server);
      cases.add("management.address", Management::address);
      cases.add("management.queue", Management::queue);
      cases.add("management.queue.messages", Management::messages);
      cases.add("management.queue.move", Management::move);
      cases.add("management.queue.remove", Management::remove);
      cases.add("management.queue.pause", Management::pause);
      cases.add("management.queue.priority", Management::priority);
      cases.add("management.queue.expire", Management::expire);
      cases.add("management.queue.retry", Management::retry);
      cases.add("management.queue.counters", Management::counters);
      cases.add("management.queue.update", Management::update);
      cases.add("management.queue.send", Management::send);
      cases.add("management.settings", Management::settings);
      cases.add("management.divert", Management::divert);
      cases.add("management.lists", Management::lists);
      cases.add("management.refused", Management::refused);
      cases.add("management.close", Management::close);
      cases.add("notification.queue", Management::notifications);
   }

   private static void jms(Case c) throws Exception {
      QueueConnection connection = c.opened(c.factory("").createQueueConnection());
      connection.start();
      QueueSession session = connection.createQueueSession(false, Session.AUTO_ACKNOWLEDGE);
      QueueRequestor requestor = new QueueRequestor(session, session.createQueue("activemq.management"));
      Message attribute = session.createMessage();
      JMSManagementHelper.putAttribute(attribute, "broker", "Started");
      Message reply = requestor.request(attribute);
      c.fact("attribute succeeded", JMSManagementHelper.hasOperationSucceeded(reply));
      c.fact("attribute", JMSManagementHelper.getResult(reply));
      c.fact("reply", reply.getClass().getSimpleName() + " mode " + reply.getJMSDeliveryMode() + " priority " + reply.getJMSPriority());
      Message operation = session.createMessage();
      JMSManagementHelper.putOperationInvocation(operation, "broker", "createAddress", c.named("a"), "ANYCAST");
      reply = requestor.request(operation);
      c.fact("operation succeeded", JMSManagementHelper.hasOperationSucceeded(reply));
      Message failing = session.createMessage();
      JMSManagementHelper.putOperationInvocation(failing, "broker", "createAddress", c.named("a"), "ANYCAST");
      reply = requestor.request(failing);
      c.fact("again succeeded", JMSManagementHelper.hasOperationSucceeded(reply));
      requestor.close();
   }

   private static void server(Case c) throws Exception {
      for (String attribute : List.of("Started", "Clustered", "Backup", "Active", "SharedStore", "PersistenceEnabled", "SecurityEnabled", "MessageCounterEnabled", "PersistIDCache",
         "ManagementAddress", "ManagementNotificationAddress", "JournalType", "JournalFileSize", "JournalMinFiles", "JournalSyncTransactional", "JournalSyncNonTransactional",
         "MessageExpiryScanPeriod", "TransactionTimeout", "TransactionTimeoutScanPeriod", "ConnectionTTLOverride", "Name", "WildcardRoutingEnabled", "CreateBindingsDir", "ReplicaSync")) {
         try {
            c.fact(attribute, c.attribute("broker", attribute));
         } catch (IllegalStateException refused) {
            c.fact(attribute, Case.describe(refused));
         }
      }
      c.fact("node id", String.valueOf(c.attribute("broker", "NodeID")).length());
      c.fact("connections", ((Number) c.attribute("broker", "ConnectionCount")).intValue() > 0);
      c.operation("broker", "createQueue", c.named("a"), "ANYCAST", c.named("q"), "n > 1", true, 5, false, true);
      c.fact("address names", c.mine(Arrays.asList((Object[]) c.attribute("broker", "AddressNames"))));
      c.fact("queue names", c.mine(Arrays.asList((Object[]) c.attribute("broker", "QueueNames"))));
      c.fact("queue names of a type", c.mine(Arrays.asList((Object[]) c.operation("broker", "getQueueNames", "MULTICAST"))));
      c.fact("list addresses", c.mine(Arrays.asList(((String) c.operation("broker", "listAddresses", ",")).split(","))));
      c.fact("bindings", c.operation("broker", "listBindingsForAddress", c.named("a")).toString().contains(c.named("q")));
      c.fact("destroy", c.operation("broker", "destroyQueue", c.named("q")));
      c.fact("queue gone", c.exists(c.named("q")));
      c.operation("broker", "deleteAddress", c.named("a"));
      c.fact("address gone", c.addressExists(c.named("a")));
   }

   private static void address(Case c) throws Exception {
      Session session = c.session();
      String resource = "address." + c.named("t");
      MessageConsumer one = session.createSharedDurableConsumer(c.topic(session, "t"), c.named("one"));
      session.createSharedDurableConsumer(c.topic(session, "t"), c.named("two")).close();
      c.send(session, c.topic(session, "t"), "a", "b", "c");
      c.fact("address", c.attribute(resource, "Address"));
      c.fact("routing types", sorted(c.attribute(resource, "RoutingTypes")));
      c.fact("queues", sorted(c.attribute(resource, "QueueNames")));
      c.fact("routed", c.attribute(resource, "RoutedMessageCount"));
      c.fact("unrouted", c.attribute(resource, "UnRoutedMessageCount"));
      c.fact("messages", c.attribute(resource, "MessageCount"));
      c.fact("paging", c.attribute(resource, "Paging"));
      c.fact("paused", c.attribute(resource, "Paused"));
      c.fact("auto created", c.attribute(resource, "AutoCreated"));
      c.fact("temporary", c.attribute(resource, "Temporary"));
      c.fact("size counted", ((Number) c.attribute(resource, "AddressSize")).longValue() > 0);
      c.operation(resource, "pause");
      c.receive(one, 3);
      c.send(session, c.topic(session, "t"), "d");
      c.fact("paused then", c.attribute(resource, "Paused"));
      c.fact("while paused", Case.text(one.receive(Case.SILENCE)));
      c.operation(resource, "resume");
      c.fact("resumed", c.receive(one, 1));
      c.fact("purged", c.operation(resource, "purge"));
      c.fact("left", c.count(Case.shared(c.named("two"))));
   }

   private static TreeSet<String> sorted(Object names) {
      TreeSet<String> sorted = new TreeSet<>();
      for (Object each : (Object[]) names) {
         sorted.add(String.valueOf(each));
      }
      return sorted;
   }

   private static void queue(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a", "b");
      String resource = "queue." + c.named("q");
      MessageConsumer consumer = session.createConsumer(queue, "n = 5");
      for (String attribute : List.of("Name", "Address", "RoutingType", "Durable", "Temporary", "Filter", "MessageCount", "DurableMessageCount", "ScheduledCount", "DeliveringCount", "ConsumerCount",
         "MessagesAdded", "MessagesAcknowledged", "MessagesExpired", "MessagesKilled", "Paused", "Enabled", "Exclusive", "LastValue", "LastValueKey", "MaxConsumers", "PurgeOnNoConsumers",
         "GroupRebalance", "GroupBuckets", "GroupFirstKey", "GroupCount", "RingSize", "ConsumersBeforeDispatch", "DelayBeforeDispatch", "DeadLetterAddress", "ExpiryAddress", "ConfigurationManaged",
         "RetroactiveResource", "InternalQueue", "AutoDelete", "User")) {
         try {
            c.fact(attribute, c.attribute(resource, attribute));
         } catch (IllegalStateException refused) {
            c.fact(attribute, Case.describe(refused));
         }
      }
      c.fact("sizes", ((Number) c.attribute(resource, "PersistentSize")).longValue() > 0 && ((Number) c.attribute(resource, "DurablePersistentSize")).longValue() > 0);
      c.fact("id", ((Number) c.attribute(resource, "ID")).longValue() > 0);
      c.fact("first message's age", ((Number) c.attribute(resource, "FirstMessageAge")).longValue() >= 0);
      consumer.close();
   }

   /** Rows of listMessagesAsJSON without what differs between runs. */
   private static List<Map<String, String>> rows(JsonArray array) {
      List<Map<String, String>> rows = new ArrayList<>();
      for (JsonValue value : array) {
         Map<String, String> row = new TreeMap<>();
         for (Map.Entry<String, JsonValue> field : ((JsonObject) value).entrySet()) {
            boolean differs = List.of("messageID", "userID", "timestamp", "persistentSize", "__AMQ_CID").contains(field.getKey());
            row.put(field.getKey(), differs ? "set" : field.getValue().toString());
         }
         rows.add(row);
      }
      return rows;
   }

   private static void messages(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a", "b", "c");
      String resource = "queue." + c.named("q");
      for (Map<String, String> row : rows(JsonLoader.readArray(new StringReader((String) c.operation(resource, "listMessagesAsJSON", "n > 0"))))) {
         c.fact("listed", row);
      }
      JsonObject first = JsonLoader.readObject(new StringReader((String) c.operation(resource, "peekFirstMessageAsJSON")));
      c.fact("first", first.getInt("n"));
      c.fact("counted", c.operation(resource, "countMessages", ""));
      c.fact("counted by filter", c.operation(resource, "countMessages", "n < 2"));
      c.fact("counted by property", new TreeMap<>(JsonLoader.readObject(new StringReader((String) c.operation(resource, "countMessages", "", "n")))));
      Map<?, ?> page = (Map<?, ?>) c.operation(resource, "browse", 1, 2);
      c.fact("browsed", page.keySet() + " of " + ((Object[]) page.values().iterator().next()).length);
      c.thrown("bad filter", () -> c.operation(resource, "listMessagesAsJSON", "n ="));
   }

   private static void move(Case c) throws Exception {
      Session session = c.session();
      Queue from = c.queue(session, "from");
      Queue to = c.queue(session, "to");
      session.createConsumer(to).close();
      c.send(session, from, Case.array(Case.texts("m", 5)));
      String resource = "queue." + c.named("from");
      c.fact("moved", c.operation(resource, "moveMessages", "n < 2", c.named("to")));
      c.thrown("to nowhere", () -> c.operation(resource, "moveMessages", "", c.named("nowhere")));
      c.fact("left", c.drain(session.createConsumer(from)));
      MessageConsumer consumer = session.createConsumer(to);
      Expiry.moved(c, consumer.receive(Case.PATIENCE));
      c.fact("and", c.receive(consumer, 1));
   }

   private static void remove(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, Case.array(Case.texts("m", 5)));
      String resource = "queue." + c.named("q");
      c.fact("removed", c.operation(resource, "removeMessages", "n > 2"));
      c.fact("one unknown", c.operation(resource, "removeMessage", 123456789012L));
      c.fact("left", c.attribute(resource, "MessageCount"));
      c.fact("killed", c.attribute(resource, "MessagesKilled"));
      c.fact("removed all", c.operation(resource, "removeAllMessages"));
      c.fact("left then", c.attribute(resource, "MessageCount"));
   }

   private static void pause(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageConsumer consumer = session.createConsumer(queue);
      String resource = "queue." + c.named("q");
      c.operation(resource, "pause");
      c.fact("paused", c.attribute(resource, "Paused"));
      c.send(session, queue, "a");
      c.fact("while paused", Case.text(consumer.receive(Case.SILENCE)));
      c.fact("browsed", Selectors.browse(session.createBrowser(queue)));
      c.operation(resource, "resume");
      c.fact("resumed", c.receive(consumer, 1));
      c.operation(resource, "disable");
      c.fact("enabled", c.attribute(resource, "Enabled"));
      c.send(session, queue, "b");
      c.fact("while disabled", c.count(c.named("q")));
      c.operation(resource, "enable");
      c.send(session, queue, "c");
      c.fact("enabled again", c.receive(consumer, 1));
   }

   private static void priority(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, Case.array(Case.texts("m", 4)));
      String resource = "queue." + c.named("q");
      c.fact("changed", c.operation(resource, "changeMessagesPriority", "n = 2", 9));
      c.fact("received", c.receive(session.createConsumer(queue), 4));
   }

   private static void expire(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, Case.array(Case.texts("m", 4)));
      String resource = "queue." + c.named("q");
      c.fact("expired", c.operation(resource, "expireMessages", "n = 1"));
      c.fact("dead", c.operation(resource, "sendMessagesToDeadLetterAddress", "n = 2"));
      String mine = "_AMQ_ORIG_ADDRESS = '" + c.named("q") + "'";
      c.fact("in the expiry queue", c.drain(session.createConsumer(session.createQueue("ExpiryQueue"), mine)));
      c.fact("in the dead-letter queue", c.drain(session.createConsumer(session.createQueue("DLQ"), mine)));
      c.fact("left", c.drain(session.createConsumer(queue)));
      c.fact("counted", c.attribute(resource, "MessagesExpired") + " expired " + c.attribute(resource, "MessagesKilled") + " killed");
   }

   private static void retry(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a", "b");
      String resource = "queue." + c.named("q");
      Queue other = c.queue(session, "other");
      session.createConsumer(other).close();
      c.fact("moved", c.operation(resource, "moveMessages", "", c.named("other")));
      c.fact("retried", c.operation("queue." + c.named("other"), "retryMessages"));
      c.fact("back", c.drain(session.createConsumer(queue)));
   }

   private static void counters(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, Case.array(Case.texts("m", 4)));
      c.receive(session.createConsumer(queue), 3);
      String resource = "queue." + c.named("q");
      c.eventually("acknowledged", 3L, () -> c.attribute(resource, "MessagesAcknowledged"));
      c.fact("added", c.attribute(resource, "MessagesAdded"));
      c.operation(resource, "resetMessagesAdded");
      c.operation(resource, "resetMessagesAcknowledged");
      c.fact("reset", c.attribute(resource, "MessagesAdded") + " " + c.attribute(resource, "MessagesAcknowledged"));
   }

   private static void update(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageConsumer consumer = session.createConsumer(queue);
      String json = "{\"name\":\"" + c.named("q") + "\",\"routing-type\":\"ANYCAST\",\"max-consumers\":1,\"exclusive\":true,\"filter-string\":\"n > 0\",\"ring-size\":3}";
      c.operation("broker", "updateQueue", json);
      String resource = "queue." + c.named("q");
      c.fact("updated", c.attribute(resource, "MaxConsumers") + " " + c.attribute(resource, "Exclusive") + " " + c.attribute(resource, "Filter") + " " + c.attribute(resource, "RingSize"));
      c.thrown("second consumer", () -> session.createConsumer(queue));
      c.thrown("below the consumers there are", () -> c.operation("broker", "updateQueue", "{\"name\":\"" + c.named("q") + "\",\"max-consumers\":0}"));
      c.operation("broker", "updateQueue", "{\"name\":\"" + c.named("q") + "\",\"max-consumers\":-1}");
      c.fact("without a filter", c.attribute(resource, "Filter"));
      consumer.close();
      String created = (String) c.operation("broker", "createQueue", "{\"name\":\"" + c.named("new") + "\",\"routing-type\":\"ANYCAST\",\"max-consumers\":2}");
      TreeMap<String, JsonValue> fields = new TreeMap<>(JsonLoader.readObject(new StringReader(created)));
      c.fact("id set", fields.remove("id") != null);
      c.fact("created", fields);
      c.thrown("created again", () -> c.operation("broker", "createQueue", "{\"name\":\"" + c.named("new") + "\",\"routing-type\":\"ANYCAST\"}"));
   }

   private static void send(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageConsumer consumer = session.createConsumer(queue);
      Object id = c.operation("queue." + c.named("q"), "sendMessage", Map.of("colour", "red"), 3, "text", true, c.broker.user(), c.broker.password());
      c.fact("id", Long.parseLong(String.valueOf(id)) > 0);
      Message m = consumer.receive(Case.PATIENCE);
      c.fact("received", Case.text(m) + " mode " + m.getJMSDeliveryMode());
      c.fact("properties", Case.properties(m));
      c.thrown("wrong password", () -> c.operation("queue." + c.named("q"), "sendMessage", Map.of(), 3, "text", true, c.broker.user(), "wrong"));
   }

   private static void settings(Case c) throws Exception {
      c.operation("broker", "addAddressSettings", c.named("#"), "{\"maxDeliveryAttempts\":2,\"redeliveryDelay\":50,\"defaultRingSize\":3}");
      JsonObject settings = JsonLoader.readObject(new StringReader((String) c.operation("broker", "getAddressSettingsAsJSON", c.named("q"))));
      for (String key : List.of("maxDeliveryAttempts", "redeliveryDelay", "deadLetterAddress", "expiryAddress", "defaultRingSize")) {
         c.fact(key, String.valueOf(settings.get(key)));
      }
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, Case.array(Case.texts("m", 5)));
      c.fact("used by a new queue", c.drain(session.createConsumer(queue)));
      c.operation("broker", "removeAddressSettings", c.named("#"));
      settings = JsonLoader.readObject(new StringReader((String) c.operation("broker", "getAddressSettingsAsJSON", c.named("q"))));
      c.fact("removed", String.valueOf(settings.get("redeliveryDelay")));
      c.fact("roles", c.operation("broker", "getRolesAsJSON", "security.sendonly").toString().contains("limited"));
   }

   private static void divert(Case c) throws Exception {
      Session session = c.session();
      Queue from = c.queue(session, "from");
      Queue to = c.queue(session, "to");
      session.createConsumer(from).close();
      session.createConsumer(to).close();
      c.operation("broker", "createDivert", c.named("divert"), c.named("routing"), c.named("from"), c.named("to"), false, "n = 1", null, "PASS");
      c.fact("names", c.mine(Arrays.asList((Object[]) c.attribute("broker", "DivertNames"))));
      c.fact("forwarding address", c.attribute("divert." + c.named("divert"), "ForwardingAddress"));
      c.fact("exclusive", c.attribute("divert." + c.named("divert"), "Exclusive"));
      c.send(session, from, "a", "b", "c");
      c.fact("from", c.drain(session.createConsumer(from)));
      c.fact("to", c.drain(session.createConsumer(to)));
      c.operation("broker", "destroyDivert", c.named("divert"));
      c.send(session, from, "d", "e");
      c.fact("to then", c.drain(session.createConsumer(to)));
   }

   /** The paged lists that the command line and the console are made of. */
   private static void lists(Case c) throws Exception {
      Session session = c.connectAs(c.named("client")).createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      MessageConsumer consumer = session.createConsumer(queue, "n > 0");
      javax.jms.MessageProducer producer = session.createProducer(queue);
      producer.send(session.createTextMessage("x"));
      for (Map.Entry<String, String> view : new TreeMap<>(Map.of("listConnections", "clientID", "listSessions", "clientID", "listConsumers", "queue", "listProducers", "address", "listAddresses", "name", "listQueues", "name")).entrySet()) {
         String value = view.getValue().equals("clientID") ? c.named("client") : c.named("q");
         String options = "{\"field\":\"" + view.getValue() + "\",\"operation\":\"EQUALS\",\"value\":\"" + value + "\",\"sortField\":\"id\",\"sortOrder\":\"asc\"}";
         JsonObject page = JsonLoader.readObject(new StringReader((String) c.operation("broker", view.getKey(), options, 1, 10)));
         c.fact(view.getKey() + " count", page.get("count"));
         c.fact(view.getKey() + " keys", new TreeSet<>(page.getJsonArray("data").getJsonObject(0).keySet()));
      }
      JsonObject row = JsonLoader.readObject(new StringReader((String) c.operation("broker", "listQueues", "{\"field\":\"name\",\"operation\":\"EQUALS\",\"value\":\"" + c.named("q") + "\"}", 1, 10))).getJsonArray("data").getJsonObject(0);
      TreeMap<String, JsonValue> fields = new TreeMap<>(row);
      fields.remove("id");
      c.fact("queue row", fields);
      consumer.close();
   }

   private static void refused(Case c) throws Exception {
      c.thrown("unknown resource", () -> c.operation("queue." + c.named("none"), "pause"));
      c.thrown("unknown resource's attribute", () -> c.attribute("queue." + c.named("none"), "Paused"));
      c.thrown("unknown attribute", () -> c.attribute("broker", "NoSuchAttribute"));
      c.thrown("unknown operation", () -> c.operation("broker", "noSuchOperation"));
      c.thrown("wrong number of arguments", () -> c.operation("broker", "destroyQueue"));
      c.thrown("missing queue", () -> c.operation("broker", "destroyQueue", c.named("none")));
      c.thrown("missing address", () -> c.operation("broker", "deleteAddress", c.named("none")));
      c.operation("broker", "createAddress", c.named("used"), "ANYCAST");
      c.operation("broker", "createQueue", "{\"name\":\"" + c.named("used") + "\",\"routing-type\":\"ANYCAST\"}");
      c.thrown("address with a queue", () -> c.operation("broker", "deleteAddress", c.named("used")));
      c.thrown("forced", () -> c.operation("broker", "deleteAddress", c.named("used"), true));
      c.fact("queue gone", c.exists(c.named("used")));
   }

   /** A connection closed by an operator. */
   private static void close(Case c) throws Exception {
      javax.jms.Connection connection = c.opened(c.factory("reconnectAttempts=0").createConnection());
      connection.setClientID(c.named("client"));
      connection.start();
      List<String> exceptions = java.util.Collections.synchronizedList(new ArrayList<>());
      connection.setExceptionListener(failure -> exceptions.add(Case.describe(failure)));
      Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      session.createConsumer(c.queue(session, "q"));
      String options = "{\"field\":\"clientID\",\"operation\":\"EQUALS\",\"value\":\"" + c.named("client") + "\"}";
      JsonObject page = JsonLoader.readObject(new StringReader((String) c.operation("broker", "listConnections", options, 1, 10)));
      String id = page.getJsonArray("data").getJsonObject(0).getString("connectionID");
      c.fact("closed", c.operation("broker", "closeConnectionWithID", id));
      c.fact("again", c.operation("broker", "closeConnectionWithID", id));
      c.eventually("consumers", 0L, () -> c.consumers(c.named("q")));
      c.eventually("exceptions", 1, exceptions::size);
      c.fact("exception", exceptions);
   }

   private static void notifications(Case c) throws Exception {
      Session listening = c.session();
      MessageConsumer consumer = listening.createConsumer(listening.createTopic("activemq.notifications"), "_AMQ_Address = '" + c.named("q") + "'");
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      session.createConsumer(queue, "n = 1").close();
      c.operation("broker", "destroyQueue", c.named("q"), true);
      for (Message m = consumer.receive(Case.SILENCE * 3); m != null; m = consumer.receive(Case.SILENCE)) {
         Map<String, Object> properties = Case.properties(m);
         Map<String, Object> facts = new TreeMap<>();
         for (Map.Entry<String, Object> each : properties.entrySet()) {
            boolean stable = List.of("_AMQ_NotifType", "_AMQ_Address", "_AMQ_RoutingName", "_AMQ_Distance", "_AMQ_ConsumerCount", "_AMQ_FilterString", "_AMQ_User", "_AMQ_Binding_Type").contains(each.getKey());
            facts.put(each.getKey(), stable ? each.getValue() : "set");
         }
         c.fact("notified", facts);
         c.fact("message", m.getClass().getSimpleName() + " mode " + m.getJMSDeliveryMode() + " priority " + m.getJMSPriority());
      }
   }

   private Management() {
   }
}
