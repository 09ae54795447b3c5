package crash;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.CRC32;

import javax.jms.BytesMessage;
import javax.jms.Connection;
import javax.jms.DeliveryMode;
import javax.jms.Destination;
import javax.jms.JMSException;
import javax.jms.MapMessage;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Session;
import javax.jms.Topic;
import javax.jms.XAConnection;
import javax.jms.XASession;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;

import org.apache.activemq.artemis.core.transaction.impl.XidImpl;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

/**
 * Artemis' own JMS client under load. It lives through the lives of many brokers and says on standard output what it is
 * going to do and what it was told, for the ledger:
 *
 * <pre>
 * B UNIT ATOMIC MAY      a unit of work begins; MAY as the States of the ledger: 1 applied, 2 undone, 4 in doubt
 * S UNIT ADDRESS ID      it is going to send a message
 * A UNIT QUEUE ID        it is going to acknowledge one
 * M UNIT MAY             what is known about its outcome
 * D QUEUE ID             a consumer got a message
 * F TEXT                 a client ended with an error
 * O                      all clients have ended
 * </pre>
 *
 * Commands on standard input: "go PORT NAME SEED" starts clients against the broker on that port, which end with it.
 */
public final class Load {

   static final int APPLIED = 1;
   static final int UNDONE = 2;
   static final int IN_DOUBT = 4;

   static final String QUEUE = "java.q";
   static final String TOPIC = "java.topic";
   static final String CLIENT = "crash";
   static final String SUBSCRIPTION = "sub";

   /** More messages than that are not sent before others have been acknowledged. */
   private static final int MOST = 200;

   private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

   private static final AtomicInteger depth = new AtomicInteger();

   public static void main(String[] args) throws Exception {
      BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = in.readLine(); line != null; line = in.readLine()) {
         String[] words = line.split(" ");
         round(Integer.parseInt(words[1]), words[2], Long.parseLong(words[3]));
         say("O");
      }
      System.exit(0);
   }

   static synchronized void say(String line) {
      OUT.println(line);
   }

   private static void round(int port, String name, long seed) throws InterruptedException {
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
         Load client = new Load(port, name + ".j" + i, new Random(seed + i));
         int role = i;
         Thread thread = new Thread(() -> client.run(role), name + ".j" + i);
         thread.start();
         threads.add(thread);
      }
      for (Thread thread : threads) {
         thread.join();
      }
   }

   private final int port;
   private final String name;
   private final Random random;
   private int messages;
   private int units;

   private Load(int port, String name, Random random) {
      this.port = port;
      this.name = name;
      this.random = random;
   }

   private void run(int role) {
      try (ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory(
         "tcp://127.0.0.1:" + port + "?blockOnAcknowledge=true&callTimeout=20000&reconnectAttempts=0")) {
         factory.setUser("admin");
         factory.setPassword("admin");
         switch (role) {
            case 0 -> send(factory);
            case 1 -> consume(factory);
            case 2 -> transact(factory);
            default -> branch(factory);
         }
      } catch (Exception e) {
         say("F " + name + ": " + String.valueOf(e).replace('\n', ' '));
      }
   }

   private String begin(String what, boolean atomic, int may) {
      String unit = what + "/" + name + "." + ++units;
      say("B " + unit + " " + (atomic ? 1 : 0) + " " + may);
      return unit;
   }

   private static void may(String unit, int may) {
      say("M " + unit + " " + may);
   }

   private static long check(String id) {
      CRC32 crc = new CRC32();
      crc.update(id.getBytes(StandardCharsets.UTF_8));
      return crc.getValue();
   }

   /** A message whose content follows from its id, as message.go has it. */
   private Message message(Session session, String id) throws JMSException {
      String flags = id.substring(id.lastIndexOf('-') + 1);
      int n = (int) (check(id) >> 8);
      int size = flags.contains("L") ? (100 << 10) + n % (100 << 10) : n % 1500;
      String body = (id + " ").repeat(size / (id.length() + 1) + 1).substring(0, size);
      Message message;
      if (flags.contains("t")) {
         message = session.createTextMessage(body);
      } else if (flags.contains("m")) {
         MapMessage map = session.createMapMessage();
         map.setString("id", id);
         map.setLong("check", check(id));
         message = map;
      } else {
         BytesMessage bytes = session.createBytesMessage();
         bytes.writeBytes(body.getBytes(StandardCharsets.UTF_8));
         message = bytes;
      }
      message.setStringProperty("crashId", id);
      message.setLongProperty("crashCheck", check(id));
      return message;
   }

   private static int priority(String id) {
      return switch ((int) (check(id) % 8)) {
         case 0 -> 3;
         case 1 -> 6;
         default -> 4;
      };
   }

   /** Sends the next message as a part of a unit. */
   private void sendOne(Session session, MessageProducer producer, String unit, String more) throws JMSException {
      int kind = random.nextInt(20);
      String flags = more + (kind == 0 ? "bL" : kind < 5 ? "b" : kind < 9 ? "m" : "t");
      boolean late = random.nextInt(12) == 0;
      String id = name + "-" + ++messages + "-" + flags + (late ? "S" : "");
      boolean topic = random.nextInt(3) == 0;
      Destination destination = topic ? session.createTopic(TOPIC) : session.createQueue(QUEUE);
      say("S " + unit + " " + (topic ? TOPIC : QUEUE) + " " + id);
      depth.incrementAndGet();
      producer.setDeliveryDelay(late ? random.nextInt(3000) : 0);
      producer.send(destination, message(session, id), DeliveryMode.PERSISTENT, priority(id), 0);
   }

   private void send(ActiveMQConnectionFactory factory) throws Exception {
      try (Connection connection = factory.createConnection()) {
         Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
         MessageProducer producer = session.createProducer(null);
         while (true) {
            if (depth.get() > MOST) {
               // Consumers are behind. It is an estimate that goes down by itself: only a send tells that the broker is gone.
               Thread.sleep(1);
               depth.decrementAndGet();
               continue;
            }
            String unit = begin("send", false, APPLIED | UNDONE);
            sendOne(session, producer, unit, "");
            may(unit, APPLIED);
         }
      }
   }

   /** Receives up to n messages. */
   private List<Message> receive(MessageConsumer consumer, String queue, int n) throws JMSException {
      List<Message> got = new ArrayList<>();
      for (int i = 0; i < n; i++) {
         Message message = consumer.receive(20);
         if (message == null) {
            break;
         }
         say("D " + queue + " " + message.getStringProperty("crashId"));
         got.add(message);
         depth.decrementAndGet();
      }
      return got;
   }

   /** CLIENT_ACKNOWLEDGE: an acknowledgement is of everything that the session has got. */
   private void consume(ActiveMQConnectionFactory factory) throws Exception {
      try (Connection connection = factory.createConnection()) {
         connection.start();
         while (true) {
            try (Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
                 MessageConsumer consumer = session.createConsumer(session.createQueue(QUEUE))) {
               for (int i = random.nextInt(10); i >= 0; i--) {
                  List<Message> got = receive(consumer, QUEUE, 1 + random.nextInt(8));
                  if (got.isEmpty()) {
                     continue;
                  }
                  if (random.nextInt(6) == 0) {
                     session.recover();
                     continue;
                  }
                  String unit = begin("ack", false, APPLIED | UNDONE);
                  for (Message message : got) {
                     say("A " + unit + " " + QUEUE + " " + message.getStringProperty("crashId"));
                  }
                  got.get(got.size() - 1).acknowledge();
                  may(unit, APPLIED);
               }
            }
         }
      }
   }

   /** Work in a transaction: what is received is acknowledged with it. */
   private void work(Session session, MessageConsumer consumer, String queue, MessageProducer producer, String unit, String more) throws JMSException {
      for (int i = random.nextInt(5); i > 0; i--) {
         Message message = consumer.receive(20);
         if (message == null) {
            break;
         }
         String id = message.getStringProperty("crashId");
         say("D " + queue + " " + id);
         say("A " + unit + " " + queue + " " + id);
         depth.decrementAndGet();
      }
      for (int i = random.nextInt(4); i > 0; i--) {
         sendOne(session, producer, unit, more);
      }
   }

   /** A durable subscriber that consumes and sends in transactions. */
   private void transact(ActiveMQConnectionFactory factory) throws Exception {
      try (Connection connection = factory.createConnection()) {
         connection.setClientID(CLIENT);
         connection.start();
         while (true) {
            try (Session session = connection.createSession(true, Session.SESSION_TRANSACTED)) {
               Topic topic = session.createTopic(TOPIC);
               MessageProducer producer = session.createProducer(null);
               try (MessageConsumer consumer = session.createDurableSubscriber(topic, SUBSCRIPTION)) {
                  for (int i = random.nextInt(10); i >= 0; i--) {
                     String unit = begin("tx", true, UNDONE);
                     work(session, consumer, CLIENT + "." + SUBSCRIPTION, producer, unit, "");
                     if (random.nextInt(5) == 0) {
                        session.rollback();
                        continue;
                     }
                     may(unit, APPLIED | UNDONE);
                     session.commit();
                     may(unit, APPLIED);
                  }
               }
            }
         }
      }
   }

   /** Branches of distributed transactions; some are left in doubt. */
   private void branch(ActiveMQConnectionFactory factory) throws Exception {
      int left = 0;
      try (XAConnection connection = factory.createXAConnection()) {
         connection.start();
         XASession session = connection.createXASession();
         XAResource resource = session.getXAResource();
         MessageProducer producer = session.createProducer(null);
         MessageConsumer consumer = session.createConsumer(session.createQueue(QUEUE));
         while (true) {
            String unit = begin("xa", true, UNDONE);
            Xid xid = new XidImpl("b".getBytes(StandardCharsets.UTF_8), 4711, unit.getBytes(StandardCharsets.UTF_8));
            resource.start(xid, XAResource.TMNOFLAGS);
            work(session, consumer, QUEUE, producer, unit, "X");
            resource.end(xid, XAResource.TMSUCCESS);
            int end = random.nextInt(10);
            if (end == 0) {
               resource.rollback(xid);
               continue;
            }
            if (end == 1) {
               may(unit, APPLIED | UNDONE);
               resource.commit(xid, true);
               may(unit, APPLIED);
               continue;
            }
            may(unit, IN_DOUBT | UNDONE);
            resource.prepare(xid);
            may(unit, IN_DOUBT);
            if (end == 2 && left++ < 3) {
               continue;
            }
            if (end % 2 == 0) {
               may(unit, IN_DOUBT | APPLIED);
               resource.commit(xid, false);
               may(unit, APPLIED);
            } else {
               may(unit, IN_DOUBT | UNDONE);
               resource.rollback(xid);
               may(unit, UNDONE);
            }
         }
      }
   }
}
