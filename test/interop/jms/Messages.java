package interop;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

import javax.jms.BytesMessage;
import javax.jms.DeliveryMode;
import javax.jms.MapMessage;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.ObjectMessage;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.StreamMessage;
import javax.jms.TextMessage;
import javax.jms.Topic;

import org.apache.activemq.artemis.jms.client.ActiveMQMessage;

/** The five message types, all property types and the header fields, from producer to consumer. */
final class Messages {

   private static final String UNICODE = "gr\u00fc\u00dfe \u2603 \ud83d\udc07 \u0000 end";

   record Payload(int number, String text) implements Serializable {
   }

   interface Maker {
      Message make(Session session) throws Exception;
   }

   interface Reader {
      void read(Case c, Message message) throws Exception;
   }

   static void addTo(Cases cases) {
      cases.add("message.plain", c -> roundTrip(c, Session::createMessage, (k, m) -> { }));
      cases.add("message.text", c -> roundTrip(c, s -> s.createTextMessage(UNICODE), Messages::readText));
      cases.add("message.text.empty", c -> roundTrip(c, s -> s.createTextMessage(""), Messages::readText));
      cases.add("message.text.null", c -> roundTrip(c, Session::createTextMessage, Messages::readText));
      cases.add("message.text.long", c -> roundTrip(c, s -> s.createTextMessage("\u00e9x".repeat(20_000)), (k, m) ->
         k.fact("body", ((TextMessage) m).getText().getBytes(java.nio.charset.StandardCharsets.UTF_8))));
      cases.add("message.bytes", c -> roundTrip(c, Messages::bytes, Messages::readBytes));
      cases.add("message.map", c -> roundTrip(c, Messages::map, Messages::readMap));
      cases.add("message.stream", c -> roundTrip(c, Messages::stream, Messages::readStream));
      cases.add("message.object", c -> roundTrip(c, s -> s.createObjectMessage(new Payload(42, UNICODE)), (k, m) ->
         k.fact("body", ((ObjectMessage) m).getObject())));
      cases.add("message.properties", Messages::properties);
      cases.add("message.properties.conversions", Messages::conversions);
      cases.add("message.headers", Messages::headers);
      cases.add("message.headers.disabled", Messages::headersDisabled);
      cases.add("message.topic", Messages::topic);
      cases.add("message.forwarded", Messages::forwarded);
   }

   private static void roundTrip(Case c, Maker maker, Reader reader) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      for (int mode : new int[] {DeliveryMode.NON_PERSISTENT, DeliveryMode.PERSISTENT}) {
         Message sent = maker.make(session);
         sent.setStringProperty("kind", "sent");
         MessageProducer producer = session.createProducer(queue);
         producer.setDeliveryMode(mode);
         producer.send(sent);
         MessageConsumer consumer = session.createConsumer(queue);
         Message got = consumer.receive(Case.PATIENCE);
         c.fact("mode", got.getJMSDeliveryMode());
         c.fact("type", got.getClass().getSimpleName());
         c.fact("same id", sent.getJMSMessageID().equals(got.getJMSMessageID()));
         c.fact("properties", Case.properties(got));
         reader.read(c, got);
         consumer.close();
         producer.close();
      }
   }

   private static void readText(Case c, Message message) throws Exception {
      c.fact("body", ((TextMessage) message).getText());
   }

   private static Message bytes(Session session) throws Exception {
      BytesMessage m = session.createBytesMessage();
      m.writeBoolean(true);
      m.writeByte((byte) -2);
      m.writeShort((short) -300);
      m.writeChar('\u2603');
      m.writeInt(Integer.MIN_VALUE);
      m.writeLong(Long.MAX_VALUE);
      m.writeFloat(1.25f);
      m.writeDouble(-0.1);
      m.writeUTF(UNICODE);
      m.writeBytes(new byte[] {1, 2, 3, 4}, 1, 2);
      m.writeObject("object");
      return m;
   }

   private static void readBytes(Case c, Message message) throws Exception {
      BytesMessage m = (BytesMessage) message;
      c.fact("length", m.getBodyLength());
      List<Object> body = new ArrayList<>(List.of(m.readBoolean(), m.readByte(), m.readUnsignedShort(), (int) m.readChar(), m.readInt(), m.readLong(), m.readFloat(), m.readDouble(), m.readUTF()));
      byte[] two = new byte[2];
      m.readBytes(two);
      body.add(two);
      body.add(m.readUTF());
      c.fact("body", body);
      c.thrown("past the end", m::readByte);
      m.reset();
      byte[] all = new byte[(int) m.getBodyLength()];
      c.fact("read", m.readBytes(all));
      c.fact("all", all);
      c.thrown("write when received", () -> m.writeByte((byte) 1));
   }

   private static Message map(Session session) throws Exception {
      MapMessage m = session.createMapMessage();
      m.setBoolean("boolean", true);
      m.setByte("byte", (byte) 1);
      m.setShort("short", (short) 2);
      m.setChar("char", '\u00fc');
      m.setInt("int", 3);
      m.setLong("long", 4);
      m.setFloat("float", 5.5f);
      m.setDouble("double", 6.25);
      m.setString("string", UNICODE);
      m.setString("null", null);
      m.setBytes("bytes", new byte[] {9, 8, 7});
      return m;
   }

   private static void readMap(Case c, Message message) throws Exception {
      MapMessage m = (MapMessage) message;
      Map<String, Object> body = new TreeMap<>();
      for (Enumeration<?> names = m.getMapNames(); names.hasMoreElements(); ) {
         String key = (String) names.nextElement();
         body.put(key, Case.typed(m.getObject(key)));
      }
      c.fact("body", body);
      c.fact("int as string", m.getString("int"));
      c.thrown("bytes as int", () -> m.getInt("bytes"));
      c.fact("missing", m.getObject("missing"));
   }

   private static Message stream(Session session) throws Exception {
      StreamMessage m = session.createStreamMessage();
      m.writeBoolean(false);
      m.writeByte((byte) 1);
      m.writeShort((short) 2);
      m.writeChar('c');
      m.writeInt(3);
      m.writeLong(4);
      m.writeFloat(5.5f);
      m.writeDouble(6.25);
      m.writeString(UNICODE);
      m.writeObject(null);
      m.writeBytes(new byte[] {1, 2, 3});
      return m;
   }

   private static void readStream(Case c, Message message) throws Exception {
      StreamMessage m = (StreamMessage) message;
      List<Object> body = new ArrayList<>();
      for (int n = 0; n < 11; n++) {
         body.add(Case.typed(m.readObject()));
      }
      c.fact("body", body);
      c.thrown("past the end", m::readObject);
   }

   private static void properties(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      Message sent = session.createMessage();
      sent.setBooleanProperty("boolean", true);
      sent.setByteProperty("byte", Byte.MIN_VALUE);
      sent.setShortProperty("short", Short.MIN_VALUE);
      sent.setIntProperty("int", Integer.MIN_VALUE);
      sent.setLongProperty("long", Long.MIN_VALUE);
      sent.setFloatProperty("float", Float.MIN_VALUE);
      sent.setDoubleProperty("double", Double.MAX_VALUE);
      sent.setFloatProperty("nan", Float.NaN);
      sent.setStringProperty("string", UNICODE);
      sent.setStringProperty("empty", "");
      sent.setStringProperty("null", null);
      sent.setObjectProperty("object", 7L);
      sent.setStringProperty("longText", "x".repeat(5000));
      session.createProducer(queue).send(sent);
      Message got = session.createConsumer(queue).receive(Case.PATIENCE);
      c.fact("properties", Case.properties(got));
      c.fact("names in the core message", new TreeSet<>(((ActiveMQMessage) got).getCoreMessage().getPropertyNames()));
      c.thrown("write when received", () -> got.setIntProperty("late", 1));
   }

   private static void conversions(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      Message sent = session.createMessage();
      sent.setIntProperty("int", 12);
      sent.setStringProperty("digits", "34");
      sent.setBooleanProperty("boolean", true);
      session.createProducer(queue).send(sent);
      Message got = session.createConsumer(queue).receive(Case.PATIENCE);
      c.fact("int as long", got.getLongProperty("int"));
      c.fact("int as string", got.getStringProperty("int"));
      c.thrown("int as short", () -> got.getShortProperty("int"));
      c.fact("digits as int", got.getIntProperty("digits"));
      c.fact("boolean as string", got.getStringProperty("boolean"));
      c.fact("missing string", got.getStringProperty("missing"));
      c.fact("missing boolean", got.getBooleanProperty("missing"));
      c.thrown("missing int", () -> got.getIntProperty("missing"));
      c.fact("exists", got.propertyExists("int") + " " + got.propertyExists("missing"));
   }

   private static void headers(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      Topic reply = c.topic(session, "reply");
      MessageProducer producer = session.createProducer(queue);
      MessageConsumer consumer = session.createConsumer(queue);
      long before = System.currentTimeMillis();

      Message sent = session.createTextMessage("x");
      sent.setJMSType("type");
      sent.setJMSCorrelationID("correlation \u00e9");
      sent.setJMSReplyTo(reply);
      producer.send(sent, DeliveryMode.PERSISTENT, 7, 3_600_000);
      Message got = consumer.receive(Case.PATIENCE);
      c.fact("type", got.getJMSType());
      c.fact("correlation", got.getJMSCorrelationID());
      c.fact("reply to", got.getJMSReplyTo());
      c.fact("destination", got.getJMSDestination());
      c.fact("priority", got.getJMSPriority());
      c.fact("mode", got.getJMSDeliveryMode());
      c.fact("redelivered", got.getJMSRedelivered());
      c.fact("expiration set", got.getJMSExpiration() >= before + 3_600_000);
      c.fact("expiration as sent", got.getJMSExpiration() == sent.getJMSExpiration());
      c.fact("timestamp set", got.getJMSTimestamp() >= before);
      c.fact("delivery time", got.getJMSDeliveryTime());
      c.fact("id", got.getJMSMessageID().substring(0, 3));
      c.fact("delivery count", got.getIntProperty("JMSXDeliveryCount"));

      Message bytes = session.createTextMessage("y");
      bytes.setJMSCorrelationIDAsBytes(new byte[] {0, 1, (byte) 0xff});
      bytes.setJMSReplyTo(queue);
      producer.send(bytes, DeliveryMode.NON_PERSISTENT, 0, 0);
      got = consumer.receive(Case.PATIENCE);
      c.fact("correlation bytes", got.getJMSCorrelationIDAsBytes());
      c.fact("reply to queue", got.getJMSReplyTo());
      c.fact("priority 0", got.getJMSPriority());
      c.fact("no expiration", got.getJMSExpiration());
      c.thrown("priority 10", () -> producer.send(session.createMessage(), DeliveryMode.PERSISTENT, 10, 0));
   }

   private static void headersDisabled(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      producer.setDisableMessageID(true);
      producer.setDisableMessageTimestamp(true);
      producer.send(session.createTextMessage("x"));
      Message got = session.createConsumer(queue).receive(Case.PATIENCE);
      c.fact("id", got.getJMSMessageID());
      c.fact("timestamp", got.getJMSTimestamp());
   }

   private static void topic(Case c) throws Exception {
      Session session = c.session();
      Topic topic = c.topic(session, "t");
      MessageConsumer one = session.createConsumer(topic);
      MessageConsumer other = session.createConsumer(topic);
      MessageProducer producer = session.createProducer(topic);
      for (Maker maker : new Maker[] {s -> s.createTextMessage("text"), Messages::bytes, Messages::map, Messages::stream}) {
         producer.send(maker.make(session));
         Map<String, String> types = new LinkedHashMap<>();
         for (MessageConsumer consumer : List.of(one, other)) {
            Message got = consumer.receive(Case.PATIENCE);
            types.put(consumer == one ? "one" : "other", got.getClass().getSimpleName() + " to " + got.getJMSDestination());
         }
         c.fact("received", types);
      }
   }

   /** A received message sent on keeps body and properties, and takes a new id. */
   private static void forwarded(Case c) throws Exception {
      Session session = c.session();
      Queue first = c.queue(session, "first");
      Queue second = c.queue(session, "second");
      TextMessage sent = session.createTextMessage("body");
      sent.setStringProperty("colour", "red");
      session.createProducer(first).send(sent);
      Message got = session.createConsumer(first).receive(Case.PATIENCE);
      String firstID = got.getJMSMessageID();
      session.createProducer(second).send(got);
      Message forwarded = session.createConsumer(second).receive(Case.PATIENCE);
      c.fact("body", ((TextMessage) forwarded).getText());
      c.fact("properties", Case.properties(forwarded));
      c.fact("destination", forwarded.getJMSDestination());
      c.fact("new id", !firstID.equals(forwarded.getJMSMessageID()));
   }

   private Messages() {
   }
}
