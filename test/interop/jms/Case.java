package interop;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Enumeration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.JMSRuntimeException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.TextMessage;
import javax.jms.Topic;
import javax.transaction.xa.XAException;

import org.apache.activemq.artemis.api.core.ActiveMQException;
import org.apache.activemq.artemis.api.core.SimpleString;
import org.apache.activemq.artemis.api.core.client.ActiveMQClient;
import org.apache.activemq.artemis.api.core.client.ClientMessage;
import org.apache.activemq.artemis.api.core.client.ClientRequestor;
import org.apache.activemq.artemis.api.core.client.ClientSession;
import org.apache.activemq.artemis.api.core.client.ClientSessionFactory;
import org.apache.activemq.artemis.api.core.client.ServerLocator;
import org.apache.activemq.artemis.api.core.management.ManagementHelper;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

/**
 * One run of a case: makes connections that are closed at its end, and collects the facts it states.
 * A value that differs between runs (ids, times, ports) is never stated as it is, only what must hold about it.
 */
final class Case implements AutoCloseable {

   interface Action {
      void run() throws Exception;
   }

   /** How long a case waits for something that must come. */
   static final long PATIENCE = 10_000;

   /** How long a case may take. */
   private static final long LIMIT = 60_000;

   /** How long a case waits for a message that must not come. */
   static final long SILENCE = 600;

   private static final Pattern CODE = Pattern.compile("AMQ\\d{6}");

   final Broker broker;
   private final String name;
   private final List<String> transcript = new ArrayList<>();
   private final List<AutoCloseable> open = new ArrayList<>();
   private ClientSession admin;

   private Case(Broker broker, String name) {
      this.broker = broker;
      this.name = name;
   }

   /** Runs a case in a thread of its own, so that one that never ends (the client can hang after a cut) is given up. */
   static List<String> run(Broker broker, Cases.Entry entry) throws InterruptedException {
      Case c = new Case(broker, entry.name());
      long began = System.currentTimeMillis();
      Thread body = new Thread(() -> c.run(entry.body()), entry.name());
      body.setDaemon(true);
      body.start();
      body.join(LIMIT);
      if (body.isAlive()) {
         c.must("end", "in time", "after " + LIMIT + " ms not yet");
      }
      long took = System.currentTimeMillis() - began;
      if (took > PATIENCE) {
         System.err.println("case " + entry.name() + " took " + took + " ms");
      }
      synchronized (c.transcript) {
         return List.copyOf(c.transcript);
      }
   }

   private void run(Cases.Body body) {
      try (this) {
         body.run(this);
      } catch (Throwable failure) {
         fact("FAILED", describe(failure) + " " + failure.getMessage());
         failure.printStackTrace();
      }
   }

   // ---- facts

   void fact(String key, Object value) {
      synchronized (transcript) {
         transcript.add("case " + name + ": " + escape(key) + "=" + escape(show(value)));
      }
   }

   /**
    * States what must hold although real Artemis does not keep it in every run, so that it can't be recorded.
    * The line starts with "must" and ends with what was wanted if that is not what came.
    */
   void must(String key, Object expected, Object actual) {
      boolean holds = show(expected).equals(show(actual));
      fact("must " + key, holds ? actual : new Raw(show(actual) + " (want " + show(expected) + ")"));
   }

   /** States what the action throws, or "nothing". */
   void thrown(String key, Action action) {
      try {
         action.run();
         fact(key, new Raw("nothing thrown"));
      } catch (Throwable failure) {
         fact(key, new Raw(describe(failure)));
      }
   }

   /** States the value that is reached, waiting for the expected one as long as patience lasts. */
   void eventually(String key, Object expected, Callable<?> actual) throws Exception {
      long deadline = System.currentTimeMillis() + PATIENCE;
      Object last = actual.call();
      while (!Objects.equals(String.valueOf(expected), String.valueOf(last)) && System.currentTimeMillis() < deadline) {
         Thread.sleep(10);
         last = actual.call();
      }
      fact(key, last);
   }

   /** States that a time in milliseconds is at least a minimum. */
   void atLeast(String key, long minimum, long actual) {
      fact(key, new Raw(actual >= minimum ? "at least " + minimum : "only " + actual + " of " + minimum));
   }

   private record Raw(String text) {
      @Override
      public String toString() {
         return text;
      }
   }

   /** A value in one line: strings quoted, bytes in hexadecimal or as length and checksum. */
   static String show(Object value) {
      if (value instanceof String || value instanceof SimpleString) {
         return quote(value.toString());
      }
      if (value instanceof byte[] bytes) {
         if (bytes.length > 32) {
            CRC32 crc = new CRC32();
            crc.update(bytes);
            return String.format("%d bytes crc %08x", bytes.length, crc.getValue());
         }
         StringBuilder hex = new StringBuilder("0x");
         for (byte b : bytes) {
            hex.append(String.format("%02x", b));
         }
         return hex.toString();
      }
      if (value instanceof Object[] array) {
         return show(List.of(array));
      }
      if (value instanceof Collection<?> values) {
         List<String> shown = new ArrayList<>();
         values.forEach(v -> shown.add(show(v)));
         return "[" + String.join(" ", shown) + "]";
      }
      if (value instanceof Map<?, ?> map) {
         List<String> shown = new ArrayList<>();
         map.forEach((k, v) -> shown.add(k + ":" + show(v)));
         return "{" + String.join(" ", shown) + "}";
      }
      return String.valueOf(value);
   }

   /** A value with its Java type, for properties and bodies whose type must survive. */
   static Raw typed(Object value) {
      String type = value == null ? "null" : value instanceof byte[] ? "byte[]" : value.getClass().getSimpleName();
      return new Raw(type + " " + show(value));
   }

   private static String quote(String text) {
      return '"' + escape(text.replace("\\", "\\\\").replace("\"", "\\\"")) + '"';
   }

   /** Keeps a line in ASCII and one line. */
   private static String escape(String text) {
      StringBuilder out = new StringBuilder();
      text.chars().forEach(ch -> {
         if (ch < ' ' || ch > '~') {
            out.append(String.format("\\u%04x", ch));
         } else {
            out.append((char) ch);
         }
      });
      return out.toString();
   }

   /** The exception a client sees: its type, code, and the broker's message code; never the text. */
   static String describe(Throwable failure) {
      StringBuilder out = new StringBuilder(failure.getClass().getSimpleName());
      if (failure instanceof XAException xa) {
         out.append(' ').append(xa.errorCode);
      } else if (failure instanceof JMSException jms && jms.getErrorCode() != null) {
         out.append(' ').append(jms.getErrorCode());
      } else if (failure instanceof JMSRuntimeException jms && jms.getErrorCode() != null) {
         out.append(' ').append(jms.getErrorCode());
      } else if (failure instanceof ActiveMQException core) {
         out.append(' ').append(core.getType());
      }
      Matcher code = CODE.matcher(String.valueOf(failure.getMessage()));
      if (code.find()) {
         out.append(' ').append(code.group());
      }
      if (failure.getCause() instanceof ActiveMQException cause) {
         out.append(" from ").append(cause.getType());
      }
      return out.toString();
   }

   // ---- destinations

   /** A name that no other case uses. */
   String named(String part) {
      return name + "." + part;
   }

   Queue queue(Session session, String part) throws JMSException {
      return session.createQueue(named(part));
   }

   Topic topic(Session session, String part) throws JMSException {
      return session.createTopic(named(part));
   }

   /** The queue of a durable subscription: client id and name with their dots escaped, joined by one. */
   String subscription(String clientID, String subscription) {
      return shared(named(clientID)) + "." + shared(subscription);
   }

   /** The queue of a shared durable subscription without a client id. */
   static String shared(String subscription) {
      return subscription.replace(".", "\\.");
   }

   // ---- connections

   <R extends AutoCloseable> R opened(R resource) {
      synchronized (open) {
         open.add(resource);
      }
      return resource;
   }

   ActiveMQConnectionFactory factory(String parameters) {
      return opened(new ActiveMQConnectionFactory(broker.url(parameters), broker.user(), broker.password()));
   }

   /** A started connection with URL parameters such as "consumerWindowSize=0". */
   Connection connect(String parameters) throws JMSException {
      return started(factory(parameters).createConnection());
   }

   Connection connect() throws JMSException {
      return connect("");
   }

   /** A started connection with a client id. */
   Connection connectAs(String clientID) throws JMSException {
      Connection connection = opened(factory("").createConnection());
      connection.setClientID(clientID);
      connection.start();
      return connection;
   }

   Connection started(Connection connection) throws JMSException {
      opened(connection);
      connection.start();
      return connection;
   }

   Session session() throws JMSException {
      return connect().createSession(false, Session.AUTO_ACKNOWLEDGE);
   }

   ClientSessionFactory coreFactory(String parameters) throws Exception {
      ServerLocator locator = opened(ActiveMQClient.createServerLocator(broker.url(parameters)));
      return opened(locator.createSessionFactory());
   }

   /** A started core session that commits each send and acknowledgement. */
   ClientSession core() throws Exception {
      return core(coreFactory(""), true, true);
   }

   ClientSession core(ClientSessionFactory factory, boolean autoCommitSends, boolean autoCommitAcks) throws Exception {
      ClientSession session = opened(factory.createSession(broker.user(), broker.password(), false, autoCommitSends, autoCommitAcks, false, 0));
      session.start();
      return session;
   }

   private synchronized ClientSession admin() throws Exception {
      if (admin == null || admin.isClosed()) {
         admin = core();
      }
      return admin;
   }

   // ---- what the broker says

   /** The messages in a queue, or -1 if there is none of that name. */
   long count(String queue) throws Exception {
      ClientSession.QueueQuery query = admin().queueQuery(SimpleString.of(queue));
      return query.isExists() ? query.getMessageCount() : -1;
   }

   /** The messages in a queue once they are as many as expected, or whatever there are after patience. */
   long settled(String queue, long expected) throws Exception {
      long deadline = System.currentTimeMillis() + PATIENCE;
      while (count(queue) != expected && System.currentTimeMillis() < deadline) {
         Thread.sleep(10);
      }
      return count(queue);
   }

   long consumers(String queue) throws Exception {
      ClientSession.QueueQuery query = admin().queueQuery(SimpleString.of(queue));
      return query.isExists() ? query.getConsumerCount() : -1;
   }

   boolean exists(String queue) throws Exception {
      return count(queue) >= 0;
   }

   boolean addressExists(String address) throws Exception {
      return admin().addressQuery(SimpleString.of(address)).isExists();
   }

   Object attribute(String resource, String attribute) throws Exception {
      return reply(m -> ManagementHelper.putAttribute(m, resource, attribute));
   }

   Object operation(String resource, String operation, Object... arguments) throws Exception {
      return reply(m -> ManagementHelper.putOperationInvocation(m, resource, operation, arguments));
   }

   interface Request {
      void fill(ClientMessage message) throws Exception;
   }

   private synchronized Object reply(Request request) throws Exception {
      ClientSession session = admin();
      try (ClientRequestor requestor = new ClientRequestor(session, "activemq.management")) {
         ClientMessage message = session.createMessage(false);
         request.fill(message);
         ClientMessage reply = requestor.request(message, PATIENCE);
         if (reply == null) {
            throw new IllegalStateException("no reply to a management message");
         }
         Object result = ManagementHelper.getResult(reply);
         if (!ManagementHelper.hasOperationSucceeded(reply)) {
            throw new IllegalStateException(String.valueOf(result));
         }
         return result;
      }
   }

   // ---- sending and receiving

   /** Sends text messages with an int property "n" counting from 0. */
   void send(Session session, javax.jms.Destination destination, String... texts) throws JMSException {
      try (MessageProducer producer = session.createProducer(destination)) {
         for (int n = 0; n < texts.length; n++) {
            TextMessage message = session.createTextMessage(texts[n]);
            message.setIntProperty("n", n);
            producer.send(message);
         }
      }
   }

   /** Receives that many text messages, each within patience; fewer if one does not come. */
   List<String> receive(MessageConsumer consumer, int count) throws JMSException {
      List<String> texts = new ArrayList<>();
      for (int n = 0; n < count; n++) {
         Message message = consumer.receive(PATIENCE);
         if (message == null) {
            texts.add("(none)");
            return texts;
         }
         texts.add(text(message));
      }
      return texts;
   }

   /** Receives until silence. */
   List<String> drain(MessageConsumer consumer) throws JMSException {
      List<String> texts = new ArrayList<>();
      for (Message message = consumer.receive(SILENCE); message != null; message = consumer.receive(SILENCE)) {
         texts.add(text(message));
      }
      return texts;
   }

   static String text(Message message) throws JMSException {
      return message == null ? null : message instanceof TextMessage text ? text.getText() : message.getClass().getSimpleName();
   }

   static List<String> texts(String prefix, int count) {
      List<String> texts = new ArrayList<>();
      for (int n = 0; n < count; n++) {
         texts.add(prefix + n);
      }
      return texts;
   }

   static String[] array(List<String> texts) {
      return texts.toArray(new String[0]);
   }

   /** All properties by name, with types. */
   static Map<String, Object> properties(Message message) throws JMSException {
      Map<String, Object> properties = new TreeMap<>();
      for (Enumeration<?> names = message.getPropertyNames(); names.hasMoreElements(); ) {
         String property = (String) names.nextElement();
         properties.put(property, typed(message.getObjectProperty(property)));
      }
      return properties;
   }

   /** A set of names in a stable order, reduced to those of this case. */
   List<String> mine(Collection<?> names) {
      TreeSet<String> mine = new TreeSet<>();
      for (Object each : names) {
         if (String.valueOf(each).startsWith(name)) {
            mine.add(String.valueOf(each));
         }
      }
      return new ArrayList<>(mine);
   }

   static String lower(Object value) {
      return String.valueOf(value).toLowerCase(Locale.ROOT);
   }

   @Override
   public void close() {
      // In reverse: sessions before factories. What fails to close here has been cut or closed by the case.
      for (int n = open.size() - 1; n >= 0; n--) {
         try {
            open.get(n).close();
         } catch (Exception alreadyGone) {
            continue;
         }
      }
   }
}
