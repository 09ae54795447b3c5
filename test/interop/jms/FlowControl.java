package interop;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import javax.jms.BytesMessage;
import javax.jms.CompletionListener;
import javax.jms.Connection;
import javax.jms.DeliveryMode;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;

/** Windows of producers and consumers, blocking and non-blocking sends, full addresses, rates. */
final class FlowControl {

   static void addTo(Cases cases) {
      cases.add("window.default", c -> window(c, ""));
      cases.add("window.unlimited", c -> window(c, "consumerWindowSize=-1"));
      cases.add("window.zero", FlowControl::zero);
      cases.add("window.small", FlowControl::small);
      cases.add("window.stopped", FlowControl::stopped);
      cases.add("send.nonblocking", c -> sends(c, "blockOnDurableSend=false&blockOnNonDurableSend=false"));
      cases.add("send.blocking", c -> sends(c, "blockOnDurableSend=true&blockOnNonDurableSend=true"));
      cases.add("send.window", c -> sends(c, "producerWindowSize=2000"));
      cases.add("send.confirmed", c -> sends(c, "confirmationWindowSize=2000"));
      cases.add("send.completion", FlowControl::completion);
      cases.add("send.anonymous", FlowControl::anonymous);
      cases.add("rate.producer", FlowControl::producerRate);
      cases.add("rate.consumer", FlowControl::consumerRate);
      cases.add("full.fail", FlowControl::fail);
      cases.add("full.drop", FlowControl::drop);
      cases.add("full.block", FlowControl::block);
      cases.add("receive.nowait", FlowControl::noWait);
      cases.add("listener.concurrent", FlowControl::listeners);
   }

   private static void window(Case c, String parameters) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, Case.array(Case.texts("m", 100)));
      Session reading = c.connect(parameters).createSession(false, Session.CLIENT_ACKNOWLEDGE);
      MessageConsumer consumer = reading.createConsumer(queue);
      c.eventually("buffered", 100, () -> c.attribute("queue." + c.named("q"), "DeliveringCount"));
      c.fact("nothing for another", Case.text(session.createConsumer(queue).receiveNoWait()));
      c.fact("received in order", c.receive(consumer, 100).equals(Case.texts("m", 100)));
   }

   /** Nothing is sent ahead, so what one does not take another gets. */
   private static void zero(Case c) throws Exception {
      Session session = c.connect("consumerWindowSize=0").createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      MessageConsumer idle = session.createConsumer(queue);
      MessageConsumer busy = session.createConsumer(queue);
      c.send(session, queue, Case.array(Case.texts("m", 6)));
      c.fact("delivering before", c.attribute("queue." + c.named("q"), "DeliveringCount"));
      c.fact("busy", c.receive(busy, 4));
      c.fact("idle", c.receive(idle, 1));
      c.fact("at once", Case.text(busy.receiveNoWait()));
      c.fact("empty", Case.text(busy.receiveNoWait()));
      c.fact("empty with a wait", Case.text(busy.receive(100)));
      c.send(session, queue, "late");
      c.fact("late", c.receive(idle, 1));

      // With a listener the client asks for one after the other.
      CountDownLatch three = new CountDownLatch(3);
      List<String> heard = Collections.synchronizedList(new ArrayList<>());
      Session listening = c.connect("consumerWindowSize=0").createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue other = c.queue(listening, "other");
      listening.createConsumer(other).setMessageListener(m -> {
         try {
            heard.add(Case.text(m));
         } catch (Exception failure) {
            heard.add(Case.describe(failure));
         }
         three.countDown();
      });
      c.send(session, other, "x", "y", "z");
      c.fact("heard all", three.await(Case.PATIENCE, TimeUnit.MILLISECONDS));
      c.fact("heard", heard);
   }

   private static void small(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, Case.array(Case.texts("x".repeat(200), 200)));
      Session reading = c.connect("consumerWindowSize=2000").createSession(false, Session.AUTO_ACKNOWLEDGE);
      MessageConsumer slow = reading.createConsumer(queue);
      c.fact("first", c.receive(slow, 1).get(0).length());
      Number delivering = (Number) c.attribute("queue." + c.named("q"), "DeliveringCount");
      c.fact("few are sent ahead", delivering.intValue() > 0 && delivering.intValue() < 30);
      c.fact("the others come", c.receive(slow, 199).equals(Case.texts("x".repeat(200), 200).subList(1, 200)));
   }

   private static void stopped(Case c) throws Exception {
      Connection connection = c.connect();
      Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      MessageConsumer consumer = session.createConsumer(queue);
      c.send(session, queue, "a");
      c.fact("started", c.receive(consumer, 1));
      connection.stop();
      c.send(c.session(), queue, "b");
      c.fact("stopped", Case.text(consumer.receive(Case.SILENCE)));
      try (MessageConsumer other = c.session().createConsumer(queue)) {
         c.fact("other connection gets it", c.receive(other, 1));
      }
      c.send(c.session(), queue, "c");
      connection.start();
      c.fact("started again", c.receive(consumer, 1));
   }

   private static void sends(Case c, String parameters) throws Exception {
      Session session = c.connect(parameters).createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      for (int mode : new int[] {DeliveryMode.PERSISTENT, DeliveryMode.NON_PERSISTENT}) {
         for (String text : Case.texts("m", 100)) {
            producer.send(session.createTextMessage(text), mode, 4, 0);
         }
         c.eventually("count", 100L, () -> c.count(c.named("q")));
         try (MessageConsumer consumer = session.createConsumer(queue)) {
            c.fact("in order", c.receive(consumer, 100).equals(Case.texts("m", 100)));
         }
      }
   }

   private static void completion(Case c) throws Exception {
      Session session = c.connect("confirmationWindowSize=100000").createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      List<String> completed = Collections.synchronizedList(new ArrayList<>());
      CountDownLatch all = new CountDownLatch(50);
      CompletionListener listener = new CompletionListener() {
         @Override
         public void onCompletion(Message message) {
            try {
               completed.add(Case.text(message));
            } catch (Exception failure) {
               completed.add(Case.describe(failure));
            }
            all.countDown();
         }

         @Override
         public void onException(Message message, Exception exception) {
            completed.add(Case.describe(exception));
            all.countDown();
         }
      };
      for (int n = 0; n < 50; n++) {
         producer.send(session.createTextMessage("m" + n), n % 2 == 0 ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT, 4, 0, listener);
      }
      c.fact("all completed", all.await(Case.PATIENCE, TimeUnit.MILLISECONDS));
      c.fact("in order", completed.equals(Case.texts("m", 50)));
      c.fact("count", c.count(c.named("q")));
      session.close();
      c.thrown("send after close", () -> producer.send(session.createTextMessage("late"), listener));
   }

   private static void anonymous(Case c) throws Exception {
      Session session = c.session();
      MessageProducer producer = session.createProducer(null);
      producer.send(c.queue(session, "one"), session.createTextMessage("1"));
      producer.send(c.queue(session, "two"), session.createTextMessage("2"));
      producer.send(c.topic(session, "t"), session.createTextMessage("3"));
      c.fact("one", c.receive(session.createConsumer(c.queue(session, "one")), 1));
      c.fact("two", c.receive(session.createConsumer(c.queue(session, "two")), 1));
      c.thrown("without a destination", () -> producer.send(session.createMessage()));
   }

   private static void producerRate(Case c) throws Exception {
      Session session = c.connect("producerMaxRate=50").createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      producer.setDeliveryMode(DeliveryMode.NON_PERSISTENT);
      long began = System.nanoTime();
      for (int n = 0; n < 76; n++) {
         producer.send(session.createTextMessage("m" + n));
      }
      c.atLeast("took", 400, (System.nanoTime() - began) / 1_000_000);
      c.eventually("count", 76L, () -> c.count(c.named("q")));
   }

   private static void consumerRate(Case c) throws Exception {
      Session session = c.connect("consumerMaxRate=50").createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      c.send(session, queue, Case.array(Case.texts("m", 76)));
      MessageConsumer consumer = session.createConsumer(queue);
      long began = System.nanoTime();
      c.fact("received", c.receive(consumer, 76).equals(Case.texts("m", 76)));
      c.atLeast("took", 400, (System.nanoTime() - began) / 1_000_000);
   }

   private static void fail(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      int sent = 0;
      try {
         for (; sent < 20; sent++) {
            producer.send(session.createTextMessage("m" + sent));
         }
         c.fact("refused", (Object) "never");
      } catch (javax.jms.JMSException full) {
         c.fact("refused", Case.describe(full));
      }
      c.fact("accepted", sent);
      c.fact("count", c.count(c.named("q")));
      Session transacted = c.connect().createSession(true, Session.SESSION_TRANSACTED);
      c.thrown("in a transaction", () -> {
         try (MessageProducer other = transacted.createProducer(queue)) {
            other.send(transacted.createTextMessage("t"));
         }
         transacted.commit();
      });
      transacted.rollback();
      MessageConsumer consumer = session.createConsumer(queue);
      c.fact("received", c.receive(consumer, 5));
      c.eventually("drained", 0L, () -> c.count(c.named("q")));
      c.thrown("after draining", () -> producer.send(session.createTextMessage("again")));
   }

   private static void drop(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      c.send(session, queue, Case.array(Case.texts("m", 12)));
      c.fact("received", c.drain(session.createConsumer(queue)));
   }

   /** The producer waits for room; nothing is lost. */
   private static void block(Case c) throws Exception {
      Session session = c.connect("producerWindowSize=2000").createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = c.queue(session, "q");
      MessageProducer producer = session.createProducer(queue);
      AtomicInteger sent = new AtomicInteger();
      CountDownLatch done = new CountDownLatch(1);
      Thread sending = new Thread(() -> {
         try {
            for (int n = 0; n < 60; n++) {
               BytesMessage m = session.createBytesMessage();
               m.writeBytes(new byte[900]);
               m.setIntProperty("n", n);
               producer.send(m);
               sent.incrementAndGet();
            }
         } catch (Exception failure) {
            c.fact("FAILED", Case.describe(failure));
         }
         done.countDown();
      });
      sending.setDaemon(true);
      sending.start();
      c.fact("sent all without room", done.await(1_000, TimeUnit.MILLISECONDS));
      c.fact("some were sent", sent.get() > 5 && sent.get() < 40);
      Session reading = c.session();
      MessageConsumer consumer = reading.createConsumer(queue);
      boolean ordered = true;
      for (int n = 0; n < 60; n++) {
         Message m = consumer.receive(Case.PATIENCE);
         ordered &= m != null && m.getIntProperty("n") == n;
      }
      c.fact("all received in order", ordered);
      c.fact("sent all", done.await(Case.PATIENCE, TimeUnit.MILLISECONDS));
   }

   private static void noWait(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      MessageConsumer consumer = session.createConsumer(queue);
      c.fact("empty", Case.text(consumer.receiveNoWait()));
      c.send(session, queue, "a", "b");
      c.fact("first", Case.text(consumer.receiveNoWait()));
      c.fact("second", Case.text(consumer.receiveNoWait()));
      c.fact("third", Case.text(consumer.receiveNoWait()));
   }

   private static void listeners(Case c) throws Exception {
      Session session = c.session();
      Queue queue = c.queue(session, "q");
      AtomicInteger heard = new AtomicInteger();
      CountDownLatch all = new CountDownLatch(500);
      for (int n = 0; n < 4; n++) {
         c.session().createConsumer(queue).setMessageListener(m -> {
            heard.incrementAndGet();
            all.countDown();
         });
      }
      MessageProducer producer = session.createProducer(queue);
      producer.setDeliveryMode(DeliveryMode.NON_PERSISTENT);
      for (int n = 0; n < 500; n++) {
         producer.send(session.createTextMessage("m" + n));
      }
      c.fact("all came", all.await(Case.PATIENCE, TimeUnit.MILLISECONDS));
      c.eventually("left", 0L, () -> c.count(c.named("q")));
      c.fact("heard", heard.get());
   }

   private FlowControl() {
   }
}
