package pair;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Session;
import javax.jms.TextMessage;
import javax.jms.TransactionRolledBackException;

import org.apache.activemq.artemis.api.core.client.FailoverEventType;
import org.apache.activemq.artemis.jms.client.ActiveMQConnection;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

/**
 * A client that knows the primary only, and follows the pair: it states what happens, one fact a line, and waits for a line of input
 * where the node is to be ended.
 */
final class Failover {

   private static final BufferedReader IN = new BufferedReader(new InputStreamReader(System.in));

   public static void main(String[] args) throws Exception {
      ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory(args[0], "admin", "admin");
      try (Connection connection = factory.createConnection()) {
         CountDownLatch failed = new CountDownLatch(1);
         CountDownLatch completed = new CountDownLatch(1);
         ((ActiveMQConnection) connection).setFailoverListener(event -> {
            (event == FailoverEventType.FAILURE_DETECTED ? failed : completed).countDown();
            if (event == FailoverEventType.FAILOVER_FAILED) {
               say("failover failed");
            }
         });
         connection.start();
         Session acked = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
         MessageProducer producer = acked.createProducer(acked.createQueue("failover"));
         Session transacted = connection.createSession(true, Session.SESSION_TRANSACTED);
         MessageProducer inTransaction = transacted.createProducer(transacted.createQueue("failover"));
         MessageConsumer consumer = transacted.createConsumer(transacted.createQueue("failover"));

         for (int i = 0; i < 20; i++) {
            send(acked, producer, "before-" + i);
         }
         for (int i = 0; i < 5; i++) {
            consumer.receive(10000);
         }
         transacted.commit();
         say("committed");
         inTransaction.send(transacted.createTextMessage("lost-with-the-transaction"));
         consumer.receive(10000);
         say("ready");
         IN.readLine();

         // The node is being ended.
         say(failed.await(60, TimeUnit.SECONDS) ? "failure detected" : "no failure");
         say(completed.await(90, TimeUnit.SECONDS) ? "failover completed" : "no failover");
         try {
            transacted.commit();
            say("the transaction was committed");
         } catch (TransactionRolledBackException e) {
            say("the transaction was rolled back");
         }
         for (int i = 0; i < 10; i++) {
            send(acked, producer, "after-" + i);
         }
         TreeSet<String> received = new TreeSet<>();
         Message m;
         while ((m = consumer.receive(received.size() < 25 ? 10000 : 1000)) != null) {
            String text = ((TextMessage) m).getText();
            if (!received.add(text)) {
               say("twice: " + text);
            }
         }
         transacted.commit();
         say("received " + received.size() + (received.contains("lost-with-the-transaction") ? ", also what was rolled back" : ""));
      }
      say("closed");
   }

   /** Sends until it is acknowledged. A message that comes twice is found by its id. */
   private static void send(Session s, MessageProducer p, String text) throws JMSException {
      TextMessage m = s.createTextMessage(text);
      m.setStringProperty("_AMQ_DUPL_ID", text);
      for (int tries = 0; ; tries++) {
         try {
            p.send(m);
            return;
         } catch (JMSException e) {
            if (tries == 20) {
               throw e;
            }
         }
      }
   }

   private static void say(String what) {
      System.out.println(what);
      System.out.flush();
   }
}
