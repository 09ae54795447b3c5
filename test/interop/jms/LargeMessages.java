package interop;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.Random;
import java.util.zip.CRC32;

import javax.jms.BytesMessage;
import javax.jms.DeliveryMode;
import javax.jms.MapMessage;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.QueueBrowser;
import javax.jms.Session;
import javax.jms.TextMessage;
import javax.jms.Topic;

/** Messages above the client's minLargeMessageSize: streamed both ways, compressed or not. */
final class LargeMessages {

   private static final String INPUT = "JMS_AMQ_InputStream";
   private static final String OUTPUT = "JMS_AMQ_OutputStream";
   private static final String SAVE = "JMS_AMQ_SaveStream";

   static void addTo(Cases cases) {
      cases.add("large.bytes", c -> bytes(c, ""));
      cases.add("large.bytes.small-threshold", c -> bytes(c, "minLargeMessageSize=1000"));
      cases.add("large.compressed", c -> bytes(c, "compressLargeMessage=true"));
      cases.add("large.compressed.level", c -> bytes(c, "compressLargeMessage=true&compressionLevel=9"));
      cases.add("large.window-zero", c -> bytes(c, "consumerWindowSize=0"));
      cases.add("large.window-small", c -> bytes(c, "consumerWindowSize=20000&producerWindowSize=20000"));
      cases.add("large.text", LargeMessages::text);
      cases.add("large.text.compressed", LargeMessages::compressedText);
      cases.add("large.map", LargeMessages::map);
      cases.add("large.stream", c -> stream(c, ""));
      cases.add("large.stream.compressed", c -> stream(c, "compressLargeMessage=true"));
      cases.add("large.transaction", LargeMessages::transaction);
      cases.add("large.topic", LargeMessages::topic);
      cases.add("large.browser", LargeMessages::browser);
      cases.add("large.skipped", LargeMessages::skipped);
      cases.add("large.expiry", LargeMessages::expiry);
      cases.add("dlq.large", LargeMessages::dead);
      cases.add("large.order", LargeMessages::order);
      cases.add("large.scheduled", LargeMessages::scheduled);
   }

   /** Bytes that do not compress. */
   static byte[] noise(int size) {
      byte[] bytes = new byte[size];
      new Random(size).nextBytes(bytes);
      return bytes;
   }

   private static byte[] body(Message message) throws Exception {
      BytesMessage m = (BytesMessage) message;
      byte[] body = new byte[(int) m.getBodyLength()];
      m.readBytes(body);
      return body;
   }

   private static BytesMessage make(Session session, byte[] body) throws Exception {
      BytesMessage m = session.createBytesMessage();
      m.writeBytes(body);
      m.setStringProperty("colour", "red");
      m.setIntProperty("size", body.length);
      return m;
   }

   private static void bytes(Case c, String parameters) throws Exception {
      Session session = c.connect(parameters).createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      MessageConsumer consumer = session.createConsumer(queue);
      for (int size : new int[] {5_000, 102_399, 102_400, 300_000, 2_000_000}) {
         for (int mode : new int[] {DeliveryMode.PERSISTENT, DeliveryMode.NON_PERSISTENT}) {
            producer.send(make(session, noise(size)), mode, 4, 0);
            Message m = consumer.receive(Case.PATIENCE);
            c.fact("mode " + mode, body(m));
         }
      }
      producer.send(make(session, new byte[1_000_000]));
      c.fact("zeros", body(consumer.receive(Case.PATIENCE)));
      c.eventually("left", 0L, () -> c.count(c.named("q")));
   }

   private static void text(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      String text = "gr\u00fc\u00dfe \u2603 ".repeat(30_000);
      session.createProducer(queue).send(session.createTextMessage(text));
      TextMessage m = (TextMessage) session.createConsumer(queue).receive(Case.PATIENCE);
      c.fact("length", m.getText().length());
      c.fact("equal", text.equals(m.getText()));
   }

   private static void compressedText(Case c) throws Exception {
      Session session = c.connect("compressLargeMessage=true").createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      String text = "the same again and ".repeat(30_000);
      session.createProducer(queue).send(session.createTextMessage(text));
      // A client that does not compress reads it all the same.
      Session plain = c.session();
      TextMessage m = (TextMessage) plain.createConsumer(queue).receive(Case.PATIENCE);
      c.fact("equal", text.equals(m.getText()));
      c.fact("properties", Case.properties(m));
   }

   private static void map(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MapMessage sent = session.createMapMessage();
      for (int n = 0; n < 5; n++) {
         sent.setBytes("bytes" + n, noise(60_000 + n));
      }
      sent.setString("text", "x".repeat(50_000));
      session.createProducer(queue).send(sent);
      MapMessage m = (MapMessage) session.createConsumer(queue).receive(Case.PATIENCE);
      for (int n = 0; n < 5; n++) {
         c.fact("bytes" + n, m.getBytes("bytes" + n));
      }
      c.fact("text", m.getString("text").length());
   }

   /** The body comes from a stream and goes to one, never whole in the client's memory. */
   private static void stream(Case c, String parameters) throws Exception {
      Session session = c.connect(parameters).createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      MessageConsumer consumer = session.createConsumer(queue);
      int size = 10 << 20;
      for (String property : new String[] {SAVE, OUTPUT}) {
         BytesMessage sent = session.createBytesMessage();
         sent.setObjectProperty(INPUT, new Pattern(size));
         producer.send(sent);
         BytesMessage m = (BytesMessage) consumer.receive(Case.PATIENCE);
         c.fact("length", m.getBodyLength());
         Sum sum = new Sum();
         m.setObjectProperty(property, sum);
         if (property.equals(OUTPUT)) {
            c.eventually("streamed", (long) size, sum::count);
         }
         c.fact("equal", sum.value() == Pattern.sum(size));
      }
   }

   private static void transaction(Case c) throws Exception {
      Session session = c.connect().createSession(true, Session.SESSION_TRANSACTED);
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      producer.send(make(session, noise(200_000)));
      session.rollback();
      c.fact("after rollback", c.count(c.named("q")));
      producer.send(make(session, noise(200_001)));
      session.commit();
      MessageConsumer consumer = session.createConsumer(queue);
      for (int n = 0; n < 3; n++) {
         Message m = consumer.receive(Case.PATIENCE);
         c.fact("received", body(m));
         c.fact("count", m.getIntProperty("JMSXDeliveryCount"));
         if (n < 2) {
            session.rollback();
         }
      }
      session.commit();
      c.fact("left", c.count(c.named("q")));
   }

   private static void topic(Case c) throws Exception {
      Session session = c.connectAs(c.named("client")).createSession(false, Session.AUTO_ACKNOWLEDGE);
      Topic topic = c.topic(session, "t");
      MessageConsumer one = session.createConsumer(topic);
      MessageConsumer other = session.createConsumer(topic, "colour = 'red'");
      session.createDurableSubscriber(topic, "sub").close();
      session.createProducer(topic).send(make(session, noise(250_000)));
      c.fact("one", body(one.receive(Case.PATIENCE)));
      c.fact("other", body(other.receive(Case.PATIENCE)));
      c.fact("durable", body(session.createDurableSubscriber(topic, "sub").receive(Case.PATIENCE)));
   }

   private static void browser(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      session.createProducer(queue).send(make(session, noise(150_000)));
      for (int n = 0; n < 2; n++) {
         try (QueueBrowser browser = session.createBrowser(queue)) {
            c.fact("browsed", body((Message) browser.getEnumeration().nextElement()));
         }
      }
      c.fact("received", body(session.createConsumer(queue).receive(Case.PATIENCE)));
   }

   /** A body that the client does not read is skipped. */
   private static void skipped(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      for (int n = 0; n < 5; n++) {
         producer.send(make(session, noise(300_000 + n)));
      }
      MessageConsumer consumer = session.createConsumer(queue);
      for (int n = 0; n < 5; n++) {
         Message m = consumer.receive(Case.PATIENCE);
         c.fact("size property", m.getIntProperty("size"));
         if (n == 4) {
            c.fact("last body", body(m));
         }
      }
      c.eventually("left", 0L, () -> c.count(c.named("q")));
   }

   private static void expiry(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      session.createProducer(queue).send(make(session, noise(120_000)), DeliveryMode.PERSISTENT, 4, 100);
      MessageConsumer consumer = session.createConsumer(session.createQueue("ExpiryQueue"), "_AMQ_ORIG_ADDRESS = '" + c.named("q") + "'");
      c.fact("expired", body(consumer.receive(Case.PATIENCE)));
   }

   private static void dead(Case c) throws Exception {
      Session session = c.connect().createSession(true, Session.SESSION_TRANSACTED);
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      producer.send(make(session, noise(130_000)));
      session.commit();
      session.createConsumer(queue).receive(Case.PATIENCE);
      session.rollback();
      c.fact("dead", body(c.session().createConsumer(session.createQueue("dlq.large.dead")).receive(Case.PATIENCE)));
   }

   /** Large and small messages of one producer keep their order. */
   private static void order(Case c) throws Exception {
      Session session = c.connect("minLargeMessageSize=2000&blockOnDurableSend=false").createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      for (int n = 0; n < 40; n++) {
         TextMessage m = session.createTextMessage("m" + n + (n % 3 == 0 ? " ".repeat(4_000) : ""));
         producer.send(m, n % 2 == 0 ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT, 4, 0);
      }
      MessageConsumer consumer = session.createConsumer(queue);
      c.fact("in order", c.receive(consumer, 40).stream().map(String::trim).toList().equals(Case.texts("m", 40)));
   }

   private static void scheduled(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      producer.setDeliveryDelay(200);
      producer.send(make(session, noise(140_000)));
      c.fact("received", body(session.createConsumer(queue).receive(Case.PATIENCE)));
   }

   /** A stream of counted bytes. */
   private static final class Pattern extends InputStream {
      private final int size;
      private int position;

      Pattern(int size) {
         this.size = size;
      }

      @Override
      public int read() {
         return position < size ? (position++ * 31) & 0xff : -1;
      }

      static long sum(int size) throws Exception {
         CRC32 crc = new CRC32();
         crc.update(new Pattern(size).readAllBytes());
         return crc.getValue();
      }
   }

   /** Adds up what is written to it. */
   private static final class Sum extends OutputStream {
      private final CRC32 crc = new CRC32();
      private long count;

      @Override
      public synchronized void write(int b) {
         crc.update(b);
         count++;
      }

      @Override
      public synchronized void write(byte[] bytes, int offset, int length) {
         crc.update(bytes, offset, length);
         count += length;
      }

      synchronized long count() {
         return count;
      }

      synchronized long value() {
         return crc.getValue();
      }
   }

   private LargeMessages() {
   }
}
