package interop;

import java.util.ArrayList;
import java.util.Enumeration;
import java.util.List;

import javax.jms.DeliveryMode;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.QueueBrowser;
import javax.jms.Session;
import javax.jms.TextMessage;

import org.apache.activemq.artemis.jms.client.ActiveMQMessage;

/** Which of a set of messages each selector takes, and which selectors are refused. */
final class Selectors {

   private static final String[] VALID = {
      "colour = 'red'", "colour <> 'red'", "NOT colour = 'red'", "colour = 'red' OR colour = 'blue'", "colour = 'red' AND size > 1",
      "size = 5", "size <> 5", "size > 5", "size >= 5", "size < 5", "size <= 5", "5 = size", "size = 5.0", "size = 5L", "size = 0x5", "size = 05",
      "size BETWEEN 2 AND 5", "size NOT BETWEEN 2 AND 5", "size between 5 and 2",
      "colour IN ('red', 'green')", "colour NOT IN ('red', 'green')", "colour IN ('none')", "size IN ('5')",
      "colour IS NULL", "colour IS NOT NULL", "missing IS NULL", "missing IS NOT NULL", "missing = 1", "missing <> 1", "NOT (missing = 1)", "missing > 1 OR size = 5",
      "colour LIKE 'r%'", "colour LIKE '%e%'", "colour LIKE '_lue'", "colour LIKE 'red'", "colour NOT LIKE 'r%'", "colour LIKE ''", "missing LIKE '%'", "missing NOT LIKE '%'",
      "code LIKE 'a\\_b' ESCAPE '\\'", "code LIKE 'a_b'", "code LIKE 'a!%b' ESCAPE '!'", "code LIKE 'a%b'", "code LIKE 'a.b'",
      "size + 1 = 6", "size * 2 = 10", "size / 2 = 2.5", "size % 2 = 1", "size - 1 > 3", "-size = -5", "+size = 5", "size + weight > 6", "1 + size * 2 = 11", "(1 + size) * 2 = 12",
      "weight = 1.5", "weight > 1", "weight = 15e-1", "weight < 2 AND weight > 1",
      "flag", "flag = TRUE", "flag = FALSE", "flag <> FALSE", "NOT flag", "TRUE", "FALSE", "flag IS NULL",
      "digits = '12'", "digits = 12", "digits > 11", "convert_string_expressions:digits = 12", "convert_string_expressions:digits > 11", "convert_string_expressions:size = '5'",
      "quote = 'it''s'", "colour + 'x' = 'redx'", "1 = 1", "1 = 2", "size > 4 = TRUE",
      "\"hy-phen\" = 'v'", "hyphenated_props:hy-phen = 'v'", "hy-phen = 'v'", "$dollar = 1", "_under = 1",
      "JMSPriority = 7", "JMSPriority > 4", "JMSType = 'fruit'", "JMSType IS NULL", "JMSCorrelationID = 'c1'", "JMSCorrelationID LIKE 'c%'",
      "JMSDeliveryMode = 'PERSISTENT'", "JMSDeliveryMode = 'NON_PERSISTENT'", "JMSTimestamp > 0", "JMSMessageID LIKE 'ID:%'", "JMSMessageID = 'ID:none'", "JMSExpiration = 0", "JMSExpiration > 0",
      "JMSXGroupID = 'g1'", "JMSXDeliveryCount = 1", "AMQPriority = 7", "AMQDurable = 'DURABLE'", "AMQSize > 10", "AMQUserID IS NULL", "AMQExpiration = 0", "AMQTimestamp > 0",
      "colour = 'red' and (size = 1 or size = 2)", "colour = 'red' AND NOT size = 1", "colour='red'AND size=1", "  colour = 'red'  ", "COLOUR = 'red'", "colour = 'RED'",
      "b = 2", "s = 300", "l = 10000000000", "f = 2.5", "d = 1e10", "l > 9999999999", "b + s = 302", "d / l = 1",
      "colour\n=\t'red'", "colour = 'red' -- comment", "colour = 'red' /* comment */", "size <> 5 AND size <> 1", "size = 1 OR size = 2 AND colour = 'blue'", "XPATH '//a'", "unicode = '\u2603'",
   };

   private static final String[] INVALID = {
      "colour =", "= 'red'", "(colour = 'red'", "colour = 'red')", "colour == 'red'", "colour != 'red'", "colour = 'red", "size = 5;", "a b c", "colour LIKE 5", "colour IN (5)",
      "size BETWEEN 1", "colour LIKE 'a' ESCAPE 'ab'", "AND", "NOT", "colour > 'a'", "colour = NULL", "size = = 5", "IN ('a')", "5", "'text'", "colour LIKE", "JMSPriority > 'x'", "1 +", "@", "size = 5 size = 5",
   };

   static void addTo(Cases cases) {
      cases.add("selector.matches", Selectors::matches);
      cases.add("selector.refused", Selectors::refused);
      cases.add("selector.consumers", Selectors::consumers);
      cases.add("selector.topic", Selectors::topic);
      cases.add("selector.empty", Selectors::empty);
   }

   private static void matches(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      for (int n = 0; n < 8; n++) {
         TextMessage m = session.createTextMessage("m" + n);
         int mode = DeliveryMode.PERSISTENT;
         int priority = 4;
         switch (n) {
            case 0 -> {
               m.setStringProperty("colour", "red");
               m.setIntProperty("size", 1);
               m.setBooleanProperty("flag", true);
               m.setJMSType("fruit");
            }
            case 1 -> {
               m.setStringProperty("colour", "red");
               m.setIntProperty("size", 2);
               m.setBooleanProperty("flag", false);
               m.setJMSCorrelationID("c1");
            }
            case 2 -> {
               m.setStringProperty("colour", "blue");
               m.setIntProperty("size", 5);
               m.setStringProperty("code", "a_b");
               mode = DeliveryMode.NON_PERSISTENT;
            }
            case 3 -> {
               m.setStringProperty("colour", "green");
               m.setLongProperty("size", 5);
               m.setStringProperty("code", "a%b");
               ((ActiveMQMessage) m).getCoreMessage().putStringProperty("hy-phen", "v");
               priority = 7;
            }
            case 4 -> {
               m.setDoubleProperty("size", 5.5);
               m.setFloatProperty("weight", 1.5f);
               m.setStringProperty("digits", "12");
               m.setStringProperty("code", "axb");
            }
            case 5 -> {
               m.setStringProperty("colour", "");
               m.setStringProperty("quote", "it's");
               m.setIntProperty("$dollar", 1);
               m.setIntProperty("_under", 1);
               m.setStringProperty("JMSXGroupID", "g1");
            }
            case 6 -> {
               m.setByteProperty("b", (byte) 2);
               m.setShortProperty("s", (short) 300);
               m.setLongProperty("l", 10_000_000_000L);
               m.setFloatProperty("f", 2.5f);
               m.setDoubleProperty("d", 1e10);
               m.setStringProperty("unicode", "\u2603");
               m.setStringProperty("code", "a.b");
            }
            default -> m.setStringProperty("plain", "yes");
         }
         producer.send(m, mode, priority, 0);
      }
      for (String selector : VALID) {
         try (QueueBrowser browser = session.createBrowser(queue, selector)) {
            c.fact(selector, browse(browser));
         } catch (Exception failure) {
            c.fact(selector, Case.describe(failure));
         }
      }
   }

   static List<String> browse(QueueBrowser browser) throws Exception {
      List<String> texts = new ArrayList<>();
      for (Enumeration<?> messages = browser.getEnumeration(); messages.hasMoreElements(); ) {
         texts.add(Case.text((Message) messages.nextElement()));
      }
      return texts;
   }

   private static void refused(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "one");
      for (String selector : INVALID) {
         c.thrown(selector, () -> session.createConsumer(queue, selector).close());
      }
      c.fact("still served", c.receive(session.createConsumer(queue), 1));
   }

   /** Each consumer gets its own, whatever waits before; nobody gets the rest. */
   private static void consumers(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageConsumer odd = session.createConsumer(queue, "n % 2 = 1");
      MessageConsumer high = session.createConsumer(queue, "n >= 6 AND n % 2 = 0");
      c.send(session, queue, Case.array(Case.texts("m", 10)));
      c.fact("odd", c.receive(odd, 5));
      c.fact("high", c.receive(high, 2));
      c.eventually("left", 3L, () -> c.count(c.named("q")));
      odd.close();
      high.close();
      c.fact("rest", c.drain(session.createConsumer(queue)));
   }

   private static void topic(Case c) throws Exception {
      Session session = c.session();
      MessageConsumer some = session.createConsumer(c.topic(session, "t"), "n = 1 OR n = 3");
      MessageConsumer all = session.createConsumer(c.topic(session, "t"));
      c.send(session, c.topic(session, "t"), Case.array(Case.texts("m", 5)));
      c.fact("all", c.receive(all, 5));
      c.fact("some", c.drain(some));
   }

   private static void empty(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a", "b", "c");
      for (String selector : new String[] {"", "   ", null}) {
         c.thrown("consumer with " + Case.show(selector), () -> {
            try (MessageConsumer consumer = session.createConsumer(queue, selector)) {
               c.fact("with " + Case.show(selector), c.receive(consumer, 1));
            }
         });
      }
   }

   private Selectors() {
   }
}
