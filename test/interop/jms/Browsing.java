package interop;

import java.util.ArrayList;
import java.util.Enumeration;
import java.util.List;

import javax.jms.DeliveryMode;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.QueueBrowser;
import javax.jms.Session;

/** Queue browsers: what they show, and that they take nothing. */
final class Browsing {

   static void addTo(Cases cases) {
      cases.add("browser.queue", Browsing::queue);
      cases.add("browser.selector", Browsing::selector);
      cases.add("browser.order", Browsing::order);
      cases.add("browser.empty", Browsing::empty);
      cases.add("browser.delivering", Browsing::delivering);
      cases.add("browser.scheduled", Browsing::scheduled);
      cases.add("browser.many", Browsing::many);
   }

   private static void queue(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a", "b", "c");
      QueueBrowser browser = session.createBrowser(queue);
      c.fact("first pass", Selectors.browse(browser));
      c.send(session, queue, "d");
      c.fact("second pass of the same browser", Selectors.browse(browser));
      c.fact("queue of the browser", browser.getQueue());
      c.fact("selector of the browser", browser.getMessageSelector());
      browser.close();
      c.fact("count", c.count(c.named("q")));
      c.fact("consumers", c.consumers(c.named("q")));
      c.fact("received", c.receive(session.createConsumer(queue), 4));
   }

   private static void selector(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, Case.array(Case.texts("m", 6)));
      try (QueueBrowser browser = session.createBrowser(queue, "n > 1 AND n < 5")) {
         c.fact("browsed", Selectors.browse(browser));
         c.fact("selector of the browser", browser.getMessageSelector());
      }
   }

   private static void order(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      for (int priority : new int[] {4, 0, 9, 4, 9, 1}) {
         producer.send(session.createTextMessage("p" + priority), DeliveryMode.PERSISTENT, priority, 0);
      }
      try (QueueBrowser browser = session.createBrowser(queue)) {
         c.fact("browsed", Selectors.browse(browser));
      }
   }

   private static void empty(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      try (QueueBrowser browser = session.createBrowser(queue)) {
         Enumeration<?> messages = browser.getEnumeration();
         c.fact("more", messages.hasMoreElements());
         c.thrown("next", messages::nextElement);
      }
      c.fact("queue created by the browser", c.exists(c.named("q")));
   }

   /** What another consumer holds and has not acknowledged. */
   private static void delivering(Case c) throws Exception {
      Session session = c.connect().createSession(false, Session.CLIENT_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a", "b", "c");
      MessageConsumer consumer = session.createConsumer(queue);
      c.fact("received", c.receive(consumer, 3));
      try (QueueBrowser browser = session.createBrowser(queue)) {
         c.fact("while delivering", Selectors.browse(browser));
      }
      session.recover();
      consumer.close();
      try (QueueBrowser browser = session.createBrowser(queue)) {
         c.fact("after the consumer closed", Selectors.browse(browser));
      }
   }

   private static void scheduled(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      producer.send(session.createTextMessage("now"));
      producer.setDeliveryDelay(3_600_000);
      producer.send(session.createTextMessage("later"));
      try (QueueBrowser browser = session.createBrowser(queue)) {
         c.fact("browsed", Selectors.browse(browser));
      }
      c.fact("count", c.count(c.named("q")));
   }

   private static void many(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      producer.setDeliveryMode(DeliveryMode.NON_PERSISTENT);
      for (String text : Case.texts("m", 2_000)) {
         producer.send(session.createTextMessage(text));
      }
      try (QueueBrowser browser = session.createBrowser(queue)) {
         List<String> seen = new ArrayList<>(Selectors.browse(browser));
         c.fact("seen", seen.size());
         c.fact("in order", seen.equals(Case.texts("m", 2_000)));
      }
   }

   private Browsing() {
   }
}
